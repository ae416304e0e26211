#!/usr/bin/env python3
"""infer, killed at random points, again and again: --resume must give the bytes of an undisturbed run, in every format.

usage: kills.py PZNET NETWORK [--kills N] [--seed S] [--seconds S]

N kills (1000 by default), spread over the formats of outputs, a dataset in an HDF5 file that holds another one, and a folder of slices as input, each at a random moment of what is left of a run, by SIGKILL; after each, the same command with
--resume. After a few kills the run is left to end; then its bytes are compared, and nothing may lie beside the output. A run takes a fraction of a
second, so that kills meet all of it: reading, computing, storing, recording, converting, renaming. The same command is then killed once more, with
--resume on what is finished: that must stay as it is. Standard library only.
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

from faults import FORMATS, content, npy, tiff


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pznet")
    parser.add_argument("network")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--seconds", type=float, default=1e9)
    a = parser.parse_args()
    print(f"seed {a.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-kills-"))
    try:
        return Killing(a, folder).all()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Killing:
    def __init__(self, arguments, folder):
        self.pznet, self.network, self.most = os.path.abspath(arguments.pznet), os.path.abspath(arguments.network), arguments.kills
        self.end, self.chance, self.folder = time.monotonic() + arguments.seconds, random.Random(arguments.seed), folder
        data = self.chance.randbytes(24 * 90 * 90)
        (folder / "in.npy").write_bytes(npy("(24, 90, 90)", data, "|u1"))
        (folder / "slices").mkdir()
        for i in range(24):
            (folder / "slices" / f"s{i:02}.tif").write_bytes(tiff(1, "", 90, 90, data[i * 8100:(i + 1) * 8100]))
        self.cases = {name: ("in.npy", output) for name, output in FORMATS.items()}
        self.cases |= {"joined": ("in.npy", "joined.h5:/second"), "slices": ("slices/", "from.npy")}
        self.faults = self.compared = 0
        self.kills = {name: 0 for name in self.cases}
        self.finished_kills = 0
        assert self.start("in.npy", "joined.h5:/first", False).wait() == 0
        self.before = {"joined": (folder / "joined.h5").read_bytes()}
        self.wanted, self.took = {}, {}
        for name in self.cases:
            self.prepare(name)
            begin = time.monotonic()
            process = self.start(*self.cases[name], False)
            assert process.wait() == 0, process.stderr.read()
            self.took[name] = time.monotonic() - begin
            self.wanted[name] = content(self.path(name))

    def path(self, name):
        return self.folder / self.cases[name][1].split(":")[0]

    def prepare(self, name):
        for path in self.folder.iterdir():
            if path.is_file() and path.name != "in.npy":
                path.unlink()
        if name in self.before:
            self.path(name).write_bytes(self.before[name])

    def start(self, volume, output, resume):
        words = [self.pznet, "infer", self.network, volume, output, "-q", "--threads", str(self.chance.choice([1, 2])), "--overlap", "2,6,6"]
        return subprocess.Popen(words + ["--resume"] * resume, cwd=self.folder, stderr=subprocess.PIPE, text=True)

    def fault(self, name, words):
        print(f"FAULT {name}: {words}", flush=True)
        self.faults += 1

    def killed(self, name, process, seconds):
        """Whether it was still at work then; what lies under the output's name is whole, or as it was before."""
        try:
            process.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.kills[name] += 1
        now = content(self.path(name)) if self.path(name).exists() else None
        if now not in (self.wanted[name], self.before.get(name)):
            self.fault(name, "an output that is not whole")
        return True

    def check(self, name, process):
        status, says = process.wait(), process.stderr.read().strip()
        same = self.path(name).exists() and content(self.path(name)) == self.wanted[name]
        others = sorted({p.name for p in self.folder.iterdir()} - {"in.npy", "slices", self.path(name).name})
        if status or not same or others:
            self.fault(name, f"status {status}, {says!r}, equal {same}, left {others}")
        self.compared += 1

    def once(self, name):
        """A run with a few kills, to its end; then --resume of what is finished, killed once."""
        self.prepare(name)
        resume = False
        for _ in range(self.chance.randint(1, 8)):
            process = self.start(*self.cases[name], resume)
            if not self.killed(name, process, self.took[name] * self.chance.random() ** 2):
                self.check(name, process)
                break
            resume = name in self.before or self.chance.random() < 0.95  # a dataset that is there is not replaced without being asked
        self.check(name, self.start(*self.cases[name], True))
        process = self.start(*self.cases[name], True)
        if self.killed(name, process, 0.2 * self.took[name] * self.chance.random()):
            self.finished_kills += 1
            if content(self.path(name)) != self.wanted[name]:
                self.fault(name, "what was finished is gone")
            process = self.start(*self.cases[name], True)
        self.check(name, process)

    def all(self):
        while sum(self.kills.values()) < self.most and time.monotonic() < self.end and not self.faults:
            self.once(min(self.kills, key=self.kills.get))
        print(f"{sum(self.kills.values())} kills ({', '.join(f'{k} {n}' for k, n in self.kills.items())}), {self.finished_kills} of them of "
              f"finished ones, {self.compared} results compared, {self.faults} faults")
        return bool(self.faults)


if __name__ == "__main__":
    sys.exit(main())
