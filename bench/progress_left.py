#!/usr/bin/env python3
"""How true the times left are that compile, tune and infer show: each is run, and what it told is compared with what it then took.

    bench/progress_left.py build/pznet models/symmetric.prototxt [--only compile-estimate,...] [--voxels 60,400,400] [--keep FOLDER]

MODEL is Caffe's, with weights made up, or an ONNX file; infer wants one with one input and one output. From a tenth of the way on, and while more than a twentieth of the whole is left: the worst deviation of
the shown time left from the true one, as a share of the true one and of the whole; when one was shown first; and the share of the time in which the shown one was true within 20%.
Caches are of this command alone, cold where it says so. Meant for a quiet machine: what comes and goes beside it nobody can foresee. Standard library only.
"""

import argparse
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time


def run(words, folder, cache):
    """The command's lines of progress, with the time at which it ended since the progress's own clock began."""
    environment = {**os.environ, "PZNET_CACHE_DIR": str(cache)}
    start = time.monotonic()
    process = subprocess.Popen([*map(str, words), "-q", "--progress", "json"], stderr=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL, cwd=folder, env=environment)
    lines = []
    for line in process.stderr:
        if not line.startswith("{"):
            sys.stderr.write(line)
            continue
        lines.append((time.monotonic() - start, json.loads(line)))
    if process.wait():
        sys.exit(f"{' '.join(map(str, words))}: exit status {process.returncode}")
    return lines, time.monotonic() - start


def judge(lines, whole):
    """Worst deviation of the true time left and of the whole, first shown, share that is within 20%."""
    worst = of_whole = 0.0
    first, good, judged = None, 0, 0
    for at, line in lines:
        left, true = line["left"], whole - at
        if left is None:
            continue
        first = at / whole if first is None else first
        if at < 0.1 * whole or true < 0.05 * whole:
            continue
        judged += 1
        good += abs(left - true) <= 0.2 * true
        worst, of_whole = max(worst, abs(left - true) / true), max(of_whole, abs(left - true) / whole)
    return worst, of_whole, first, good / judged if judged else None


def volume(path, shape):
    """Random bytes in an .npy file."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    n = shape[0] * shape[1] * shape[2]
    path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + random.Random(1).randbytes(n))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pznet", type=os.path.abspath)
    parser.add_argument("model", type=os.path.abspath)
    parser.add_argument("--only", help="names of the table, with commas between")
    parser.add_argument("--voxels", default="60,400,400", help="the volume for infer: z,y,x")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the lines of progress")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else None
    weights = ["--weights", "init:1"] if options.model.endswith(".prototxt") else []
    shape = tuple(int(n) for n in options.voxels.split(","))
    print(f"{'command':24} {'seconds':>8} {'worst, of what is left':>23} {'of the whole':>13} {'within 20%':>11} {'first shown at':>15}")
    with tempfile.TemporaryDirectory(prefix="pznet-left-") as name:
        folder = pathlib.Path(name)
        compile_ = [options.pznet, "compile", options.model, *weights, "-o", "net.so"]
        infer = [options.pznet, "infer", "net.so", "volume.npy"]
        commands = [
            ("compile-estimate", [*compile_, "--effort", "estimate"], "cold-1"),
            ("compile", compile_, "cold-2"),
            ("compile-known-kernels", [*compile_[:-2], "-o", "again.so"], "cold-2"),
            ("compile-measure", [*compile_, "--effort", "measure"], "cold-3"),
            ("tune-60-s", [options.pznet, "tune", "net.so", "--budget", "60"], "cold-4"),
            ("tune", [options.pznet, "tune", "net.so"], "cold-4"),
            ("infer-npy", [*infer, "out.npy"], "cold-1"),
            ("infer-zscore-gz", [*infer, "out.nii.gz", "--normalize", "zscore"], "cold-1"),
        ]
        volume(folder / "volume.npy", shape)
        for title, words, cache in commands:
            needs_network = words[1] != "compile" and not (folder / "net.so").exists()
            if needs_network:
                run([*compile_, "--effort", "estimate"], folder, folder / "cold-0")
            if only and title not in only:
                continue
            lines, whole = run(words, folder, folder / cache)
            if options.keep:
                options.keep.mkdir(exist_ok=True)
                text = "".join(json.dumps({**line, "at": at, "whole": whole}) + "\n" for at, line in lines)
                (options.keep / f"{title}.jsonl").write_text(text)
            worst, of_whole, first, good = judge(lines, whole)
            share = "-" if good is None else f"{good:.0%}"
            print(f"{title:24} {whole:8.1f} {worst:23.0%} {of_whole:13.0%} {share:>11} {'never' if first is None else f'{first:.0%}':>15}", flush=True)


if __name__ == "__main__":
    main()
