#!/usr/bin/env python3
"""infer, killed at random points, again and again: --resume must give the bytes of an undisturbed run, in every format.

usage: kills.py PZNET NETWORK [--kills N] [--seed S] [--seconds S]

N kills (1000 by default), spread over the formats, each at a random moment of what is left of a run, by SIGKILL; after each, the same command with
--resume. After a few kills the run is left to end; then its bytes are compared, and nothing may lie beside the output. A run takes a fraction of a
second, so that kills meet all of it: reading, computing, storing, recording, converting, renaming. Standard library only.
"""

import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

from faults import FORMATS, content, npy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pznet")
    parser.add_argument("network")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--seconds", type=float, default=1e9)
    a = parser.parse_args()
    pznet, network, end = os.path.abspath(a.pznet), os.path.abspath(a.network), time.monotonic() + a.seconds
    print(f"seed {a.seed}", flush=True)
    chance = random.Random(a.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-kills-"))
    data = bytes(chance.getrandbits(8) for _ in range(24 * 90 * 90))
    (folder / "in.npy").write_bytes(npy("(24, 90, 90)", data, "|u1"))

    def command(output, resume):
        words = [pznet, "infer", network, "in.npy", output, "-q", "--threads", str(chance.choice([1, 2])), "--overlap", "2,6,6"]
        return subprocess.Popen(words + ["--resume"] * resume, cwd=folder, stderr=subprocess.PIPE, text=True)

    wanted, took = {}, {}
    for name, output in FORMATS.items():
        begin = time.monotonic()
        process = command(output, False)
        assert process.wait() == 0, process.stderr.read()
        took[name] = time.monotonic() - begin
        wanted[name] = content(folder / output.split(":")[0])
        (folder / output.split(":")[0]).unlink()
    kills = {name: 0 for name in FORMATS}
    faults = finished = 0
    while sum(kills.values()) < a.kills and time.monotonic() < end and not faults:
        name = min(kills, key=kills.get)
        output, left = FORMATS[name], chance.randint(1, 8)
        path = folder / output.split(":")[0]
        resume = False
        while True:
            process = command(output, resume)
            resume = chance.random() < 0.95
            if left:
                try:
                    process.wait(took[name] * chance.random() ** 2)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    kills[name] += 1
                    left -= 1
                    if path.exists() and content(path) != wanted[name]:
                        print(f"FAULT {name}: an output that is not whole")
                        faults += 1
                    continue
            status = process.wait()
            says = process.stderr.read().strip()
            others = sorted(p.name for p in folder.iterdir() if p.name not in ("in.npy", path.name))
            if status or content(path) != wanted[name] or others:
                print(f"FAULT {name}: status {status}, {says!r}, equal {path.exists() and content(path) == wanted[name]}, left {others}")
                faults += 1
            finished += 1
            path.unlink(missing_ok=True)
            break
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(kills.values())} kills ({', '.join(f'{k} {n}' for k, n in kills.items())}), {finished} results compared, {faults} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
