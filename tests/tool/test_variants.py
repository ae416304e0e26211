"""One network file with several variants, as a user meets it. usage: test_variants.py PZNET NETWORKS CC [unittest's arguments] (case.py)."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from case import AMX_COMPILER, CC, CPU, Case, MODEL, PZNET, floats, npy, pznet, sealed

# Weakest first, as a file has them: target, instruction set, and what /proc/cpuinfo calls its feature.
ALL = [("x86-64-v2", "sse4", "sse4_2"), ("x86-64-v3", "avx2", "avx2"), ("x86-64-v4", "avx512", "avx512f"), ("sapphire-rapids", "amx", "amx_tile")]
TARGETS = [row for row in ALL if row[0] != "sapphire-rapids" or AMX_COMPILER]
HERE = [row for row in TARGETS if row[2] in CPU]
CACHE = {**os.environ, "PZNET_CACHE_DIR": tempfile.mkdtemp(prefix="pznet-test-")}
CACHE.pop("PZNET_TARGET", None)
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="pznet-test-"))
FILE, SOURCE = FOLDER / "all.so", FOLDER / "c"


def compile(output, *options, target):
    words = [PZNET, "compile", MODEL, "--weights", "init:1", "--cc", CC, "--effort", "estimate", "-q", "--target", target, "-o", output, *options]
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=CACHE)
    assert not result.returncode and not result.stderr, result.stderr
    return output


def own(target):
    """The file of this target alone."""
    path = FOLDER / f"{target}.so"
    return path if path.exists() else compile(path, target=target)


def setUpModule():
    # Not in the file's order.
    compile(FILE, "--emit-c", SOURCE, target=",".join(target for target, _, _ in reversed(TARGETS)))


def tearDownModule():
    shutil.rmtree(FOLDER)
    shutil.rmtree(CACHE["PZNET_CACHE_DIR"])


def masked(name):
    return {**CACHE, "PZNET_TARGET": name}


def inspected(path, *options):
    result = pznet("inspect", path, "--json", *options, env=CACHE)
    assert not result.returncode, result.stderr
    return json.loads(result.stdout)


def file_manifest(path):
    """As the file has it."""
    data = path.read_bytes()
    return json.JSONDecoder().raw_decode(data[data.index(b'{\n "file_checksum"') :].decode("latin-1"))[0]


class Variants(Case):
    def results(self, network, environment, *options):
        values = struct.pack("<672f", *(((7 * i) % 31 - 15) / 8 for i in range(672)))
        data, out = self.write("in.npy", npy("(4, 12, 14)", values)), self.folder / "out.npy"
        self.assertEqual(self.assert_works("run", network, data, "-o", out, *options, env=environment), "")
        self.assertGreater(len(set(floats(out))), 100)
        return out.read_bytes()

    def test_each_gives_the_bits_of_its_own_file(self):
        for target, isa, _ in HERE:
            with self.subTest(target):
                wanted = self.results(own(target), CACHE)
                self.assertEqual(self.results(FILE, masked(isa)), wanted)
                self.assertEqual(self.results(FILE, masked(target)), wanted)
                self.assertEqual(self.results(FILE, CACHE, "--target", target), wanted)
        self.assertEqual(self.results(FILE, CACHE), self.results(own(HERE[-1][0]), CACHE))

    def test_each_has_the_plan_and_the_self_test_of_its_own_file(self):
        for target, isa, feature in TARGETS:
            with self.subTest(target):
                one, alone = inspected(FILE, "--target", target), inspected(own(target))
                rows, index = one.pop("variants"), one.pop("variant")
                self.assertEqual((rows[index]["target"], rows[index]["isa"]), (target, alone["isa"]))
                for manifest in one, alone:
                    del manifest["file_checksum"], manifest["file_sha256"]
                self.assertEqual(one, alone)
                self.assertEqual(one["self_test"] is not None, feature in CPU)

    def test_the_manifest_lists_them(self):
        manifest = file_manifest(FILE)
        rows = manifest["variants"]
        self.assertEqual([row["target"] for row in rows], [target for target, _, _ in TARGETS])
        self.assertEqual([row["symbol"] for row in rows], ["pz_network", "pz_network_1", "pz_network_2", "pz_network_3"][: len(rows)])
        self.assertEqual((manifest["target"], manifest["isa"], manifest["abi_version"]), ("x86-64-v2", "sse4", 2))
        for row in rows:
            alone = inspected(own(row["target"]))
            for key in "isa", "core", "weights_bytes", "arena_bytes", "worker_bytes", "state_bytes", "vector_block":
                self.assertEqual(row[key], alone[key])
        shown = pznet("inspect", FILE, env=CACHE).stdout
        for target, _, feature in TARGETS:
            self.assertRegex(shown, rf"\n {{15}}[ *] {target} .* {'yes' if feature in CPU else 'no'}\n")
        self.assertEqual(shown.count("\n               * "), 1)

    def test_weights_that_are_packed_alike_are_there_once(self):
        rows, weights = file_manifest(FILE)["variants"], (SOURCE / "weights.bin").stat().st_size
        self.assertEqual(sum(row["weights_bytes"] - row["weights_shared_bytes"] for row in rows), weights)
        self.assertGreater(sum(row["weights_shared_bytes"] for row in rows), 0)
        for row in rows:
            self.assertEqual(row["weights"], sorted(row["weights"]))
            self.assertTrue(all(0 <= begin < end <= weights for begin, end in row["weights"]))
        # Two cores of one instruction set: all of the second's, but for what its plan has otherwise.
        twice = compile(self.folder / "twice.so", "--emit-c", self.folder / "c", target="zen2,zen3")
        rows = file_manifest(twice)["variants"]
        self.assertEqual(rows[1]["weights_shared_bytes"], rows[1]["weights_bytes"])
        self.assertEqual((self.folder / "c/weights.bin").read_bytes(), (self.folder / "c/weights.bin").read_bytes()[: rows[0]["weights_bytes"]])
        self.assertLess(twice.stat().st_size, 1.5 * compile(self.folder / "zen2.so", target="zen2").stat().st_size)

    def test_the_file_is_smaller_than_all_of_them(self):
        shared = sum(row["weights_shared_bytes"] for row in file_manifest(FILE)["variants"])
        self.assertLessEqual(FILE.stat().st_size, sum(own(target).stat().st_size for target, _, _ in TARGETS) - shared)

    def test_the_same_bytes_again(self):
        """File and generated C, made in other folders and from kernels that were kept."""
        again, source = self.folder / "again.so", self.folder / "c"
        compile(again, "--emit-c", source, target=",".join(target for target, _, _ in TARGETS))
        self.assertEqual(again.read_bytes(), FILE.read_bytes())
        names = sorted(p.relative_to(SOURCE) for p in SOURCE.rglob("*") if p.is_file())
        self.assertEqual(names, sorted(p.relative_to(source) for p in source.rglob("*") if p.is_file()))
        for name in names:
            self.assertEqual((source / name).read_bytes(), (SOURCE / name).read_bytes(), name)
        for target, _, _ in TARGETS:
            self.assertIn(pathlib.Path(target) / "network.c", names)

    def test_code_of_others_is_reached_by_their_entries_alone(self):
        """No constructor, no resolver of symbols and nothing but the entries is exported."""
        symbols = subprocess.run(["nm", "-D", "--defined-only", FILE], capture_output=True, text=True).stdout
        self.assertEqual([line.split()[2] for line in symbols.splitlines()], ["pz_network", "pz_network_1", "pz_network_2", "pz_network_3"][: len(TARGETS)])
        everything = subprocess.run(["readelf", "--wide", "--relocs", "--syms", "--sections", FILE], capture_output=True, text=True).stdout
        self.assertNotRegex(everything, r"IFUNC|IRELATIV|\.ctors|\.preinit_array")
        # The C library's own, which calls nothing of ours.
        self.assertEqual(len(re.findall(r"\.init_array +INIT_ARRAY +\w+ \w+ 000008 ", everything)), 1)

    def test_all_that_can_be_run_are_verified(self):
        lines = self.assert_works("verify", FILE, env=CACHE).splitlines()
        self.assertEqual([sum("equal, bit by bit" in line for line in lines), len(lines)], [len(HERE), len(TARGETS)])
        report = json.loads(self.assert_works("verify", FILE, "--json", "--model", MODEL, "--weights", "init:1", env=CACHE))
        told = [report, *report["variants"]]
        self.assertEqual(sorted(row["target"] for row in told), sorted(target for target, _, _ in TARGETS))
        self.assertEqual(report["target"], HERE[-1][0])
        for row in told:
            runs = row["target"] in [target for target, _, _ in HERE]
            self.assertEqual(("layers" in row, row.get("passed")), (runs, True if runs else None))
        self.assertEqual(len(self.assert_works("verify", FILE, "--target", "x86-64-v2", env=CACHE).splitlines()), 1)
        self.assertEqual(len(self.assert_works("verify", FILE, env=masked("sse4")).splitlines()), 1)

    def test_a_variant_whose_results_differ_is_named(self):
        data = FILE.read_bytes()
        # The self-test of the weakest, which is not the one that is open.
        if len(HERE) < 2:
            self.skipTest("this machine runs one variant")
        found = re.search(rb'"sha256": "([0-9a-f]{8})', data)
        samples = data.index(b'"samples": [\n', found.end())
        number = re.compile(rb"\d\.\d{6}").search(data, samples)
        data = data[: found.start(1)] + b"00000000" + data[found.end(1) :]
        data = data[: number.start()] + b"9.000000" + data[number.end() :]
        damaged = self.write("damaged.so", sealed(data))
        result = pznet("verify", damaged, env=CACHE)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, f"pznet: {damaged} (x86-64-v2): its results differ from the stored self-test; compile it again\n")
        self.assertIn("equal, bit by bit", result.stdout)
        self.assert_works("verify", damaged, "--target", HERE[-1][0], env=CACHE)

    def test_infer_and_bench_take_it(self):
        data = self.write("in.npy", npy("(4, 12, 14)", struct.pack("<672f", *(i % 13 / 13 for i in range(672)))))
        for target, isa, _ in HERE:
            outputs = []
            for network, environment in (FILE, masked(isa)), (own(target), CACHE):
                outputs.append(self.folder / f"{network.stem}.npy")
                self.assertEqual(self.assert_works("infer", network, data, outputs[-1], "-q", env=environment), "")
            self.assertEqual(outputs[0].read_bytes(), outputs[1].read_bytes())
        report = json.loads(self.assert_works("bench", FILE, "--runs", "2", "--warmup", "0", "--json", "--target", "x86-64-v2", env=CACHE))
        self.assertEqual([row["algorithm"] for row in report["layers"]], [row["algorithm"] for row in inspected(own("x86-64-v2"))["plan"]])

    def test_a_page_of_one_of_them(self):
        page = self.folder / "page.html"
        self.assert_works("inspect", FILE, "--html", page, "--runs", "1", "--target", "x86-64-v2", env=CACHE)
        self.assertIn("sse4", page.read_text())

    def test_tuning_takes_one_of_them(self):
        tune = ["--budget", "0.01", "--database", self.folder / "db", "--json"]
        for target, _, _ in HERE:
            result = pznet("tune", FILE, *tune, "--target", target, env=CACHE)
            self.assertEqual(result.returncode, 0, result.stderr)
            alone = pznet("tune", own(target), *tune, env=CACHE)
            keys = "problems", "layers", "threads"
            self.assertEqual([json.loads(result.stdout)[k] for k in keys], [json.loads(alone.stdout)[k] for k in keys])
        for target, _, feature in TARGETS:
            if feature not in CPU:
                self.assert_fails(3, "this machine cannot run", "tune", FILE, *tune, "--target", target, env=CACHE)
        self.assert_fails(3, "has no variant for 'zen9', which --target names", "tune", FILE, *tune, "--target", "zen9", env=CACHE)

    def test_what_names_nothing_is_refused(self):
        has = ", ".join(f"{target} ({isa})" for target, isa, _ in TARGETS)
        words = f"has no variant for 'zen9', which PZNET_TARGET names: it has {has}; an instruction set may be named too"
        data, out = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672))), self.folder / "out.npy"
        for arguments in ["run", FILE, data, "-o", out], ["infer", FILE, data, out], ["verify", FILE], ["bench", FILE], ["inspect", FILE]:
            self.assert_fails(3, words, *arguments, env=masked("zen9"))
        self.assert_fails(3, "has no variant for 'x86-64-v3'", "verify", own("x86-64-v2"), env=masked("x86-64-v3"))
        strong = compile(self.folder / "strong.so", target="zen4,x86-64-v3")
        self.assert_fails(3, "has no variant that SSE4.2 alone suffices for, as PZNET_TARGET sse4 asks: it has x86-64-v3 (avx2), zen4 (avx512)", "verify", strong, env=masked("sse4"))
        self.assertFalse(out.exists())

    def test_a_file_without_a_variant_for_the_machine(self):
        if "avx512f" in CPU:
            self.skipTest("this machine runs them")
        file = compile(self.folder / "far.so", target="zen5,zen4")
        self.assert_fails(3, "has variants for zen5 (avx512), zen4 (avx512), this machine has ", "verify", file, env=CACHE)
        self.assert_fails(3, f"compile it again with --isa {HERE[-1][1]}, or with --isa all", "verify", file, env=CACHE)
        self.assertIn("zen5", pznet("inspect", file, env=CACHE).stdout)

    def test_damaged_rows_are_refused(self):
        data = FILE.read_bytes()
        for found, instead, words in [
            (b'"symbol": "pz_network_1"', b'"symbol": "pz_network_3"', "a symbol that is not the row's"),
            (b'"target": "x86-64-v3"', b'"target": "x86-64-v2"', "two of one target"),
            (b'"weights": [', b'"w8ights": [', "a row without its weights"),
            (b'"variants": [', b'"variants": 7,"x": [', None),
        ]:
            with self.subTest(words):
                at = data.index(found, data.index(b'"variants": ['))
                changed = data[:at] + instead + data[at + len(found) + max(0, len(instead) - len(found)) :]
                path = self.write("changed.so", sealed(changed))
                self.assert_fails(3, words or "manifest: ", "verify", path, env=masked("sse4"))

    def test_options_that_are_wrong(self):
        out = self.folder / "x.so"

        def refused(words, *options):
            self.assert_fails(2, words, "compile", MODEL, "--weights", "init:1", "-o", out, *options, env=CACHE)

        refused("--target zen3,zen9: 'zen9' is not one of native, x86-64-v2, x86-64-v3,", "--target", "zen3,zen9")
        refused("--target zen3,zen4,zen3: zen3 is named twice", "--target", "zen3,zen4,zen3")
        refused("--target zen3,: a name is missing beside a comma", "--target", "zen3,")
        refused("--isa all and --target zen3 exclude each other", "--isa", "all", "--target", "zen3")
        refused("--isa avx2 and --target zen3,zen4 exclude each other", "--isa", "avx2", "--target", "zen3,zen4")
        refused("--vector-block 16: AVX2 has vectors of 8 floats", "--vector-block", "16", "--target", "zen4,zen3")
        for option in ["--target", "zen3,zen4"], ["--isa", "all"]:
            self.assert_fails(2, "a plan is of one: name it", "inspect", MODEL, "--weights", "init:1", *option, env=CACHE)
        self.assert_fails(1, "no-such-cc: cannot run this C compiler", "compile", MODEL, "--weights", "init:1", "-o", out, "--target", "zen3,x86-64-v2", "--cc", "no-such-cc", "-q", env=CACHE)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_all_instruction_sets(self):
        if not AMX_COMPILER:
            self.skipTest("the compiler does not know AMX")
        output = self.folder / "isa.so"
        told = pznet("compile", MODEL, "--weights", "init:1", "--cc", CC, "--isa", "all", "-o", output, "--progress", "json", env=CACHE)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(output.read_bytes(), FILE.read_bytes())
        for target, isa, _ in TARGETS:
            self.assertRegex(told.stdout, rf"\n  {target} \({isa}\): .* of weights, .* of memory a run\n")
        progress = [json.loads(line) for line in told.stderr.splitlines()]
        self.assertEqual([row["done"] for row in progress], sorted(row["done"] for row in progress))
        self.assertEqual((progress[-1]["what"], progress[-1]["done"]), ("done", progress[-1]["total"]))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
