#!/usr/bin/env python3
"""The Python package where system calls and allocations fail: an exception or the right values, and never a signal.

usage: LD_PRELOAD=LIBRARY PYTHONPATH=build/python python.py NETWORK [--every K]

LIBRARY is built from fail.c. pznet is imported and used once; then each call that fails is tried in a process of its own, which is forked, so
that a try takes some milliseconds. The allocations of Python's interpreter do not fail, those of the package and of its libraries do. Exits 77 without NumPy.
"""

import argparse
import ctypes
import errno
import os
import resource
import signal
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import pznet
import pznet._pznet  # the libraries of volumes: what they do when they are loaded is not ours

KINDS = {"a": errno.ENOMEM, "m": errno.ENOMEM, "r": errno.EIO, "w": errno.ENOSPC, "o": errno.EMFILE, "c": errno.EIO, "q": errno.EIO, "t": errno.ENOSPC}
RIGHT, RAISED, WRONG, ODD = 0, 10, 11, 12


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("network")
    parser.add_argument("--every", type=int, default=1)
    a = parser.parse_args()
    fail = ctypes.CDLL(None).pz_fail_set
    fail.argtypes, fail.restype = [ctypes.c_char_p], ctypes.c_long
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    volume = (np.arange(9 * 30 * 33) % 251).astype("u1").reshape(9, 30, 33)
    patch = np.linspace(-1, 1, 4 * 12 * 14, dtype="f4").reshape(1, 1, 4, 12, 14)
    folder = tempfile.TemporaryDirectory(prefix="pznet-faults-")
    path = os.path.join(folder.name, "in.npy")
    np.save(path, volume)
    uses = {"infer of an array": lambda: pznet.infer(volume, a.network, threads=1, progress=False),
            "infer of a file": lambda: pznet.infer(path, a.network, threads=1, progress=False),
            "load and call": lambda: pznet.load(a.network, threads=1)(patch)}
    faults = tried = 0

    def child(use, setting, wanted):
        """One try, in a process of its own."""
        signal.alarm(60)
        try:
            fail(setting)
            made = use()
            fail(None)
            end = RIGHT if np.array_equal(made, wanted) else WRONG
        except Exception:
            fail(None)
            end = RAISED
        except BaseException:
            end = ODD
        os._exit(end)

    def parent(use, setting, wanted):
        pid = os.fork()
        if not pid:
            child(use, setting, wanted)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def count(use, kind):
        """Of the first use in a process, as the tries are."""
        ends, gives = os.pipe()
        pid = os.fork()
        if not pid:
            fail(f"{kind}:0:0".encode())
            use()
            os.write(gives, str(fail(None)).encode())
            os._exit(0)
        os.close(gives)
        calls = int(os.read(ends, 32))
        os.close(ends), os.waitpid(pid, 0)
        return calls

    for name, use in uses.items():
        begin, ends, before = time.monotonic(), {}, tried
        wanted = call_in_child(use)
        for kind, code in KINDS.items():
            for n in range(1, count(use, kind) + 1, a.every):
                end = parent(use, f"{kind}:{n}:{code}".encode(), wanted)
                ends[end] = ends.get(end, 0) + 1
                tried += 1
                if end not in (RIGHT, RAISED):
                    faults += 1
                    print(f"FAULT {name}, {kind}:{n}:{code}: ended with {end}", flush=True)
        print(f"{name}: {tried - before} calls failed, {ends.get(RAISED, 0)} exceptions, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{faults} faults")
    return bool(faults)


def call_in_child(use):
    """The right values, without a trace in this process."""
    with tempfile.TemporaryFile() as file:
        pid = os.fork()
        if not pid:
            np.save(file, use())
            file.flush()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        file.seek(0)
        return np.load(file)


if __name__ == "__main__":
    sys.exit(main())
