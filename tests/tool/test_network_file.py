"""The command, as a user meets it who has a network file. usage: test_network_file.py PZNET NETWORKS CC [unittest's arguments] (case.py)."""

import hashlib
import json
import random
import re
import struct
import subprocess
import sys
import time
import unittest
import xml.dom.minidom

from case import CPU, Case, MODEL, NETWORKS, PZNET, QUICK, ROOT, TINY, floats, npy, pznet, sealed


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


class Infer(Case):
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
            until = time.monotonic() + 120
            while not any(self.folder.glob("out.npy.pznet-job/*")) and time.monotonic() < until:
                time.sleep(0.001)
            self.assertIsNone(run.poll())
            change()
            self.assertEqual((run.communicate(timeout=240)[1], run.returncode), (b"", 0))
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
