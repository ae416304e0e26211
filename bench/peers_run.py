"""Engines in processes of their own, and how they are timed in turn. Standard library only."""
import array
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent

ENGINES = {
    "pznet": ["pznet"],
    "torch": ["torch-compile-channels-last", "torch-compile", "torch-eager-channels-last", "torch-eager",
              "torch-frozen-channels-last", "torch-frozen"],  # those that are often the fastest first
    "onnxruntime": ["onnxruntime"],
    "openvino": ["openvino-latency", "openvino-throughput"],
}
# Networks by one name: those of NeoCPU's paper (peers_neocpu.py)
SETS = {"neocpu": ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "vgg11", "vgg13", "vgg16", "vgg19", "densenet121",
                   "densenet161", "densenet169", "densenet201", "inception_v3", "ssd-resnet50"]}
PAUSE = 0.25  # seconds between the runs of two engines: idle workers of the last one stop spinning
WARM = 10  # seconds after which no further round of warm-up begins
SETTLED = 0.01  # standard error of a median, in parts of it, that is good enough
BEGAN = time.monotonic()


class Failure(Exception):
    pass


def say(text):
    """With the minutes since the start."""
    minutes, seconds = divmod(int(time.monotonic() - BEGAN), 60)
    print(f"[{minutes:2d}:{seconds:02d}] {text}", file=sys.stderr, flush=True)


class Engine:
    """A running peers_engines.py, on the first `threads` cores that this process may use."""

    def __init__(self, variant, folder, threads, build, clock="seconds"):
        self.clock, self.variant, self.name = clock, variant, variant.split("-")[0].split(":")[0]
        cores = sorted(os.sched_getaffinity(0))[:threads]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), PZNET_BUILD=str(build))
        self.process = subprocess.Popen(
            [sys.executable, HERE / "peers_engines.py", variant, folder, str(threads)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1, env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.load_seconds = self.read()["load_seconds"]

    def read(self):
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process ended (out of memory?)"}
        if "error" in answer:
            self.close()
            raise Failure(answer["error"])
        return answer

    def ask(self, order):
        try:
            self.process.stdin.write(order + "\n")
        except BrokenPipeError:
            raise Failure("the process ended") from None
        return self.read()

    def run(self):
        return self.ask("run")[self.clock]

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


# ---------------------------------------------------------------- in turn

def quartiles(times):
    return statistics.quantiles(times, n=4) if len(times) > 1 else times * 3


def uncertainty(times):
    """The standard error of the median in parts of it, from the quartiles: 1.253 sigma / sqrt(n), of a normal spread
    sigma = (upper - lower) / 1.349."""
    low, middle, high = quartiles(times)
    return 0.93 * (high - low) / math.sqrt(len(times)) / middle if middle > 0 else math.inf


def turn(engine, seconds):
    """The median of as many runs as fit into `seconds`, at least one, behind one that is not timed: whoever segments a volume runs
    patch after patch, and what an engine finds in the caches after others have run is not its own speed."""
    engine.run()
    times = [engine.run()]
    while sum(times) + times[0] < seconds:
        times.append(engine.run())
    return statistics.median(times)


def alternate(engines, options, pause=PAUSE):
    """{variant: seconds of a run in each round}: engines take turns, until all medians are settled, the rounds are
    done or the time is up."""
    begin = time.monotonic()
    for done in range(options.warmup):
        if done and time.monotonic() - begin > WARM:
            break
        for engine in engines:
            engine.run()
    times = {engine.variant: [] for engine in engines}
    begin = time.monotonic()
    for rounds in range(1, options.rounds + 1):
        for engine in engines:
            time.sleep(pause)
            times[engine.variant].append(turn(engine, options.turn))
        enough = time.monotonic() - begin > options.seconds or all(uncertainty(t) <= SETTLED for t in times.values())
        if rounds >= options.least_rounds and enough:
            break
    return times


def candidates(scouted, variants, within, most):
    """The variants that took at most `within` times the fastest one's time, the fastest first."""
    known = sorted((v for v in variants if v in scouted), key=scouted.get)
    return [v for v in known if scouted[v] <= within * scouted[known[0]]][:most]


# ---------------------------------------------------------------- outputs

def floats(path):
    """The float32 values of an .npy file."""
    data = path.read_bytes()
    header = 10 + int.from_bytes(data[8:10], "little")
    return array.array("f", data[header:])


def rows_that_are(values, columns):
    """Rows of detections without those that are left over, whose first entry is -1."""
    while len(values) >= columns and values[-columns] == -1:
        del values[-columns:]
    return values


def relative_difference(path, reference, columns=None):
    a, b = floats(path), floats(reference)
    if columns:
        a, b = rows_that_are(a, columns), rows_that_are(b, columns)
    if len(a) != len(b):
        raise Failure(f"{len(a)} output values, expected {len(b)}")
    error = math.fsum((x - y) ** 2 for x, y in zip(a, b))
    return math.sqrt(error / max(math.fsum(y * y for y in b), 1e-300))
