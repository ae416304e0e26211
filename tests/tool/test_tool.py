"""The command, as a user meets it. usage: test_tool.py PZNET NETWORKS CC [unittest's arguments]

NETWORKS holds tiny.so, compiled from tests/networks/tiny.prototxt with init:1 and CC, and its source in tiny/.
Standard library only.
"""

import ctypes
import filecmp
import hashlib
import json
import os
import pathlib
import pty
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

PZNET, NETWORKS, CC = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute(), sys.argv[3]
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
    return subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **options)


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


class Usage(Case):
    def test_summary(self):
        for words in ["--help"], ["-h"], ["help"]:
            out = self.assert_works(*words)
            for verb in VERBS:
                self.assertIn(f"\n  {verb} ", out)
            self.assertIn("exit status", out)
        self.assertEqual(pznet().returncode, 2)
        self.assertEqual(pznet().stdout, "")
        self.assertRegex(self.assert_works("--version"), r"^pznet \d+\.\d+\.\d+\n$")

    def test_help_of_each_verb(self):
        for verb in VERBS:
            out = self.assert_works(verb, "--help")
            self.assertTrue(out.startswith(f"usage: pznet {verb} "))
            self.assertEqual(out, self.assert_works(verb, "-h"))
            for line in out.splitlines():
                self.assertLessEqual(len(line), 130)

    def test_wrong_words(self):
        self.assert_fails(2, "no verb 'train'", "train")
        for verb in VERBS:
            self.assert_fails(2, "no option --nonsense", verb, "--nonsense")
            self.assert_fails(2, "no option -X", verb, "-X")
            if verb != "tune":
                self.assert_fails(2, "name ", verb)
            self.assert_fails(2, "argument too many" if verb != "run" else "with -o", verb, *["x"] * 4)
        self.assert_fails(2, "--output wants a value", "compile", "x", "-o")
        self.assert_fails(2, "--quiet takes no value", "compile", "x", "--quiet=yes")
        self.assert_fails(2, "with -o", "compile", MODEL)
        self.assert_fails(2, "--threads x", "bench", TINY, "--threads", "x")
        self.assert_fails(2, "--threads -1", "bench", TINY, "-t-1")
        self.assert_fails(2, "--runs 0", "bench", TINY, "--runs=0")
        self.assert_fails(2, "--isa mmx", "compile", MODEL, "-w", "init:1", "-o", self.folder / "x.so", "--isa", "mmx")
        self.assert_fails(2, "--target mmx: expected one of native, x86-64-v2, ", "inspect", MODEL, "-w", "init:1", "--target", "mmx")
        self.assert_fails(2, "exclude each other", "inspect", MODEL, "-w", "init:1", "--target", "zen4", "--isa", "avx2")
        self.assert_fails(2, "--blend soft", "infer", "a", "b", "c", "--blend", "soft")
        self.assert_fails(2, "exclude each other", "infer", "a", "b", "c", "--argmax", "--dtype", "u8")
        for memory in "4X", "G", "-1", "4 ", "4Gx", "1e40", "nan":
            self.assert_fails(2, "expected a size", "infer", "a", "b", "c", "--memory", memory)
        for overlap in "1,2", "16,", "1,2,3,", "-1", "99999999999", "x":
            self.assert_fails(2, "expected three numbers", "infer", "a", "b", "c", "--overlap", overlap)

    def test_a_full_standard_output_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "w") as full:
            result = subprocess.run([PZNET, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (3, 1))


class Compile(Case):
    def test_the_same_bytes_again(self):
        again, source = self.folder / "tiny.so", self.folder / "source"
        out = self.assert_works("compile", MODEL, "-w", "init:1", "-q", "--cc", CC, "--emit-c", source, "-o", again)
        self.assertEqual(out, "")
        self.assertTrue(filecmp.cmp(TINY, again, shallow=False), "the network files differ")
        files = only("*")(source)
        self.assertEqual([p.relative_to(source) for p in files], [p.relative_to(NETWORKS / "tiny") for p in only("*")(NETWORKS / "tiny")])
        for file in files:
            self.assertTrue(filecmp.cmp(file, NETWORKS / "tiny" / file.relative_to(source), shallow=False), str(file))

    def test_the_source_is_readable_and_clean(self):
        source = NETWORKS / "tiny"
        sources = only("*.c")(source)
        self.assertGreaterEqual(len(sources), 2)
        self.assertEqual(only("*.o", "*.log", "*.so", "objects.txt")(source), [])
        network = (source / "network.c").read_text()
        for words in "tiny.prototxt", "SHA-256", "multiply-adds":
            self.assertIn(words, network[:600])
        self.assertNotIn(str(self.folder.parent), network)
        isa = json.loads(pznet("inspect", TINY, "--json").stdout)["isa"]
        avx512 = ["-march=skylake-avx512"]
        flags = {"amx": [*avx512, "-mamx-tile", "-mamx-bf16"], "avx512": avx512, "avx2": ["-mavx2", "-mfma"], "sse4": ["-msse4.2"]}[isa]
        compilers = [c for c in ("gcc", "clang", "clang-14") if shutil.which(c)]
        self.assertTrue(compilers)
        for compiler in compilers:
            words = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I.", *flags, *sources]
            result = subprocess.run(words, cwd=source, capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_targets(self):
        """Planned and compiled for each core of the table, on any machine; the help lists them all."""
        model, net = self.write("quick.prototxt", QUICK), self.folder / "quick.so"
        message = pznet("inspect", MODEL, "-w", "init:1", "--target", "mmx").stderr
        names = message.strip().split("expected one of ")[1].split(", ")
        self.assertEqual(names[0], "native")
        for verb in "compile", "inspect":
            words = re.split(r"[,\s]+", pznet(verb, "--help").stdout)
            self.assertEqual([name for name in names if name not in words], [])
        isas = {"x86-64-v2": "sse4", "zen3": "avx2", "skylake-x": "avx512", "zen4": "avx512", "sapphire-rapids": "avx512"}
        for name in names[1:]:
            table = self.assert_works("inspect", MODEL, "-w", "init:1", "--target", name)
            self.assertIn(f" ({name}), blocks of ", table)
            if name in isas:  # tiles that are not used are not asked for
                summary = json.loads(self.assert_works("compile", model, "--cc", CC, "--target", name, "--json", "-q", "-o", net))
                self.assertEqual((summary["isa"], summary["target"], summary["core"]), (isas[name], name, name))
                self.assertIn(f"{isas[name]} for {name}, ", self.assert_works("inspect", net))
        summary = json.loads(self.assert_works("compile", model, "--cc", CC, "--json", "-q", "-o", net))
        self.assertEqual(summary["target"], "native")
        self.assertIn(summary["core"], names[1:])

    def test_other_files_in_the_folder_stay(self):
        model, source = self.write("quick.prototxt", QUICK), self.folder / "source"
        source.mkdir()
        for name in "mine.o", "mine.log", "kernels_mine.o":
            (source / name).write_text("mine")
        self.assert_works("compile", model, "-q", "--emit-c", source, "-o", self.folder / "quick.so")
        for name in "mine.o", "mine.log", "kernels_mine.o":
            self.assertEqual((source / name).read_text(), "mine")

    def test_summaries(self):
        model, net = self.write("quick.prototxt", QUICK), self.folder / "quick.so"
        result = pznet("compile", model, "-o", net)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"quick\.so: \d+ steps for \w+, ")
        self.assertIn("8/8 stages", result.stderr)
        summary = json.loads(self.assert_works("compile", model, "-o", net, "--json"))
        self.assertEqual(summary["inputs"][0]["shape"], [1, 2, 3, 4, 6])
        self.assertIn("seconds", summary)

    def test_types_of_inputs_and_outputs(self):
        words = ["inspect", MODEL, "-w", "init:1", "--format", "text", "--input-type", "u8", "--output-type", "f16", "--output-type", "#1=bf16"]
        lines = self.assert_works(*words).splitlines()
        inputs, outputs = ([line.split()[1] for line in lines if line.startswith(kind)] for kind in ("input ", "output "))
        self.assertTrue(all(" u8" in line for line in lines if line.startswith("input ")))
        types = [next(line.split()[2] for line in lines if line.startswith(name + " ")) for name in outputs]
        self.assertEqual(types, ["bf16"] + ["f16"] * (len(outputs) - 1))
        self.assertEqual(sum(" = cast " in line for line in lines), len(inputs) + len(outputs))

    def test_what_is_refused(self):
        net = self.folder / "net.so"
        weights = ["-w", "init:1"]
        for status, words, arguments in [
            (3, "none.prototxt", [self.folder / "none.prototxt"]),
            (3, "bad.prototxt:1:", [self.write("bad.prototxt", "layer { name: ")]),
            (3, "empty.prototxt", [self.write("empty.prototxt", "")]),
            (3, "weights", [MODEL, "-w", self.write("bad.caffemodel", b"\x01\x02\x03")]),
            (2, "--input", [MODEL, *weights, "--input", "data"]),
            (2, "nobody", [MODEL, *weights, "--input", "nobody=1x1"]),
            (2, "--input-type u9: expected NAME=TYPE, or TYPE for all", [MODEL, *weights, "--input-type", "u9"]),
            (2, "--output-type prob=i64: expected NAME=TYPE", [MODEL, *weights, "--output-type", "prob=i64"]),
            (2, "there is no output 'data'; there is", [MODEL, *weights, "--output-type", "data=u8"]),
            (2, "there is no input '#9'; there is", [MODEL, *weights, "--input-type", "#9=u8"]),
            (2, "no-such-pass", [MODEL, *weights, "--disable", "no-such-pass"]),
            (2, "--vector-block 5", [MODEL, *weights, "--vector-block", "5"]),
            (1, "no-such-compiler", [MODEL, *weights, "--cc", "no-such-compiler"]),
            (1, "failed with status 1", [MODEL, *weights, "--cc", "false"]),
        ]:
            with self.subTest(words):
                if words == "weights":
                    words = "bad.caffemodel"
                quiet = ["-q"] if status == 1 else []  # no progress is told of a model that is refused
                self.assert_fails(status, words, "compile", *quiet, *arguments, "-o", net)
                self.assertFalse(net.exists())
        self.assert_fails(3, "no/net.so", "compile", MODEL, *weights, "-q", "-o", self.folder / "no/net.so")
        self.assert_fails(3, "folder", "compile", MODEL, *weights, "-q", "-o", self.folder)

    def test_what_the_compiler_says(self):
        """The line that tells why, behind however many warnings; a linker's own, not gcc's about it; the last one; none."""
        rows = [("yes 'x.c:1:1: warning: once more' | head -80000; echo 'x.c:2:1: error: this one'", "x.c:2:1: error: this one"),
                ("echo 'ld: a.o: relocation truncated'; echo 'collect2: error: ld returned 1 exit status'", "ld: a.o: relocation truncated"),
                ("echo; echo 'cc1: out of memory'", "cc1: out of memory"), (":", "failed with status 1 and said nothing")]
        for says, words in rows:
            with self.subTest(words):
                compiler = self.write("cc.sh", f"#!/bin/sh\n{{ {says}; }} >&2\nexit 1\n")
                compiler.chmod(0o755)
                self.assert_fails(1, words, "compile", MODEL, "-w", "init:1", "-q", "--effort", "estimate", "--cc", compiler, "-o",
                                  self.folder / "net.so")

    def test_more_memory_than_there_is(self):
        """Refused before the C compiler is called, with the bytes that it needs."""
        started, net = self.folder / "started", self.folder / "net.so"
        compiler = self.write("cc.sh", f"#!/bin/sh\ntouch {started}\nexec false\n")
        compiler.chmod(0o755)
        arguments = ["compile", MODEL, "-w", "init:1", "--cc", compiler, "-o", net, "--input"]
        gibibyte = 1 << 30
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (gibibyte, gibibyte))
        result = pznet(*arguments, "data=1x1x400x400x400", preexec_fn=limit)
        self.assertEqual((result.returncode, result.stdout), (3, ""), result.stderr)
        self.assertRegex(result.stderr, r"^pznet: .*tiny.prototxt: running the network needs \d+ bytes .*\n$")
        found = [int(n) for n in re.findall(r"(\d{6,})", result.stderr)]
        self.assertGreater(found[0], gibibyte)
        self.assertGreaterEqual(found[0], (1 + 2) * 4 * 400**3)  # its input and output alone
        self.assertLess(found[-1], gibibyte)  # what is there: the process has some of it already
        self.assertIn("ulimit -v) of 1 GiB", result.stderr)
        self.assert_fails(3, "bytes of memory", *arguments, "data=1x1x4000x4000x4000")
        self.assertFalse(started.exists())
        self.assert_fails(1, "failed with status 1", *arguments, "data=1x1x8x8x8", "-q")
        self.assertTrue(started.exists())
        self.assertFalse(net.exists())

    def test_notes(self):
        """What an output cannot hold of the voxel size is said once, and not with -q."""
        header = bytearray(352)
        struct.pack_into("<i", header, 0, 348)
        struct.pack_into("<8h", header, 40, 3, 14, 12, 4, 1, 1, 1, 1)
        struct.pack_into("<2h", header, 70, 16, 32)
        struct.pack_into("<4f", header, 76, 1, 0.5, 0.5, 2)
        struct.pack_into("<f", header, 108, 352)
        header[123], header[344:348] = 3, b"n+1\0"
        data, out = self.write("in.nii", bytes(header) + bytes(4 * 672)), self.folder / "out.npy"
        words = "pznet: note: .npy holds no voxel size: 2 x 0.5 x 0.5 um is left out of the output\n"
        self.assertEqual(self.assert_works("infer", TINY, data, out, "-q"), "")
        result = pznet("infer", TINY, data, out, "--json", "-")
        self.assertEqual((result.returncode, result.stderr.count("note"), result.stderr.count(words)), (0, 1, 1), result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual([report["input"]["voxel_size"], report["input"]["unit"]], [[2, 0.5, 0.5], "um"])
        self.assertEqual(("voxel_size" in report["output"], len(report["notes"])), (False, 1))

    def test_limits_of_memory_when_inferring(self):
        data, out = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672))), self.folder / "out.npy"
        result = pznet("infer", TINY, data, out, "-q", "--memory", "1M")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        need = int(re.search(r"\((\d+) bytes\)", result.stderr).group(1))
        self.assertFalse(out.exists())
        self.assert_fails(1, "memory", "infer", TINY, data, out, "-q", "--memory", need - 1)
        self.assertEqual(self.assert_works("infer", TINY, data, out, "-q", "--memory", need), "")
        self.assertTrue(out.exists())

    def test_rounding_is_told_once_when_inferring(self):
        values = [(1 << 24) + i for i in range(672)]
        data = self.write("in.npy", npy("(4, 12, 14)", struct.pack("<672i", *values), "<i4"))
        result = pznet("infer", TINY, data, self.folder / "out.npy")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line for line in result.stderr.splitlines() if "warning" in line]
        told = "336 values of i32 not exact in float32, the first at z = 0, y = 0, x = 1: 16777217 becomes 16777216"
        self.assertEqual(lines, [f"pznet: warning: {data}: {told}"])

    def test_axes(self):
        values = [float(i % 97) for i in range(2 * 672)]
        data = self.write("in.npy", npy("(2, 4, 12, 14)", struct.pack("<1344f", *values)))
        out = self.folder / "out.npy"
        words = ["infer", TINY, data, out]
        self.assert_fails(3, "2 channels, the network takes 1", *words, "-q")
        self.assert_fails(3, "2 time points in an array of 2 x 4 x 12 x 14; choose one, as by --at t=0", *words, "-q", "--axes", "tzyx")
        self.assert_fails(2, "--at t=2: there are 2 time points, counted from 0", *words, "-q", "--axes", "tzyx", "--at", "t=2")
        self.assert_fails(2, "--axes zyq: expected y, x and others of t, c, z", *words, "-q", "--axes", "zyq")
        self.assert_works(*words, "-q", "--axes", "tzyx", "--at", "t=1")
        chosen = out.read_bytes()
        self.assert_works(*words, "-q", "--at", "c=1")
        self.assertEqual(out.read_bytes(), chosen)
        result = pznet(*words, "--resume", "--at", "c=0")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the volume's axes was c=1, z, y, x when it was made and is c=0, z, y, x now", result.stderr)

    def test_finished_outputs(self):
        data, out = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672))), self.folder / "out.npy"
        report = self.folder / "r.json"
        words = ["infer", TINY, data, out]
        self.assert_works(*words, "-q", "--resume")
        before = out.stat()
        result = pznet(*words, "--resume", "--json", report)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertEqual(result.stderr, f"{out}: was finished before; nothing was done\n")
        told = json.loads(report.read_text())
        self.assertEqual((told["patches_run"], told["finished_before"], told["patches_resumed"]), (0, True, told["patches"]))
        self.assertEqual((before.st_ino, before.st_mtime_ns), (out.stat().st_ino, out.stat().st_mtime_ns))
        self.assert_fails(3, "is not to be overwritten", *words, "-q", "--no-overwrite")
        self.assert_works(*words, "-q", "--no-overwrite", "--resume")
        result = pznet(*words, "--resume", "--nan", "zero")
        self.assertEqual(result.returncode, 0)
        words = "the treatment of not-a-numbers was error when it was made and is zero now"
        self.assertEqual(result.stderr.splitlines()[0], f"{out}: is made anew: {words}")

    def test_warnings_of_values(self):
        values = struct.pack("<672f", float("nan"), *[5.0] * 671)
        data, out = self.write("in.npy", npy("(4, 12, 14)", values)), self.folder / "out.npy"
        self.assert_fails(3, "not a number at z = 0, y = 0, x = 0", "infer", TINY, data, out, "-q")
        result = pznet("infer", TINY, data, out, "--nan", "propagate", "--dtype", "u8")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"pznet: warning: .*out.npy: \d+ values? not a number or infinite, as --nan propagate lets pass\n")
        self.assertEqual(pznet("infer", TINY, data, out, "-q", "--nan", "propagate", "--dtype", "u8").stderr, "")

    def start_compiler_that_never_ends(self, start):
        """A C compiler that starts another program, which takes no notice of SIGTERM. Its process group, once both run;
        start(words, environment) gives the process."""
        started, temporary = self.folder / "started", self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        compiler = self.write(
            "cc.sh",
            f"""#!/bin/sh
            sh -c 'trap "" TERM INT HUP; echo $$ > {started}.2; exec sleep 60' &
            while [ ! -s {started}.2 ]; do sleep 0.01; done
            echo $$ > {started}.1
            wait
            """,
        )
        compiler.chmod(0o755)
        process = start(
            [PZNET, "compile", MODEL, *ESTIMATE, "-w", "init:1", "--cc", compiler, "-o", self.folder / "net.so"],
            os.environ | {"TMPDIR": str(temporary)},
        )
        files = [pathlib.Path(f"{started}.{i}") for i in (1, 2)]
        end = time.monotonic() + 30
        while not all(f.exists() and f.read_text() for f in files) and time.monotonic() < end:
            time.sleep(0.01)
        children = [int(f.read_text()) for f in files]
        for f in files:
            f.unlink()
        return process, children

    def assert_nothing_left(self, children):
        for again in self.folder.glob("started.*"):  # by a second compiler, that ran beside the first one
            children = children + [int(again.read_text() or 0)]
            again.unlink()
        end = time.monotonic() + 5
        while any(self.runs(child) for child in children) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse([child for child in children if self.runs(child)])
        if list(self.folder.glob("tmp/pznet-work-*")):  # a busy machine: the process ended before its compilers had; the next compile sweeps
            model, net = self.write("quick.prototxt", QUICK), self.folder / "quick.so"
            result = pznet("compile", model, "-q", "-o", net, env=os.environ | {"TMPDIR": str(self.folder / "tmp")})
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            model.unlink(), net.unlink()
        self.assertEqual(sorted(p.name for p in self.folder.rglob("*")), ["cc.sh", "tmp"])

    @staticmethod
    def runs(process):
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_signals(self):
        def start(words, environment):
            return subprocess.Popen(words, start_new_session=True, stderr=subprocess.PIPE, text=True, env=environment)

        def both(process, number):  # as `timeout` does
            os.kill(process, number)
            os.killpg(process, number)

        for send, number in [
            (os.kill, signal.SIGINT),
            (os.killpg, signal.SIGINT),
            (both, signal.SIGTERM),
            (os.kill, signal.SIGTERM),
            (os.kill, signal.SIGHUP),
        ]:
            with self.subTest(number):
                process, children = self.start_compiler_that_never_ends(start)
                begin = time.monotonic()
                send(process.pid, number)
                message = process.communicate(timeout=30)[1]
                self.assertLess(time.monotonic() - begin, 30)
                self.assertEqual(process.returncode, 128 + number, message)
                self.assertIn("pznet: interrupted", message)
                self.assert_nothing_left(children)

    def test_ctrl_c_on_a_terminal(self):
        def start(words, environment):
            process, terminal = pty.fork()
            if process == 0:
                os.execve(PZNET, list(map(str, words)), environment)
            return process, terminal

        (process, terminal), children = self.start_compiler_that_never_ends(start)
        os.write(terminal, b"\x03")
        text = b""
        try:
            while part := os.read(terminal, 4096):
                text += part
        except OSError:  # the other side is closed
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 130, text)
        self.assertIn(b"pznet: interrupted", text)
        os.close(terminal)
        self.assert_nothing_left(children)


class Inspect(Case):
    def test_a_model(self):
        table = self.assert_works("inspect", MODEL, "-w", "init:1")
        for words in "as imported: ", "passes:", "fuse-activation 2", "after the passes: ", "plan: ", "1x5x4x12x14":
            self.assertIn(words, table)
        report = json.loads(self.assert_works("inspect", MODEL, "-w", "init:1", "--json"))
        self.assertEqual(sum(layer["multiply_adds"] for layer in report["before"]), (27 * 5 + 5 * 2) * 4 * 12 * 14)
        self.assertLess(len(report["after"]), len(report["before"]))

    def test_text_forms(self):
        for form in "text", "text-before":
            out = self.assert_works("inspect", MODEL, "-w", "init:1", "--format", form)
            self.assertIn("conv", out)
        for form in "dot", "dot-before":
            out = self.assert_works("inspect", MODEL, "-w", "init:1", "--format", form)
            self.assertTrue(out.startswith("digraph"))
            if shutil.which("dot"):
                drawn = subprocess.run(["dot", "-Tsvg"], input=out, capture_output=True, text=True)
                self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
                self.assertIn("</svg>", drawn.stdout)

    def test_a_network_file(self):
        table = self.assert_works("inspect", TINY)
        for words in "input", "data 1x1x4x12x14", "prob 1x2x4x12x14", "SHA-256":
            self.assertIn(words, table)
        self.assertEqual(json.loads(self.assert_works("inspect", TINY, "--json"))["abi_version"], 2)

    def test_what_is_refused(self):
        self.assert_fails(2, "--format svg", "inspect", MODEL, "--format", "svg")
        self.assert_fails(2, "--format dot", "inspect", TINY, "--format", "dot")
        self.assert_fails(3, "none", "inspect", self.folder / "none")
        self.assert_fails(3, "cut.so", "inspect", self.write("cut.so", TINY.read_bytes()[:1000]))


class Run(Case):
    def test_the_same_bits_for_any_number_of_threads(self):
        values = struct.pack("<672f", *(((7 * i) % 31 - 15) / 8 for i in range(672)))
        data, results = self.write("in.npy", npy("(4, 12, 14)", values)), []
        for threads in 1, 2, 3:
            out = self.folder / f"out{threads}.npy"
            self.assertEqual(self.assert_works("run", TINY, data, "-o", out, "-t", threads), "")
            results.append(out.read_bytes())
        self.assertEqual(results, results[:1] * 3)
        self.assertIn(b"'shape': (1, 2, 4, 12, 14)", results[0])
        self.assertEqual(len(floats(out)), 2 * 672)
        self.assertTrue(all(0 < v < 1 for v in floats(out)))
        self.assertGreater(len(set(floats(out))), 100)

    def test_inputs_of_any_type(self):
        values = [i * 5 % 7 % 2 for i in range(672)]
        out, wanted = self.folder / "out.npy", self.folder / "wanted.npy"
        self.assert_works("run", TINY, self.write("in.npy", npy("(4, 12, 14)", struct.pack("<672f", *values))), "-o", wanted)
        for descr, code in [("<f2", "e"), (">f8", "d"), ("|i1", "b"), ("|u1", "B"), ("|b1", "?"), (">i2", "h"), ("<u2", "H"),
                            ("<i4", "i"), (">u4", "I"), (">i8", "q"), ("<u8", "Q")]:
            with self.subTest(descr):
                order = descr[0].replace("|", "<")
                data = self.write("in.npy", npy("(4, 12, 14)", struct.pack(f"{order}672{code}", *values), descr))
                self.assertEqual(self.assert_works("run", TINY, data, "-o", out), "")
                self.assertEqual(out.read_bytes(), wanted.read_bytes())
        self.assert_fails(3, "dtype '<c8'; expected bool, integers", "run", TINY, self.write("in.npy", npy("(4, 12, 14)", bytes(8 * 672), "<c8")), "-o", out)

    def test_what_is_refused(self):
        good, out = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672))), self.folder / "out.npy"
        swapped = self.write("swapped.npy", npy("(14, 12, 4)", bytes(4 * 672)))
        self.assert_fails(3, '"data" is 1x1x4x12x14', "run", TINY, swapped, "-o", out)
        self.assert_fails(3, "none.npy", "run", TINY, self.folder / "none.npy", "-o", out)
        self.assert_fails(3, "in.npy", "run", good, good, "-o", out)
        self.assert_fails(2, "expected 1 and 1", "run", TINY, good, good, "-o", out)
        self.assert_fails(3, "no/out.npy", "run", TINY, good, "-o", self.folder / "no/out.npy")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["in.npy", "swapped.npy"])

    def changed(self, pattern, replace):
        """The network file with its manifest changed, to the same length."""
        data = TINY.read_bytes()
        found = re.search(pattern, data)
        new = replace(found.group(1))
        self.assertEqual(len(new), len(found.group(1)))
        return self.write("changed.so", data[: found.start(1)] + new + data[found.end(1) :])

    def test_networks_for_other_machines(self):
        good, out = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672))), self.folder / "out.npy"
        other = self.changed(rb'"isa": *"([^"]*)"', lambda isa: b"mmx512"[: len(isa)])
        for arguments in ["run", other, good, "-o", out], ["bench", other], ["verify", other]:
            self.assert_fails(3, "'mmx", *arguments)
        other = self.changed(rb'"abi_version": *(\d)', lambda version: b"7")
        self.assert_fails(3, "7", "run", other, good, "-o", out)
        self.assertFalse(out.exists())
        if "avx512f" not in CPU:
            net = self.folder / "avx512.so"
            self.assert_works("compile", self.write("q.prototxt", QUICK), "-q", "--isa", "avx512", "-o", net)
            self.assert_fails(3, "compile it again with --isa", "run", net, good, "-o", out)
            self.assert_works("compile", self.write("q.prototxt", QUICK), "-q", "--target", "zen4", "-o", net)
            self.assert_fails(3, "was compiled for AVX-512, this machine has ", "run", net, good, "-o", out)


def without_tiles():
    """From here on Linux refuses AMX to this process: a filter (BPF) answers EPERM to arch_prctl(ARCH_REQ_XCOMP_PERM, ...)."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    allow, refuse, x86_64_arch_prctl = 0x7FFF0000, 0x00050001, 158
    rows = [(0x20, 0, 0, 0), (0x15, 0, 3, x86_64_arch_prctl), (0x20, 0, 0, 16), (0x15, 0, 1, 0x1023)]
    rows += [(0x06, 0, 0, refuse), (0x06, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code))
    if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program, 0, 0):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "prctl")


@unittest.skipUnless(AMX_COMPILER, "the C compiler does not know AMX")
class Tiles(Case):
    """Networks for AMX, where there is AMX and where there is none."""

    def setUp(self):
        super().setUp()
        self.net, self.input = self.folder / "amx.so", self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672)))

    def compile(self, isa, **options):
        words = ["compile", MODEL, "-w", "init:1", "-q", "--json", "--cc", CC, "--isa", isa, "-o", self.net]
        return json.loads(self.assert_works(*words, **options))["isa"]

    def plain(self, **options):
        program = self.folder / "plain"
        subprocess.run([CC, "-I", ROOT / "include", ROOT / "examples/plain_dlopen.c", "-o", program, "-ldl"], check=True)
        return subprocess.run([program, self.net], capture_output=True, text=True, **options)

    def assert_refused(self, **options):
        out = self.folder / "out.npy"
        for arguments in ["run", self.net, self.input, "-o", out], ["verify", self.net]:
            self.assert_fails(3, "was compiled for AMX, this machine has ", *arguments, **options)
        self.assertFalse(out.exists())

    def test_a_network_for_amx(self):
        self.assertEqual(self.compile("amx"), "amx")
        if pznet("bench", self.net, "--runs", "1").returncode:
            return self.assert_refused()
        self.assertIn("amx_bf16", CPU)
        self.assert_works("verify", self.net, "--model", MODEL, "-w", "init:1", "-q")
        self.assert_works("run", self.net, self.input, "-o", self.folder / "out.npy")
        first = floats(self.folder / "out.npy")[0]
        self.assertAlmostEqual(float(self.plain().stdout.split()[-1]), first, places=5)

    def test_bf16x2(self):
        """Products of bf16x2, where the error that they have is allowed to all layers together: band by band too."""
        layers = ['input: "data" input_shape { dim: 1 dim: 20 dim: 6 dim: 18 dim: 35 }']
        for i, maps in enumerate([64, 64, 48, 40]):
            layers.append(f'layer {{ name: "c{i}" type: "Convolution" bottom: "{f"c{i - 1}" if i else "data"}" top: "c{i}" '
                          f'convolution_param {{ num_output: {maps} kernel_size: 3 pad: 1 axis: 1 }} }}'
                          f'layer {{ name: "r{i}" type: "ELU" bottom: "c{i}" top: "c{i}" }}')
        model = self.write("net.prototxt", "\n".join(layers).encode())
        native = ["compile", model, "-w", "init:1", "-q", "--cc", CC, "--effort", "estimate", "--json", "-o", self.net]
        words = [*native, "--isa", "amx"]
        self.assert_works(*words, "--max-error", "4e-6")
        self.assertNotIn("bf16x2", self.assert_works("inspect", self.net))
        self.assertNotEqual(json.loads(self.assert_works(*native, "--max-error", "4e-6"))["isa"], "amx",
                            "tiles that are not used are not asked for")
        self.assertNotIn("AMX", self.assert_works("inspect", model, "-w", "init:1", "--max-error", "4e-6"))
        for bands in "auto", "always":
            self.assert_works(*words, "--fuse-rows", bands)
            plan = self.assert_works("inspect", self.net)
            self.assertEqual(plan.count("bf16x2 3x3x3"), 3,
                             "5.8e-6 each, of 48 channels in, which end with a block without a partner, 5.4e-6: 9.8e-6 together")
            self.assertEqual(plan.count("bf16x2 3x3x3, F(2,3) along d"), 2 if level2_kib() == 1024 else 3,
                             "with 1 MiB of level 2 the layer of 64 channels in and out takes another")
            if "amx_bf16" in CPU and not pznet("bench", self.net, "--runs", "1").returncode:
                self.assertEqual(json.loads(self.assert_works(*native, "--fuse-rows", bands))["isa"], "amx")
                self.assert_works("verify", self.net, "--model", model, "-w", "init:1", "-q")

    def test_where_tiles_are_refused(self):
        """As on a machine without AMX; and a plain host of the network file is told by its status."""
        try:
            subprocess.run(["true"], preexec_fn=without_tiles, check=True)
        except subprocess.SubprocessError:
            self.skipTest("no system call can be filtered here")
        self.assertEqual(self.compile("amx", preexec_fn=without_tiles), "amx")
        self.assert_refused(preexec_fn=without_tiles)
        if "avx512f" in CPU:
            result = self.plain(preexec_fn=without_tiles)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertNotEqual(self.compile("native", preexec_fn=without_tiles), "amx")
        self.assert_works("run", self.net, self.input, "-o", self.folder / "out.npy", preexec_fn=without_tiles)

    def test_a_compiler_without_amx(self):
        compiler = self.write("old.sh", f"""#!/bin/sh
case "$*" in *-mamx*) echo "old.sh: error: unrecognized option '-mamx-tile'"; exit 1;; esac
exec {CC} "$@"
""")
        compiler.chmod(0o755)
        words = ["compile", MODEL, "-w", "init:1", "-q", "--cc", compiler, "-o", self.net, "--isa"]
        self.assert_fails(1, "does not know -mamx-tile: compile with --isa avx512, or", *words, "amx")
        self.assertFalse(self.net.exists())
        self.assert_works(*words, "avx512")


class Output(Case):
    """Outputs that cannot be written: one line, status 3, nothing left behind."""

    def setUp(self):
        super().setUp()
        self.input = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672)))
        self.model = self.write("quick.prototxt", QUICK)

    def writers(self, folder):
        """Each verb that writes, with its output in this folder."""
        return [
            ["compile", self.model, "-q", "-o", folder / "net.so"],
            ["run", TINY, self.input, "-o", folder / "out.npy"],
            ["infer", TINY, self.input, folder / "out.npy", "-q"],
            ["infer", TINY, self.input, folder / "out.tif", "-q"],
            ["infer", TINY, self.input, folder / "out.nii.gz", "-q"],
            ["infer", TINY, self.input, folder / "out.h5:/main", "-q"],
        ]

    def test_paths(self):
        taken, missing = self.folder / "taken", self.folder / "missing"
        for name in "net.so", "out.npy", "out.tif", "out.nii.gz", "out.h5":
            (taken / name).mkdir(parents=True)
        cases = [(taken, "folder"), (missing, "No such file"), (pathlib.Path("/proc"), "proc")]
        if os.getuid():
            closed = self.folder / "closed"
            closed.mkdir(mode=0o555)
            cases.append((closed, "Permission denied"))
        for folder, words in cases:
            for arguments in self.writers(folder):
                with self.subTest(arguments):
                    # a C compiler that cannot be started, a network that cannot be run: found before the work
                    work = ["--cc", "no-such-compiler"] if arguments[0] == "compile" else []
                    self.assert_fails(3, words, *arguments, *work)
        self.assertFalse(missing.exists())
        self.assert_fails(3, "regular", "run", TINY, self.input, "-o", "/dev/full")
        report = self.folder / "missing" / "report.json"
        self.assert_fails(3, "report", "infer", TINY, self.input, self.folder / "out.npy", "-q", "--json", report)
        self.assertFalse((self.folder / "out.npy").exists())
        for source in self.model, missing / "source":
            arguments = ["compile", self.model, "-q", "-o", self.folder / "net.so", "--emit-c", source]
            self.assert_fails(3, str(source), *arguments, "--cc", "no-such-compiler")

    def test_immutable_folder(self):
        fixed = self.folder / "fixed"
        fixed.mkdir()
        try:
            subprocess.run(["chattr", "+i", fixed], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("chattr +i is not possible here")
        self.addCleanup(subprocess.run, ["chattr", "-i", fixed])
        for arguments in self.writers(fixed):
            self.assert_fails(3, "fixed", *arguments)

    def test_files_that_cannot_grow(self):
        """As a full disk: writing fails somewhere on the way."""
        temporary, out = self.folder / "tmp", self.folder / "out"
        temporary.mkdir()
        out.mkdir()
        environment = os.environ | {"TMPDIR": str(temporary)}
        for bytes_ in 0, 512, 4096:
            for arguments in self.writers(out):
                with self.subTest(bytes_=bytes_, arguments=arguments):
                    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))
                    self.assert_fails(3, "", *arguments, preexec_fn=limit, env=environment)
                    self.assertEqual(list(temporary.iterdir()), [])
                    self.assertEqual(list(out.iterdir()), [])


class Verify(Case):
    def test_older_names_of_options_stay(self):
        words = ["inspect", MODEL, "-w", "init:1", "--effort", "estimate"]
        self.assertEqual(self.assert_works(*words, "--slabs", "always"), self.assert_works(*words, "--fuse-rows=always"))
        self.assert_fails(2, "--fuse-rows perhaps: expected auto, never or always", *words, "--slabs=perhaps")

    def test_self_test(self):
        self.assertIn("self-test equal, bit by bit", self.assert_works("verify", TINY))
        report = json.loads(self.assert_works("verify", TINY, "--json", "-t", 3))
        self.assertEqual((report["passed"], report["self_test"]), (True, "equal, bit by bit"))
        self.assertEqual(self.assert_works("verify", TINY, "-q"), "")

    def test_every_tensor_beside_the_reference(self):
        report = json.loads(self.assert_works("verify", TINY, "--model", MODEL, "-w", "init:1", "--json"))
        self.assertTrue(report["passed"])
        self.assertGreaterEqual(report["compared"], 2)
        self.assertLessEqual(report["largest_relative_error"], 1e-5)
        self.assertIn("relative error", self.assert_works("verify", TINY, "--model", MODEL, "-w", "init:1"))

    def test_inner_products_are_compared_too(self):
        model = self.write("dense.prototxt", """
            layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 dim: 4 dim: 4 } } }
            layer { name: "a" type: "InnerProduct" bottom: "x" top: "a"
              inner_product_param { num_output: 20 weight_filler { type: "xavier" } } }
            layer { name: "relu" type: "ReLU" bottom: "a" top: "a" }
            layer { name: "b" type: "InnerProduct" bottom: "a" top: "b"
              inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
            layer { name: "prob" type: "Softmax" bottom: "b" top: "prob" }""")
        net = self.folder / "dense.so"
        self.assert_works("compile", model, "-q", "-w", "init:1", "-o", net)
        report = json.loads(self.assert_works("verify", net, "--model", model, "-w", "init:1", "--json"))
        self.assertEqual([row["layer"] for row in report["layers"]], ["a", "b", "prob"])

    def test_types_of_inputs_and_outputs(self):
        """An ONNX model of many types, and a network whose ends are cast, on each instruction set; other weights are found."""
        net, onnx = self.folder / "net.so", ROOT / "tests/import/data/onnx/types.onnx"
        for isa, needs in [("sse4", ""), ("avx2", "avx2"), ("avx512", "avx512bw")]:
            if needs not in CPU:
                continue
            with self.subTest(isa):
                self.assert_works("compile", onnx, "-q", "--effort", "estimate", "--isa", isa, "-o", net)
                self.assertTrue(json.loads(self.assert_works("verify", net, "--model", onnx, "--json"))["passed"])
                types = {port["name"]: port["dtype"] for port in json.loads(self.assert_works("inspect", net, "--format", "json"))["outputs"]}
                self.assertEqual(types, dict(relu4="float16", cast6="float32", cast7="bfloat16", cast8="int8", argmax9="float32", cast11="uint8", bytes="uint8",
                                             cast14="int32", cast16="int32", ints="int32"))
                words = ["--input-type", "u8", "--output-type", "bf16"]
                self.assert_works("compile", MODEL, "-w", "init:1", "-q", "--effort", "estimate", "--isa", isa, "-o", net, *words)
                self.assertTrue(json.loads(self.assert_works("verify", net, "--model", MODEL, "-w", "init:1", "--json"))["passed"])
                self.assertIn("differ from the reference", pznet("verify", net, "--model", MODEL, "-w", "init:2").stderr)

    def test_bytes_are_what_floats_of_their_numbers_are(self):
        values, out = bytes(i * 37 % 256 for i in range(672)), []
        for words, data in [([], npy("(4, 12, 14)", struct.pack("<672f", *values))), (["--input-type", "u8"], npy("(4, 12, 14)", values, "|u1")),
                            (["--input-type", "i32"], npy("(4, 12, 14)", struct.pack("<672i", *values), "<i4"))]:
            net, result = self.folder / "net.so", self.folder / "out.npy"
            self.assert_works("compile", MODEL, "-w", "init:1", "-q", "--precision", "exact", "--effort", "estimate", "-o", net, *words)
            self.assert_works("run", net, self.write("in.npy", data), "-o", result)
            out.append(result.read_bytes())
        self.assertEqual(out, 3 * out[:1])

    def test_other_weights_are_found(self):
        result = pznet("verify", TINY, "--model", MODEL, "-w", "init:2", "--json")
        self.assertEqual((result.returncode, json.loads(result.stdout)["passed"]), (1, False))
        self.assertIn("differ from the reference", result.stderr)

    def test_damaged_weights_are_found(self):
        data, weights = bytearray(TINY.read_bytes()), (NETWORKS / "tiny/weights.bin").read_bytes()
        at = data.find(weights)
        self.assertGreater(at, 0)
        for i in range(0, len(weights), 4):  # the sign of every weight
            data[at + i + 3] ^= 0x80
        self.assert_fails(3, "checksum", "verify", self.write("damaged.so", bytes(data)))
        result = pznet("verify", self.write("sealed.so", sealed(data)))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("differ from the stored self-test", result.stderr)


class Damage(Case):
    def test_the_checksum(self):
        self.assertEqual(sealed(TINY.read_bytes()), TINY.read_bytes())
        manifest = json.loads(pznet("inspect", TINY, "--json").stdout)
        self.assertRegex(manifest["file_checksum"], "^[0-9a-f]{16}$")
        self.assertNotEqual(int(manifest["file_checksum"], 16), 0)

    def test_every_damaged_byte_is_found(self):
        """A byte anywhere, a lost block, a shorter and a longer file: one line, never a crash or other results."""
        data, good, out = TINY.read_bytes(), self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672))), self.folder / "o.npy"
        picks = random.Random(8)
        damaged = []
        for _ in range(200):
            at = picks.randrange(len(data))
            damaged.append(data[:at] + bytes([data[at] ^ 1 << picks.randrange(8)]) + data[at + 1 :])
        for _ in range(10):
            at = picks.randrange(len(data) // 512) * 512
            if any(data[at : at + 512]):
                damaged.append(data[:at] + bytes(512) + data[at + 512 :])
        for size in 0, 1, 4096, len(data) - 1:
            damaged.append(data[:size])
        damaged.append(data + b"\0")
        for content in damaged:
            self.assert_fails(3, "damaged.so: ", "run", self.write("damaged.so", content), good, "-o", out)
            self.assertFalse(out.exists())
        self.assert_fails(3, "is damaged or truncated", "inspect", self.write("damaged.so", data[:3000] + b"?" + data[3001:]))

    def test_large_weights_are_checked_too(self):
        """Weights that are moved to huge pages are read apart from all else."""
        layers = """
            layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 1100 dim: 1 dim: 1 } } }
            layer { name: "a" type: "InnerProduct" bottom: "x" top: "a"
              inner_product_param { num_output: 1100 weight_filler { type: "xavier" } } }"""
        net, volume = self.folder / "large.so", self.write("in.npy", npy("(1100, 1, 1)", bytes(4 * 1100)))
        self.assert_works("compile", self.write("large.prototxt", layers), "-q", "-w", "init:1", "--precision", "exact", "-o", net)
        size, out = net.stat().st_size, self.folder / "out.npy"
        self.assertGreater(size, 4 << 20)
        for at in size // 3, size // 2, size * 3 // 4:
            with open(net, "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 0x10]))
                file.flush()
                self.assert_fails(3, "its bytes do not have its checksum", "run", net, volume, "-o", out)
                file.seek(at)
                file.write(bytes([byte]))
        self.assert_works("run", net, volume, "-o", out)

    def test_a_file_that_changes_while_it_runs(self):
        """Overwritten with other bytes, cut, removed: the run goes on with what it had."""
        net, values = self.folder / "net.so", random.Random(5).randbytes(12 * 120 * 140)
        other = bytes(b ^ 0xFF for b in TINY.read_bytes())
        volume, calm, out = self.write("in.npy", npy("(12, 120, 140)", values, "|u1")), self.folder / "calm.npy", self.folder / "out.npy"
        infer = [volume, "--overlap", "3,10,12", "-q", "-t", 1]
        self.assert_works("infer", TINY, infer[0], calm, *infer[1:])
        for change in lambda: net.write_bytes(other), lambda: net.write_bytes(b""), net.unlink:
            net.write_bytes(TINY.read_bytes())
            run = subprocess.Popen([PZNET, "infer", net, volume, out, *map(str, infer[1:])], stderr=subprocess.PIPE)
            until = time.monotonic() + 30
            while not any(self.folder.glob("out.npy.pznet-job/*")) and time.monotonic() < until:
                time.sleep(0.001)
            self.assertIsNone(run.poll())
            change()
            self.assertEqual((run.communicate(timeout=60)[1], run.returncode), (b"", 0))
            self.assertEqual(out.read_bytes(), calm.read_bytes())
            out.unlink()


class Digest(Case):
    def test_where_it_is_told(self):
        right = hashlib.sha256(TINY.read_bytes()).hexdigest()
        self.assertRegex(self.assert_works("inspect", TINY), f"(?m)^file SHA-256 +{right}$")
        self.assertEqual(json.loads(self.assert_works("inspect", TINY, "--json"))["file_sha256"], right)
        model, net = self.write("q.prototxt", QUICK), self.folder / "q.so"
        out = self.assert_works("compile", model, "-o", net, "--json")
        self.assertEqual(json.loads(out)["file_sha256"], hashlib.sha256(net.read_bytes()).hexdigest())
        out = pznet("compile", model, "-o", net).stdout
        self.assertIn(f"q.so: SHA-256 {hashlib.sha256(net.read_bytes()).hexdigest()}\n", out)

    def test_any_other_file_is_refused(self):
        right = hashlib.sha256(TINY.read_bytes()).hexdigest()
        wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
        data, out = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672))), self.folder / "out.npy"
        quiet = ["--runs", 1, "--warmup", 0]
        for verb, rest in ("run", [data, "-o", out]), ("infer", [data, out, "-q"]), ("verify", ["-q"]), ("bench", quiet):
            with self.subTest(verb=verb):
                self.assert_works(verb, TINY, *rest, "--digest", right)
                out.unlink(missing_ok=True)
                self.assert_works(verb, TINY, *rest, "--digest", right.upper())
                out.unlink(missing_ok=True)
                self.assert_fails(3, f"tiny.so: has the SHA-256 {right}, not {wrong}", verb, TINY, *rest, "--digest", wrong)
                for malformed in "", right[:-1], right + "0", "g" + right[1:], "sha256:" + right:
                    self.assert_fails(2, "expected the 64 digits of a SHA-256", verb, TINY, *rest, "--digest", malformed)
                self.assertFalse(out.exists())

    def test_that_it_is_a_program_is_said(self):
        for words in ["--help"], ["run", "--help"], ["infer", "--help"], ["verify", "--help"], ["bench", "--help"]:
            self.assertIn("A network file is a program: run only one that you trust.\n", self.assert_works(*words))


class Bench(Case):
    def test_report(self):
        report = json.loads(self.assert_works("bench", TINY, "--json", "--runs", 5, "--warmup", 1, "-t", 1))
        self.assertEqual((report["threads"], report["runs"]), (1, 5))
        self.assertLessEqual(report["min_ms"], report["median_ms"])
        self.assertLessEqual(report["median_ms"], report["max_ms"])
        self.assertGreater(report["peak_gflops"], 1)
        self.assertEqual(report["multiply_adds"], (27 * 5 + 5 * 2) * 4 * 12 * 14)
        self.assertAlmostEqual(sum(layer["share"] for layer in report["layers"]), 1, places=5)

    def test_what_the_algorithm_does(self):
        """The manifest tells each step's own multiply-adds, and the report judges by them."""
        plan = json.loads(self.assert_works("inspect", TINY, "--json"))["plan"]
        report = json.loads(self.assert_works("bench", TINY, "--json", "--runs", 3, "--warmup", 1, "-t", 1))
        self.assertEqual([s["layer"] for s in plan], [r["layer"] for r in report["layers"]])
        for step, row in zip(plan, report["layers"]):
            self.assertEqual(step["multiply_adds_done"], row["multiply_adds_done"])
            self.assertEqual(step["multiply_adds"], row["multiply_adds"])
            self.assertEqual(row["multiply_adds_done"] > 0, row["multiply_adds"] > 0)
            rate = 2e-6 * row["multiply_adds_done"] / row["milliseconds"] if row["milliseconds"] else 0
            self.assertAlmostEqual(row["percent_of_algorithm"], 100 * rate / report["peak_gflops"], places=3)

    def test_summary(self):
        out = self.assert_works("bench", TINY, "--runs", 2, "-t", 1)
        self.assertRegex(out, r"^\S*tiny\.so, 1 thread: median [\d.]+ ms")

    def test_layers(self):
        out = self.assert_works("bench", TINY, "--runs", 2, "-t", 1, "--layers")
        self.assertRegex(out, r"(?m)^conv +conv +.* \d+\.\d%( +[\d.]+){3}$")
        self.assertRegex(out, r"(?m)^tiny|/tiny\.so, 1 thread")

    def test_layers_that_only_move_data_have_no_rate(self):
        model, net = self.write("quick.prototxt", QUICK), self.folder / "quick.so"
        self.assert_works("compile", model, "-q", "-o", net)
        out = self.assert_works("bench", net, "--runs", 2, "-t", 1, "--layers")
        self.assertRegex(out, r"(?m)^act +activation .*% +- +- +[\d.]+$")

    def plot(self, net, name):
        out = self.folder / name
        self.assert_works("bench", net, "--runs", 2, "-t", 1, "--plot", out)
        self.assertEqual([p.name for p in self.folder.glob("*.part")], [])
        return out.read_text()

    def test_plots(self):
        names = [r["layer"] for r in json.loads(self.assert_works("inspect", TINY, "--json"))["plan"]]
        svg = xml.dom.minidom.parseString(self.plot(TINY, "profile.svg"))
        rows = [g for g in svg.getElementsByTagName("g") if g.getAttribute("class") == "row"]
        self.assertEqual([g.getElementsByTagName("text")[0].firstChild.data for g in rows], names)
        bars = [float(g.getElementsByTagName("rect")[1].getAttribute("width")) for g in rows]
        self.assertAlmostEqual(max(bars), 560, delta=1)  # the longest fills the axis
        self.assertIn("of what the algorithm reaches at peak", rows[names.index("conv")].toxml())
        page = self.plot(TINY, "profile.HTML")
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertEqual(page.count('class="row"'), len(names))
        self.assertNotRegex(page, r"(src|href)=|@import|url\(")  # self-contained

    def test_names_in_plots_are_escaped(self):
        name = '<script>&\x01\u00e9' + "\u00e9" * 60
        model = self.write("quick.prototxt", QUICK.replace('name: "act"', f'name: "{name}"'))
        net = self.folder / "quick.so"
        self.assert_works("compile", model, "-q", "-o", net)
        svg = xml.dom.minidom.parseString(self.plot(net, "profile.svg"))
        texts = [t.firstChild.data for t in svg.getElementsByTagName("text") if t.firstChild]
        self.assertIn("<script>&\\x01" + "\u00e9" * 22 + "\u2026", texts)

    def test_plots_that_cannot_be(self):
        self.assert_fails(2, "ends with .html or .svg", "bench", TINY, "--plot", "profile.png")
        self.assert_fails(2, "ends with .html or .svg", "bench", TINY, "--plot", ".svg")
        result = pznet("bench", TINY, "--runs", 1, "-t", 1, "--plot", self.folder / "no/profile.svg")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (3, 1))
        self.assertIn("no/profile.svg", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
