"""What bench/peers measured: its JSON and its Markdown."""
import importlib.metadata
import json
import math
import pathlib
import statistics
import time

from peers_run import ENGINES, SETS, quartiles

ENGINE_NAMES = {"pznet": "pznet", "torch": "PyTorch", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
FUSION_NAMES = {"fuse-add": "addition", "fold-linear": "linear", "fuse-activation": "activation", "pad-outputs": "padding"}
LISTS = ("cases", "table2", "figure6", "sweeps")


# ---------------------------------------------------------------- JSON

def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.lower().startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def versions():
    found = {}
    for package in ("torch", "onnxruntime", "openvino", "numpy"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "missing"
    return found


def new(options, kept=None):
    """An empty report, or one that begins with what is kept of an earlier one on the same CPU with the same --max-error."""
    report = {"cpu": cpu_model(), "date": time.strftime("%Y-%m-%d"), "warmup": options.warmup, "quick": options.quick,
              "max_error": options.max_error, "cpu_time": getattr(options, "cpu_time", False),
              "versions": versions(), "left_out": [], "pool": None, **{name: [] for name in LISTS}}
    if kept and all(kept.get(name) == report[name] for name in ("cpu", "max_error")) and bool(kept.get("cpu_time")) == report["cpu_time"]:
        report.update({name: kept[name] for name in (*LISTS, "pool") if kept.get(name)})
    return report


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else None


def write_json(report, path):
    path.write_text(json.dumps(report, indent=1) + "\n")


# ---------------------------------------------------------------- the U-Nets in all engines

def count(n, word):
    return f"{n} {word}{'s' * (n != 1)}"


def when(report, part):
    """Said where a part is of another day than the report."""
    return f" Measured on {part['date']}." if part.get("date", report["date"]) != report["date"] else ""


def median(entry):
    return statistics.median(entry["seconds"])


def fastest(case, engine):
    """The entry of an engine's fastest variant, or None."""
    return min((e for e in case["engines"] if e["engine"] == engine), key=median, default=None)


def row(case, entry, pznet):
    low, middle, high = quartiles(entry["seconds"])
    middle = median(entry)
    ratio = f"{middle / median(pznet):.2f}" if pznet else "-"
    error = f"{entry['difference']:.1e}" if entry.get("difference") is not None else "-"
    return (f"| {ENGINE_NAMES[entry['engine']]} | {entry['variant']} | {1e3 * middle:.1f} "
            f"| {1e3 * low:.1f} to {1e3 * high:.1f} | {len(entry['seconds'])} "
            f"| {2e-9 * case['multiply_adds'] / middle:.1f} | {ratio} | {entry['peak_bytes'] / 2**20:.0f} | {error} |")


def verdict(case):
    """The two goals: 1.5 times the faster of PyTorch and ONNX Runtime, and less memory than both."""
    pznet, rivals = fastest(case, "pznet"), [e for e in (fastest(case, n) for n in ("torch", "onnxruntime")) if e]
    if not pznet or not rivals:
        return "No verdict: pznet and at least one of PyTorch and ONNX Runtime must have run."
    less = all(pznet["peak_bytes"] < e["peak_bytes"] for e in rivals)
    return (f"pznet runs {min(map(median, rivals)) / median(pznet):.2f} times as fast as the faster of PyTorch and ONNX "
            f"Runtime; its peak memory is {'below' if less else 'not below'} both.")


def turn_text(case):
    return (f"A turn: one run that is not timed, then the median of {case['turn']:g} s." if case.get("turn") is not None
            else "A turn: a single run.")


def case_text(report, case):
    lines = [f"### {case['network']}, {count(case['threads'], 'thread')}", "",
             f"Input {' x '.join(map(str, case['input']))}, {2e-9 * case['multiply_adds']:.1f} GFLOP; load average at the "
             f"start {case.get('load', report.get('load', 0)):.2f}. {turn_text(case)}{when(report, case)}", "",
             "| engine | variant | median ms | quartiles ms | rounds | GFLOP/s | time / pznet's | peak MiB | difference |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    pznet = fastest(case, "pznet")
    lines += [row(case, e, pznet) for e in sorted(case["engines"], key=median)]
    lines += ["", verdict(case)]
    if case.get("compile_seconds") and case.get("open_seconds") is not None:
        lines += [f"Compiled in {case['compile_seconds']:.1f} s; opened in {1e3 * case['open_seconds']:.0f} ms."]
    lines += [f"Not run: {variant}: {why}" for variant, why in case["failures"].items()]
    lines += ["", "Tried before, one after the other: " + ", ".join(
        f"{v} {1e3 * s:.0f} ms" for v, s in sorted(case["scouted"].items(), key=lambda i: i[1])) + "."]
    return "\n".join(lines)


# ---------------------------------------------------------------- the fifteen networks

def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def fifteen_row(case):
    """(network, pznet's ms, {peer: ms}, the best peer's time / pznet's, pznet's memory / the smallest peer's); None where one is missing."""
    pznet = fastest(case, "pznet")
    others = {e: fastest(case, e) for e in ENGINES if e != "pznet" and fastest(case, e)}
    if not pznet or not others:
        return None
    return (case["network"], median(pznet), {e: median(o) for e, o in others.items()},
            min(map(median, others.values())) / median(pznet),
            pznet["peak_bytes"] / min(o["peak_bytes"] for o in others.values()), pznet["difference"])


def fifteen_table(threads, rows, of):
    peers = [e for e in ENGINES if e != "pznet"]
    lines = [f"### {count(threads, 'thread')}", "",
             "| network | pznet, ms | " + " | ".join(f"{ENGINE_NAMES[e]}, ms" for e in peers)
             + " | the best of them / pznet | peak memory / the smallest of theirs | difference |", "| --- " * (5 + len(peers)) + "|"]
    for network, time_, others, ratio, memory, difference in rows:
        cells = " | ".join(f"{1e3 * others[e]:.1f}" if e in others else "-" for e in peers)
        error = "-" if difference is None else f"{difference:.1e}"
        lines.append(f"| {network} | {1e3 * time_:.1f} | {cells} | {ratio:.2f} | {memory:.2f} | {error} |")
    speed, memory = geometric_mean([r[3] for r in rows]), geometric_mean([r[4] for r in rows])
    least = min(rows, key=lambda r: r[3])
    return lines + ["", f"Geometric mean over {len(rows)} of {of}: {speed:.2f} times as fast as the best of the others, with {memory:.2f} of "
                        f"the smallest peak memory; the least is {least[3]:.2f}, of {least[0]}.", ""]


def fifteen_text(report):
    """The set of NeoCPU's paper, as far as it was measured; empty where it was not."""
    lines = []
    for threads in sorted({c["threads"] for c in report["cases"]}):
        cases = [c for c in report["cases"] if c["network"] in SETS["neocpu"] and c["threads"] == threads]
        rows = [row for row in map(fifteen_row, cases) if row]
        lines += fifteen_table(threads, rows, len(SETS["neocpu"])) if rows else []
    if not lines:
        return ""
    return "\n".join(["## The fifteen networks of NeoCPU's paper", "",
                      "Of each engine its fastest variant. PyTorch's SSD is without the suppression, which it has no operator for.", "",
                      *lines]).rstrip()


def peers_text(report):
    head = ["## The networks in all engines", "",
            "Same weights, same input, engines in turn; of each engine the fastest variants take part. Peak memory: of "
            "that whole process, loading and Python included. Difference: relative L2 distance from the output of PyTorch "
            "in eager mode. GFLOP/s: of the direct algorithm."]
    return "\n\n".join(["\n".join(head)] + [case_text(report, case) for case in report["cases"]])


# ---------------------------------------------------------------- Table 2

def gain(table, setting):
    """How much faster than without all four, in per cent; None where it was not measured."""
    times = table["settings"]
    return 100 * (statistics.median(times["none"]) / statistics.median(times[setting]) - 1) if setting in times else None


def table2_row(table):
    times = {name: 1e3 * statistics.median(t) for name, t in table["settings"].items()}
    gains = [gain(table, s) for s in ("all", *FUSION_NAMES)]
    cells = " | ".join("-" if g is None else f"{g:+.1f}%" for g in gains)
    return (f"| {table['network']}, {count(table['threads'], 'thread')} | {times['none']:.1f} | {times['all']:.1f} "
            f"| {cells} | {table['difference']:.1e} |")


def table2_text(report):
    lines = ["## Table 2: the optimisations", "",
             "How much faster than with `--disable " + ",".join(FUSION_NAMES) + "`: with all four, and with each alone (the "
             "other three disabled). -: changes nothing in this network. Sums are fused first for the sake of the others "
             "(PZnet 4.5), so alone they may win little. Compiled with `--effort estimate`. Difference: relative L2 distance "
             "between the outputs of all and none."
             + "".join({when(report, t) for t in report["table2"]}), "",
             "| network | none, ms | all, ms | all | " + " | ".join(f"{n} alone" for n in FUSION_NAMES.values())
             + " | difference |", "| --- " * (5 + len(FUSION_NAMES)) + "|"]
    return "\n".join(lines + [table2_row(t) for t in report["table2"]])


# ---------------------------------------------------------------- figure 6

def figure6_text(report):
    engines = [e for e in ENGINES if any(fastest(p, e) for p in report["figure6"])]
    points = sorted(report["figure6"], key=lambda p: p["maps"])
    lines = ["## Figure 6: the basic block with few feature maps", "",
             f"Two padded 3x3x3 convolutions and a 1x1x1, patch {' x '.join(map(str, points[0]['input'][2:]))}, "
             f"{count(points[0]['threads'], 'thread')}; medians in ms, and pznet's effective GFLOP/s. The other engines with "
             "the variant that was fastest at the first point measured." + "".join({when(report, p) for p in points}), "",
             "| feature maps | " + " | ".join(ENGINE_NAMES[e] for e in engines)
             + " | GFLOP/s | the fastest other one / pznet | greatest difference |", "| --- " * (4 + len(engines)) + "|"]
    return "\n".join(lines + [figure6_row(p, engines) for p in points])


def figure6_row(point, engines):
    entries = {e: fastest(point, e) for e in engines}
    pznet, others = entries.get("pznet"), [e for name, e in entries.items() if e and name != "pznet"]
    rate = f"{2e-9 * point['multiply_adds'] / median(pznet):.1f}" if pznet else "-"
    ratio = f"{min(map(median, others)) / median(pznet):.2f}" if pznet and others else "-"
    errors = [e["difference"] for e in entries.values() if e and e["difference"] is not None]
    cells = " | ".join(f"{1e3 * median(e):.1f}" if e else "-" for e in entries.values())
    return f"| {point['maps']} | {cells} | {rate} | {ratio} | {max(errors):.1e} |" if errors else \
        f"| {point['maps']} | {cells} | {rate} | {ratio} | - |"


# ---------------------------------------------------------------- the thread pool

def pool_medians(part):
    """{threads: {name: {"region_us", "barrier_us", "network_ms", "curve": {regions: ms}, "barrier_curve"}}}: medians of
    the processes' medians."""
    threads = {}
    for run in part["runs"]:
        threads.setdefault(run["threads"], {}).setdefault(run["name"], []).append(run)
    return {n: {name: pool_median(runs) for name, runs in names.items()} for n, names in threads.items()}


def pool_median(runs):
    middle = lambda value: statistics.median(value(r) for r in runs)
    curve = lambda key: {r["count"]: middle(lambda run, i=i: run["regions"][i][key])
                         for i, r in enumerate(runs[0]["regions"])}
    return {"region_us": middle(lambda r: r["region_us"]), "barrier_us": middle(lambda r: r["barrier_us"]),
            "network_ms": middle(lambda r: r["network"]["milliseconds"]), "steps": runs[0]["network"]["steps"],
            "curve": curve("milliseconds"), "barrier_curve": curve("barrier_milliseconds")}


def pool_text(report):
    part = report["pool"]
    medians = pool_medians(part)
    some = next(iter(next(iter(medians.values())).values()))
    lines = ["## The thread pool beside OpenMP (NeoCPU, figure 4)", "",
             "OpenMP of GCC, threads bound to cores; active: OMP_WAIT_POLICY=active. Each executor in processes of its own, "
             f"in turn. A region is forked and joined; network files run as one region with a barrier behind each step. "
             f"Network: {part['network']}, {some['steps']} steps, with this executor.{when(report, part)}", "",
             "| threads | executor | a region, us | a barrier, us | network, ms | runs / s |",
             "| --- | --- | --- | --- | --- | --- |"]
    for threads, names in medians.items():
        lines += [f"| {threads} | {name} | {m['region_us']:.2f} | {m['barrier_us']:.2f} | {m['network_ms']:.3f} "
                  f"| {1e3 / m['network_ms']:.1f} |" for name, m in names.items()]
    counts = list(some["curve"])
    lines += ["", "The same work cut into more and more regions, ms:", "",
              "| threads | executor | " + " | ".join(map(str, counts)) + " |", "| --- " * (2 + len(counts)) + "|"]
    for threads, names in medians.items():
        for name, m in names.items():
            for title, curve in ((name, m["curve"]), (f"{name}, barriers", m["barrier_curve"])):
                lines.append(f"| {threads} | {title} | " + " | ".join(f"{curve[c]:.2f}" for c in counts) + " |")
    return "\n".join(lines)


# ---------------------------------------------------------------- the direct convolution

def sweep_text(report, sweep):
    if not sweep["rows"]:
        return f"## Direct convolution\n\nNot run: {sweep['why']}."
    lines = [f"## Direct convolution, {count(sweep['threads'], 'thread')}", "",
             f"Per cent of the multiply-add peak that is measured in the same run.{when(report, sweep)}", "",
             "| convolution | GFLOP/s | peak | per cent | best run |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {r['name']} | {r['gflops']:.1f} | {r['peak']:.1f} | {r['percent']:.1f} | {r['best']:.1f} |"
              for r in sweep["rows"]]
    return "\n".join(lines)


# ---------------------------------------------------------------- all of it

def markdown(report):
    versions = ", ".join(f"{k} {v}" for k, v in report["versions"].items())
    error = f" pznet compiled with `--max-error {report['max_error']}`." if report.get("max_error") else ""
    clock = " Seconds are those that the engine's process had a core for (`--cpu-time`)." if report.get("cpu_time") else ""
    parts = [f"# pznet and its peers\n\n{report['cpu']}, {report['date']}; medians of alternating rounds after "
             f"{report['warmup']} of warm-up.{error}{clock}\nVersions: {versions}."]
    parts += [text for text in [fifteen_text(report)] if text]
    parts += [peers_text(report)] if report["cases"] else []
    parts += [table2_text(report)] if report["table2"] else []
    parts += [figure6_text(report)] if report["figure6"] else []
    parts += [pool_text(report)] if report["pool"] else []
    parts += [sweep_text(report, s) for s in report["sweeps"]]
    parts += ["Left out:\n\n" + "\n".join(f"- {line}" for line in report["left_out"])] if report["left_out"] else []
    return "\n\n".join(parts) + "\n"
