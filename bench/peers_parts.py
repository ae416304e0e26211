"""The parts of bench/peers: what is prepared, started and asked for each."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

from peers_run import ENGINES, SETS, Engine, Failure, alternate, candidates, relative_difference, say

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PARTS = ["peers", "table2", "pool", "figure6", "sweep"]

# (feature maps, patch) of --quick
QUICK = {"original": ("16,32,64,128", "92,92,92"), "symmetric": ("16,32,64,128", "32,32,32"),
         "residual": ("28,36,48,64,80", "8,64,64"), "factorised": ("28,36,48,64,80", "8,64,64")}
QUICK_ONNX = {"basicunet": ("8,8,16,32,32,8", "32,32,32"), "dynunet": ("8,16,32,32,32", "32,32,32"),
              "segresnet": ("8", "32,32,32"), "residualencoderunet": ("8,16,32,32,32,32", "64,64,64")}
# The fifteen networks of NeoCPU's paper (peers_neocpu.py), and the image of --quick
QUICK_NEOCPU = {name: "224,224" if name.startswith("vgg") else "96,96" if name == "inception_v3" else "64,64"
                for name in SETS["neocpu"]}
SIZES = {**QUICK, **QUICK_ONNX, **{name: ("-", size) for name, size in QUICK_NEOCPU.items()}}
ORDER = {network: i for i, network in enumerate(SIZES)}
BLOCK_MAPS = ["32", "8", "16", "24", "64"]  # of figure 6; variants are tried at the first
FUSIONS = ["fuse-add", "fold-linear", "fuse-activation", "pad-outputs"]
SWEEP_ROW = re.compile(r"^(.+?)\s+\d+x\d+\s+rh.*?([\d.]+) of\s+([\d.]+)\s+([\d.]+)%\s+best\s+([\d.]+)%")
# The environment of OpenMP as NeoCPU 4.2.4 has it, with idle threads that sleep soon (the default) or spin
BOUND = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores", "OMP_DYNAMIC": "false", "OMP_SCHEDULE": "static"}
POOLS = {"pool": ("pool", {}), "OpenMP": ("openmp", BOUND), "OpenMP, active": ("openmp", {**BOUND, "OMP_WAIT_POLICY": "active"})}
POOL_ROUNDS = 3


def stamp():
    return {"date": time.strftime("%Y-%m-%d"), "load": round(os.getloadavg()[0], 2)}


# ---------------------------------------------------------------- one network in all engines

class Case:
    """A network on so many threads. `chosen` {engine: variants}: what an earlier case found; None: all are tried."""

    def __init__(self, options, network, threads, folder, facts, chosen=None):
        self.options, self.threads, self.folder, self.chosen = options, threads, folder, chosen
        self.facts = {"network": network, "threads": threads, **stamp(), **facts, "engines": [], "scouted": {},
                      "failures": {}}

    def start(self, variant):
        return Engine(variant, self.folder, self.threads, self.options.build, "cpu_seconds" if self.options.cpu_time else "seconds")

    def scout(self, name):
        """The variants of an engine that take part: the fastest, and a second one that is within 10% of it."""
        tried = [v for v in (self.chosen or ENGINES)[name] if v in (self.options.variants or [v])]
        scouted = self.facts["scouted"]
        for variant in tried:
            best = min((scouted[v] for v in tried if v in scouted), default=None)
            try:
                scouted[variant] = self.try_variant(variant, best)
                say(f"    {variant}: {1e3 * scouted[variant]:.0f} ms")
            except Failure as failure:
                self.facts["failures"][variant] = str(failure)
                say(f"    {variant}: not run: {failure}")
        return candidates(scouted, tried, 1.1, 2)

    def try_variant(self, variant, best):
        """The better of two runs after one of warm-up; fewer where it is clearly not the best."""
        engine = self.start(variant)
        try:
            seconds = engine.run()
            if not best or seconds < 2 * best:
                seconds = engine.run()
            if not best or seconds < 1.25 * best:
                seconds = min(seconds, engine.run())
            if variant == "torch-eager" and not self.facts.get("columns"):
                engine.ask(f"output {self.folder / 'reference.npy'}")
            if variant == "pznet":
                self.facts["open_seconds"] = engine.load_seconds
            return seconds
        finally:
            engine.close()

    def make_reference(self):
        if (self.folder / "reference.npy").exists() or "torch" not in self.options.engines:
            return
        try:
            self.try_variant("torch-eager", 1e-9)
        except Failure as failure:
            say(f"    no reference: {failure}")

    def finish(self, engine, seconds):
        entry = {"engine": engine.name, "variant": engine.variant, "seconds": seconds,
                 "load_seconds": engine.load_seconds, "peak_bytes": engine.ask("memory")["peak_bytes"],
                 "difference": None}
        reference, output = self.folder / "reference.npy", self.folder / f"{engine.variant}.npy"
        columns = self.facts.get("columns")  # of detections, which PyTorch's engines do not suppress
        if reference.exists() and not (columns and engine.name == "torch"):
            engine.ask(f"output {output}")
            entry["difference"] = relative_difference(output, reference, columns)
        self.facts["engines"].append(entry)
        say(f"    {engine.variant}: median {1e3 * statistics.median(seconds):.1f} ms of {len(seconds)} rounds, peak "
            f"{entry['peak_bytes'] / 2**20:.0f} MiB, difference {entry['difference']}")

    def survivors(self):
        """For the same network on other threads: the variants that were not far from the best of their engine."""
        return {name: candidates(self.facts["scouted"], variants, 1.4, 2) if name != "openvino" else variants
                for name, variants in ENGINES.items()}

    def measure(self):
        variants = [v for name in self.options.engines for v in self.scout(name)]
        self.make_reference()
        say("  alternating")
        engines = []
        try:
            for variant in variants:
                engines.append(self.start(variant))
            times = alternate(engines, self.options)
            self.facts["turn"] = self.options.turn
            for engine in engines:
                self.finish(engine, times[engine.variant])
        finally:
            for engine in engines:
                engine.close()
        return self.facts


class BlockCase(Case):
    """Of figure 6: the variants are known from its first point."""

    def scout(self, name):
        return super().scout(name) if self.chosen is None else self.chosen[name]


# ---------------------------------------------------------------- preparation

def prepare(options, network, folder, sizes=()):
    done = subprocess.run([sys.executable, HERE / "peers_prepare.py", network, folder, str(options.seed), *sizes],
                          capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{network}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def model_of(folder):
    """The words that name the network to the command."""
    model = folder / "net.prototxt"
    return [model, "--weights", folder / "net.caffemodel"] if model.exists() else [folder / "net.onnx"]


def compile_for_pznet(options, folder, threads, name="net", disable=(), effort="estimate"):
    """Seconds that it took; None where pznet takes no part. For so many threads, as the other engines are told theirs. Where
    engines are compared algorithms are measured, as by default; Table 2 has them estimated, so that most
    layers of its settings have the same."""
    command = options.build / "pznet"
    if "pznet" not in options.engines:
        return None
    if not command.exists():
        raise Failure(f"{command} is not there: run make, or name the build folder with --build")
    start = time.perf_counter()
    words = [command, "compile", *model_of(folder), "-o", folder / f"{name}.so", "--effort", effort, "--quiet",
             "--threads", str(threads)]
    if options.max_error:
        words += ["--max-error", options.max_error]
    done = subprocess.run(words + (["--disable", ",".join(disable)] if disable else []), capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"pznet compile failed: {done.stderr.strip()}")
    return time.perf_counter() - start


def prepared(options, network, folder):
    """What describes the network, once for all parts that use it."""
    stored = folder / "facts.json"
    if not stored.exists():
        say(f"{network}: preparing")
        facts = prepare(options, network, folder, SIZES[network] if options.quick else ())
        stored.write_text(json.dumps(facts))
    return json.loads(stored.read_text())


# ---------------------------------------------------------------- Table 2

def settings_of(changes):
    """{name: passes to leave out}: all fusions, none, and each by itself; one that changes nothing in this network is
    not measured."""
    useful = [f for f in FUSIONS if changes.get(f)]
    settings = {"all": [], "none": FUSIONS}
    return {**settings, **{f: [g for g in FUSIONS if g != f] for f in useful}}


def changes_of(options, folder):
    done = subprocess.run([options.build / "pznet", "inspect", *model_of(folder), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"pznet inspect failed: {done.stderr.strip()}")
    return {p["name"]: p["changes"] for p in json.loads(done.stdout)["passes"]}


def table2(options, network, folder):
    if "pznet" not in options.engines:
        raise Failure("pznet is not among --engines")
    threads = options.threads[-1]
    changes = changes_of(options, folder)
    settings = settings_of(changes)
    for name, disabled in settings.items():
        seconds = compile_for_pznet(options, folder, threads, name, disabled)
        say(f"  {name}: compiled in {seconds:.0f} s")
    engines, outputs = [], {}
    try:
        for name in settings:
            engines.append(Engine(f"pznet:{name}", folder, threads, options.build))
        times = alternate(engines, options)
        for engine, name in zip(engines, settings):
            outputs[name] = folder / f"table2-{name}.npy"
            engine.ask(f"output {outputs[name]}")
    finally:
        for engine in engines:
            engine.close()
    return {"network": network, "threads": threads, **stamp(), "changes": {f: changes.get(f, 0) for f in FUSIONS},
            "settings": {name: times[f"pznet:{name}"] for name in settings},
            "difference": relative_difference(outputs["none"], outputs["all"])}


# ---------------------------------------------------------------- figure 6

def figure6_points(options):
    return options.maps or (["16", "8"] if options.quick else BLOCK_MAPS)


def figure6_point(options, folder, maps, chosen):
    facts = prepare(options, "block", folder, (maps, "16,32,32" if options.quick else "-"))
    facts["compile_seconds"] = compile_for_pznet(options, folder, options.threads[-1],
                                                 effort="estimate" if options.quick else "measure")
    case = BlockCase(options, "block", options.threads[-1], folder, {**facts, "maps": int(maps)}, chosen)
    return case, case.measure()


# ---------------------------------------------------------------- programs

def built(options, target):
    """A benchmark program, built in a folder of its own: benchmarks are no part of the ordinary build."""
    folder = options.build / "bench"
    commands = [["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DPZ_TESTS=ON", "-DPZ_BENCH=ON"],
                ["cmake", "--build", folder, "--target", target]]
    try:
        good = all(subprocess.run(c, capture_output=True).returncode == 0 for c in commands)
    except FileNotFoundError:
        return None
    return next((p for p in folder.glob(f"**/{target}") if p.is_file()), None) if good else None


def pool_network(options, folder):
    """A network of many short steps, where what lies between the steps shows."""
    folder.mkdir()
    model, net = folder / "small.prototxt", folder / "small.so"
    for words in ([sys.executable, ROOT / "models/generate.py", "symmetric", "--maps", "16,32,64,128", "--patch",
                   "16,16,16", "-o", model],
                  [options.build / "pznet", "compile", model, "--weights", "init:1", "--effort", "estimate", "--quiet", "-o", net]):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"{words[1]}: {done.stderr.strip()}")
    return net


def pool_run(program, name, threads, net):
    executor, environment = POOLS[name]
    cores = sorted(os.sched_getaffinity(0))[:threads]
    try:
        done = subprocess.run([program, executor, str(threads), net], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **environment, "OMP_NUM_THREADS": str(threads)},
                              preexec_fn=lambda: os.sched_setaffinity(0, cores))
    except subprocess.TimeoutExpired:
        raise Failure(f"bench_pool, {name}: not done after five minutes: is the machine busy?") from None
    if done.returncode:
        raise Failure(f"bench_pool, {name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def pool(options, folder):
    program = built(options, "bench_pool")
    if not program:
        raise Failure("bench_pool could not be built")
    net, runs = pool_network(options, folder), []
    for threads in options.threads:
        for round_ in range(1 if options.quick else POOL_ROUNDS):
            for name in POOLS:
                say(f"  {name}, {threads} thread(s), round {round_ + 1}")
                runs.append({"name": name, **pool_run(program, name, threads, net)})
    return {**stamp(), "network": "symmetric, maps 16 to 128, patch 16 x 16 x 16", "runs": runs}


def sweep(options, threads):
    """bench_direct of src/kernels/conv_direct, of the widest vectors that this CPU has."""
    report = {"threads": threads, **stamp(), "rows": [], "why": "bench_direct could not be built"}
    for width in (16, 8, 4):
        program = built(options, f"bench_direct_s{width}")
        if not program:
            continue
        done = subprocess.run([program, "--threads", str(threads), "--repeats", str(min(4 * options.rounds, 61) | 1),
                               "3x3x3"], capture_output=True, text=True)
        report["rows"] = [sweep_row(m) for m in map(SWEEP_ROW.match, done.stdout.splitlines()) if m]
        if report["rows"]:
            return report
        report["why"] = f"{program.name} ended with status {done.returncode} and printed no row"
    return report


def sweep_row(match):
    name, *numbers = match.groups()
    return {"name": name, **dict(zip(("gflops", "peak", "percent", "best"), map(float, numbers)))}


# ---------------------------------------------------------------- the run

class Run:
    """Part after part; a part that fails is noted and the others go on."""

    def __init__(self, options, report, scratch, save):
        self.options, self.report, self.scratch, self.save = options, report, scratch, save
        self.end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")

    def attempt(self, what, work):
        """work()'s result; None where it failed or there is no time left."""
        if time.monotonic() > self.end:
            say(f"{what}: left out: no time left")
            self.report["left_out"].append(f"{what}: no time left (--minutes)")
            return None
        say(what)
        try:
            return work()
        except Failure as failure:
            say(f"{what}: {failure}")
            self.report["left_out"].append(f"{what}: {failure}")
            return None

    def put(self, part, new, *keys):
        """Into the report, in place of the row with the same keys."""
        if new is None:
            return
        rows = self.report[part]
        rows[:] = [r for r in rows if any(r[k] != new[k] for k in keys)] + [new]
        rows.sort(key=lambda r: (ORDER.get(r.get("network"), 0), r["threads"], r.get("maps", 0)))
        self.save()

    def peers(self):
        """Most threads first: there trying all variants takes the least time."""
        for network in self.options.networks:
            chosen = None
            for threads in sorted(self.options.threads, reverse=True):
                def work(network=network, threads=threads, chosen=chosen):
                    folder = self.scratch / network
                    facts = prepared(self.options, network, folder)
                    facts["compile_seconds"] = compile_for_pznet(self.options, folder, threads, effort=self.options.effort)
                    return Case(self.options, network, threads, folder, facts, chosen)
                case = self.attempt(f"{network}, {threads} thread(s)", work)
                self.put("cases", case and self.attempt("  variants", case.measure), "network", "threads")
                chosen = case.survivors() if case and case.facts["engines"] else None

    def table2(self):
        for network in self.options.networks:
            def work(network=network):
                folder = self.scratch / network
                prepared(self.options, network, folder)
                return table2(self.options, network, folder)
            self.put("table2", self.attempt(f"table 2: {network}", work), "network", "threads")

    def figure6(self):
        chosen = None
        for maps in figure6_points(self.options):
            found = self.attempt(f"figure 6: {maps} feature maps",
                                 lambda: figure6_point(self.options, self.scratch / f"block{maps}", maps, chosen))
            if found:
                case, facts = found
                self.put("figure6", facts, "maps", "threads")
                chosen = chosen or {name: candidates(facts["scouted"], variants, 1.1, 1) for name, variants in ENGINES.items()}

    def pool(self):
        found = self.attempt("thread pool beside OpenMP", lambda: pool(self.options, self.scratch / "pool"))
        if found:
            self.report["pool"] = found
            self.save()

    def sweep(self):
        for threads in self.options.threads:
            self.put("sweeps", self.attempt(f"direct convolution, {threads} thread(s)",
                                            lambda: sweep(self.options, threads)), "threads")


def measure(options, report, scratch, save):
    run = Run(options, report, scratch, save)
    for part in options.parts:
        getattr(run, part)()
    save()
    say("done")
