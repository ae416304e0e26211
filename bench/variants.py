#!/usr/bin/env python3
"""One network file for several targets beside the file of each: sizes, and times of the variants that this machine can run.

    bench/variants.py build/pznet models/symmetric.prototxt models/residual.prototxt [--targets x86-64-v3,x86-64-v4,sapphire-rapids]

Models are Caffe's, with weights made up, or ONNX files. All files are compiled with the cost model, which depends on the target alone, so that a variant and
its own file have the same plan and the same kernels; that is checked. Both are timed in turn, `--rounds` times, by `pznet bench` with `--runs` runs on `--threads` threads. Of the two
the quotient of the rounds' medians is told: the median over the rounds, and between which it lies in half of them; and the quotient of the least times.
Memory is the most that one run of `pznet run` has at a time. Standard library only.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile


def read_cpu():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.environment = args, folder, {**os.environ, "PZNET_CACHE_DIR": str(folder / "cache")}
        self.environment.pop("PZNET_TARGET", None)

    def pznet(self, *words):
        result = subprocess.run([self.args.pznet, *map(str, words)], capture_output=True, text=True, env=self.environment)
        if result.returncode:
            sys.exit(f"{' '.join(map(str, words))}: {result.stderr}")
        return result.stdout

    def compile(self, model, target, name):
        output = self.folder / f"{name}.so"
        weights = ["--weights", "init:1"] if model.suffix == ".prototxt" else []
        words = [model, *weights, *self.args.option, "--effort", "estimate", "--target", target, "-o", output]
        return output, json.loads(self.pznet("compile", *words, "--json", "-q"))

    def time(self, network, target):
        words = ["--runs", self.args.runs, "--warmup", 2, "--threads", self.args.threads, "--json"]
        report = json.loads(self.pznet("bench", network, "--target", target, *words))
        return report["median_ms"], report["min_ms"], report["open_ms"]

    def memory(self, network, target):
        """The most of one process that opens and runs it, in MB."""
        words = [self.args.pznet, "bench", network, "--target", target, "--runs", 1, "--warmup", 0, "--threads", self.args.threads]
        process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, env=self.environment)
        _, status, used = os.wait4(process.pid, 0)
        return used.ru_maxrss / 1024 * 1.048576 if not status else float("nan")


def check_same(one, row, own):
    """A variant's plan is its own file's, and so are its kernels: those of the own file were all kept when the one file was compiled."""
    if own["kernels"]["compiled"]:
        sys.exit(f"{row['target']}: its own file has {own['kernels']['compiled']} kernels that {one} has not")
    if (row["weights_bytes"], row["arena_bytes"]) != (own["weights_bytes"], own["arena_bytes"]):
        sys.exit(f"{row['target']}: the variant of {one} is planned otherwise than its own file")


def compare(bench, one, own, target):
    """Rounds in turn, and in each the other one first."""
    quotients, least = [], {one: [], own: []}
    opened = {one: [], own: []}
    for i in range(bench.args.rounds):
        medians = {}
        for network in (one, own) if i % 2 else (own, one):
            medians[network], shortest, open_ms = bench.time(network, target)
            least[network].append(shortest)
            opened[network].append(open_ms)
        quotients.append(medians[one] / medians[own])
    low, middle, high = statistics.quantiles(quotients, n=4) if len(quotients) > 1 else 3 * quotients
    print(f"  {target:16} time of one beside own: {middle:.3f} ({low:.3f} to {high:.3f}), least {min(least[one]):.3f} beside {min(least[own]):.3f} ms: "
          f"{min(least[one]) / min(least[own]):.3f}; opened in {statistics.median(opened[one]):.1f} beside {statistics.median(opened[own]):.1f} ms; "
          f"memory {bench.memory(one, target):.1f} beside {bench.memory(own, target):.1f} MB", flush=True)


def run(bench, model):
    targets = bench.args.targets.split(",")
    one, manifest = bench.compile(model, bench.args.targets, f"{model.stem}-all")
    rows = {row["target"]: row for row in manifest["variants"]}
    own = {}
    for target in targets:
        own[target], alone = bench.compile(model, target, f"{model.stem}-{target}")
        check_same(one, rows[target], alone)
    sizes, shared = {t: own[t].stat().st_size for t in targets}, sum(rows[t]["weights_shared_bytes"] for t in targets)
    size, limit = one.stat().st_size, sum(sizes.values()) - shared
    print(f"{model.stem}: one file {1e-6 * size:.3f} MB; own files {' + '.join(f'{1e-6 * sizes[t]:.3f}' for t in targets)} MB, less {1e-6 * shared:.3f} MB "
          f"of weights that are packed alike: {1e-6 * limit:.3f} MB; {size / limit:.4f} of that, {size / sum(sizes.values()):.3f} of all", flush=True)
    for target in targets:
        row = rows[target]
        print(f"  {target:16} {row['isa']:7} weights {1e-6 * row['weights_bytes']:.3f} MB, {1e-6 * (row['weights_bytes'] - row['weights_shared_bytes']):.3f} MB of them new")
    for target in targets:
        if rows[target]["runs_here"] and bench.args.rounds:
            compare(bench, one, own[target], target)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pznet", type=lambda p: str(pathlib.Path(p).absolute()))
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--targets", default="x86-64-v3,x86-64-v4,sapphire-rapids")
    parser.add_argument("--rounds", type=int, default=10, help="0: sizes alone")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], help="of pznet compile, such as --option=--input=data=1x1x18x96x96")
    args = parser.parse_args()
    print(f"{read_cpu()}, {args.threads} thread{'s' if args.threads > 1 else ''}, {args.rounds} rounds of {args.runs} runs")
    with tempfile.TemporaryDirectory(prefix="pznet-bench-") as folder:
        for model in args.models:
            run(Bench(args, pathlib.Path(folder)), model)


if __name__ == "__main__":
    main()
