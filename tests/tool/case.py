"""What the tests of the command share. A program that imports it is called with PZNET NETWORKS CC [unittest's arguments].

NETWORKS holds tiny.so, compiled from tests/networks/tiny.prototxt with init:1 and CC, and its source in tiny/.
Standard library only.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PZNET, NETWORKS, USERS_CC = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute(), sys.argv[3]
CC = os.environ.get("PZ_QUICK_COMPILER", USERS_CC)  # tests/CMakeLists.txt
ROOT = pathlib.Path(__file__).parents[2]
TINY, MODEL = NETWORKS / "tiny.so", ROOT / "tests/networks/tiny.prototxt"
VERBS = ["compile", "inspect", "run", "infer", "verify", "bench", "tune", "cache"]

CPU = pathlib.Path("/proc/cpuinfo").read_text()
AMX_COMPILER = not subprocess.run([CC, "-mamx-tile", "-mamx-bf16", "-E", "/dev/null"], capture_output=True).returncode

# Nothing is measured, and the user's tuning database is not touched; test_effort.py tests what is.
ESTIMATE = ["--effort", "estimate"]

# Compiles in a second: no convolution.
QUICK = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 4 dim: 6 } } }
layer { name: "act" type: "ReLU" bottom: "data" top: "act" }
"""


def pznet(*arguments, **options):
    words = [PZNET, *map(str, arguments)]
    if "compile" in words[1:2] or "inspect" in words[1:2]:
        words[2:2] = ESTIMATE
    return subprocess.run(words, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, **options)


def npy(shape, values, descr="<f4"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + values


def checksum(data, seed):
    """pz_checksum of src/base/checksum.h, written a second time."""
    factor, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1

    def step(lane, word):
        product = ((lane ^ word) * factor) & mask
        return (product << 32 | product >> 32) & mask

    total, lanes = step(seed, len(data)), [(i + 1) * factor & mask for i in range(8)]
    data = bytes(data) + bytes(64 - len(data) % 64)
    for i, (word,) in enumerate(struct.iter_unpack("<Q", data)):
        lanes[i % 8] = step(lanes[i % 8], word)
    for lane in lanes:
        total = step(total, lane)
    return step(total, total >> 32)


def sealed(data):
    """A network file with the checksum that it should have."""
    at = data.index(b'"file_checksum": "') + len('"file_checksum": "')
    return bytes(data[:at]) + b"%016x" % checksum(data[at + 16 :], checksum(data[:at], 0)) + bytes(data[at + 16 :])


def floats(file):
    return [v for (v,) in struct.iter_unpack("<f", pathlib.Path(file).read_bytes()[128:])]


def only(*patterns):
    """A folder's files that match, by name."""
    return lambda folder: sorted(p for pattern in patterns for p in pathlib.Path(folder).rglob(pattern) if p.is_file())


def level2_kib():
    """As src/base/caches.c reads it; None where the system does not say."""
    try:
        size = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip()
        return int(size[:-1]) * {"K": 1, "M": 1024}[size[-1]]
    except (OSError, ValueError, KeyError):
        return None


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def assert_fails(self, status, words, *arguments, **options):
        """Fails with this status and one line that has these words, and nothing on standard output."""
        result = pznet(*arguments, **options)
        lines = result.stderr.splitlines()
        self.assertEqual((result.returncode, len(lines), result.stdout), (status, 1, ""), result.stderr)
        self.assertTrue(lines[0].startswith("pznet"), lines[0])
        self.assertIn(words, lines[0])

    def assert_works(self, *arguments, **options):
        result = pznet(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout
