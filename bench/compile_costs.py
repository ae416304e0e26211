#!/usr/bin/env python3
"""What compiling kernels costs by kind: makes the rows of src/emit/compile_costs.inc, on a quiet machine.

    bench/compile_costs.py build/pznet models/residual.prototxt models/symmetric.prototxt ... [--cc gcc]

Models are Caffe's, with weights made up, or ONNX files. Each is compiled with the cost model; of the kernels that it has, one alone of each kind and up to five
together are compiled again and timed (seconds of a processor, of the compiler with all that it starts). Standard library only.
"""

import argparse
import collections
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

MOST = 5


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compile_model(pznet, model, cc, folder):
    """The C of the model's kernels as pznet gives it to the compiler, with its command, through a compiler that keeps both."""
    kept, script = folder / "kept", folder / "cc"
    kept.mkdir()
    script.write_text(
        f'#!/bin/sh\nfor word; do case $word in */g*.c) cp "$word" {kept}/; echo "$@" > {kept}/command;; esac; done\nexec {cc} "$@"\n'
    )
    script.chmod(0o755)
    words = [pznet, "compile", model, "--effort", "estimate", "--cache", "none", "--tuning", "none", "--cc", script]
    weights = ["--weights", "init:1"] if model.suffix == ".prototxt" else []
    subprocess.run([*words, *weights, "--emit-c", folder / "c", "-o", folder / "net.so", "-q"], check=True)
    return sorted(kept.glob("g*.c")), shlex.split((kept / "command").read_text())


def kernels_of(file):
    """What stands before the first kernel, and kernels by their function."""
    head, *blocks = re.split(r"(?m)^(?=(?:static const|PZ_INLINE) pz_\w+_shape shape_)", file.read_text())
    kernels = collections.defaultdict(list)
    for block in blocks:
        kernels[re.search(r"(?m)^  (pz_\w+)\(", block)[1]].append(block)
    return head, kernels


def seconds(command, folder, text):
    """Least of two of a file with this text."""
    source = folder / "costs.c"
    source.write_text(text + "\n")
    words = [str(source) if w.endswith(".c") else str(folder / "costs.o") if w.endswith(".o") else w for w in command]
    times = []
    for _ in range(2):
        before = cpu()
        subprocess.run(words, check=True, cwd=folder, env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", **os.environ})  # as pznet does
        times.append(cpu() - before)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pznet", type=lambda p: os.path.abspath(p))
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--cc", default="gcc")
    options = parser.parse_args()
    costs = {}
    for model in options.models:
        with tempfile.TemporaryDirectory(prefix="pznet-costs-") as name:
            folder = pathlib.Path(name)
            files, command = compile_model(options.pznet, model, options.cc, folder)
            command = [options.cc, *command]
            for file in files:
                head, kernels = kernels_of(file)
                nothing = seconds(command, folder / "c", head)
                for function, texts in kernels.items():
                    if function in costs and (costs[function][2] >= len(texts) or costs[function][2] >= MOST):
                        continue
                    n = min(len(texts), MOST)
                    one = seconds(command, folder / "c", "\n".join([head, texts[0]])) - nothing
                    all_ = seconds(command, folder / "c", "\n".join([head, *texts[:n]])) - nothing if n > 1 else one
                    each = max((all_ - one) / (n - 1), 0.01) if n > 1 else one / 2
                    costs[function] = (max(one - each, 0), each, n)
                    print(f"{model.name}: {function}: {one:.2f} s alone, {n} of them {all_:.2f}", file=sys.stderr)
                print(f"{model.name}: headers {nothing:.2f} s", file=sys.stderr)
    for function, (first, each, n) in sorted(costs.items()):
        print(f'COST("{function}", {first:.2f}, {each:.2f}) /* {n} */')


if __name__ == "__main__":
    main()
