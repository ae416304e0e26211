"""pznet tune NET.so, as a user meets it. usage: test_tune_network.py PZNET NETWORKS CC [unittest's arguments]. Standard library only.

Times are real and decide nothing here: what is tested is what is measured, kept, found again and refused."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from case import CC, MODEL, PZNET, Case, TINY, pznet, sealed

NOTHING = ["--tuning", "none"]


class Tune(Case):
    def setUp(self):
        super().setUp()
        self.database = self.folder / "tuning"
        self.network = self.folder / "net.so"

    def compile(self, seed=1, *more, model=MODEL):
        return json.loads(self.assert_works("compile", *more, "--cc", CC, model, "--weights", f"init:{seed}", "--json", "-o", self.network))

    def tune(self, *more, network=None):
        words = ["tune", network or self.network, "--cc", CC, "--database", self.database, *more]
        return pznet(*words)

    def report(self, *more):
        result = self.tune("--json", *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def until_quiet(self):
        """The report of a run that has nothing left to measure; a busy machine has it measure again."""
        for _ in range(20):
            report = self.report()
            if not report["left"]:
                break
        else:
            self.skipTest("this machine is too busy to measure on")
        return self.report()

    def stored(self):
        return json.loads(self.assert_works("tune", "--database", self.database, "--json"))["measurements"]

    def refused(self, status, words, *more, network=None):
        result = self.tune(*more, network=network)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (status, "", 1), result.stderr)
        self.assertIn(words, result.stderr)

    def test_what_it_finds_serves_every_later_compile(self):
        self.compile(1, *NOTHING)
        first = self.report()
        self.assertGreater(first["measured"], 0)
        self.assertLessEqual(first["left"], first["noisy"], "only what the machine disturbed")
        self.assertEqual(len(self.stored()), first["candidates"])
        again = self.until_quiet()
        self.assertEqual(again["problems"], first["problems"])
        # Other weights, and measuring is asked for: everything is there.
        tuning = self.compile(2, "--effort", "measure", "--tuning", self.database)["tuning"]
        self.assertEqual((tuning["problems"], tuning["measured"], tuning["note"]), (first["problems"], 0, ""))

    def test_the_line(self):
        self.compile(1, *NOTHING)
        result = self.tune("-q")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        result = self.tune()
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout.splitlines()[0], r"net\.so: \d+ of \d+ problems measured")
        self.assertIn("faster candidate", result.stdout)

    def test_the_files_options_count(self):
        """What was asked for when compiling decides which candidates there are."""
        self.compile(1, *NOTHING, "--precision", "exact")
        self.tune("-q")
        exact = {m["candidate"] for m in self.stored()}
        self.compile(1, *NOTHING)
        self.tune("-q")
        self.assertLess(exact, {m["candidate"] for m in self.stored()})
        self.compile(1, *NOTHING, "--threads", 1)
        self.assertEqual(self.report()["threads"], 1)
        self.assertEqual(self.report("--threads", 2)["threads"], 2)

    def test_a_budget_that_is_too_short_keeps_what_there_is(self):
        self.compile(1, *NOTHING)
        report = self.report("--budget", 0.001)
        self.assertEqual((report["measured"], report["left"]), (0, report["problems"]))
        self.assertEqual(self.until_quiet()["measured"], 0)

    def test_interrupted(self):
        self.compile(1, *NOTHING)
        words = [PZNET, "tune", self.network, "--cc", CC, "--database", self.database, "--effort", "exhaustive"]
        process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        catches = lambda: int(re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()).group(1), 16)
        while process.poll() is None and not catches() >> (signal.SIGINT - 1) & 1:
            time.sleep(0.005)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=240)
        self.assertIn(process.returncode, (0, 130), errors)
        if process.returncode == 130:
            self.assertIn("interrupted", errors.splitlines()[-1])
        self.assertEqual(self.until_quiet()["measured"], 0)

    def test_two_at_once(self):
        self.compile(1, *NOTHING)
        words = list(map(str, [PZNET, "tune", self.network, "--cc", CC, "--database", self.database, "--json"]))
        both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        for process in both:
            out, errors = process.communicate(timeout=240)
            self.assertEqual((process.returncode, errors), (0, ""))
            self.assertLessEqual(json.loads(out)["left"], json.loads(out)["noisy"])
        self.assertEqual(self.until_quiet()["measured"], 0)

    def test_the_section_is_small_and_has_no_names(self):
        model = self.write("net.prototxt", MODEL.read_text().replace("data", "SECRETNAME").replace('"conv', '"SECRETLAYER'))
        self.compile(1, *NOTHING, model=model)
        text = self.section()
        self.assertLess(len(text), 4096)
        self.assertNotIn(b"SECRET", text)
        network = self.network.read_bytes()
        self.compile(1, *NOTHING, model=model)
        self.assertEqual(network, self.network.read_bytes())

    # ---- refused ----

    def section(self):
        data = self.network.read_bytes()
        begin = data.index(b'{\n "version"')
        return data[begin : data.index(b"\0", begin)]

    def damage(self, old, new):
        """A network file whose section has `new` for `old`, of the same length, with the right checksum."""
        self.assertEqual(len(old), len(new))
        data, text = self.network.read_bytes(), self.section()
        self.assertIn(old, text)
        path = self.folder / "damaged.so"
        path.write_bytes(sealed(data.replace(text, text.replace(old, new, 1))))
        return path

    def test_damaged_and_hostile_sections(self):
        self.compile(1, *NOTHING)
        for old, new, words in [
            (b'"version": 1', b'"version": 2', "another version of pznet"),
            (b'"version": 1', b'"version": {', "it is no JSON"),
            (b'"version": 1', b'"vers\\u00": ', "it is no JSON"),
            (b'"max_error": 0.0', b'"max_error": 9.0', "max_error"),
            (b'"max_error": 0.0', b'"max_error": -.0', "it is no JSON"),
            (b'"threads": 0', b'"threads": "', "it is no JSON"),
            (b'"threads": 0', b'"threads":-1', "threads"),
            (b'"memory": 0', b'"memorx": 0', "memory"),
            (b'"vector_block": 0', b'"vector_block": 7', "--vector-block 7"),
            (b"conv", b"cons", "graph:"),
            (b"%0 ", b"%9 ", "there is no tensor"),
            (b"1x1x4x12x14", b"9x9x9999x99", "graph:"),
            (b"1x1x4x12x14", b"1x1x9x12x14", "graph:"),
            (b"seed 1 scale 0.327", b"seed 1 scale 1e999", "graph:"),
            (b"5x1x3x3x3", b"5x99999x9", "graph:"),
            (b"graph \\\"network", b"grapx \\\"network", "graph:"),
            (b'"layers"', b'"layerz"', "layers"),
        ]:
            with self.subTest(old=old, new=new):
                self.refused(3, words, network=self.damage(old, new))
        self.assertFalse(self.database.exists() and self.stored(), "nothing was measured of these")

    def test_a_flipped_byte(self):
        self.compile(1, *NOTHING)
        data = bytearray(self.network.read_bytes())
        data[data.index(b'{\n "version"') + 40] ^= 1
        self.refused(3, "checksum", network=self.write("flipped.so", bytes(data)))

    def test_what_cannot_be_tuned(self):
        self.compile(1, *NOTHING)
        data = self.network.read_bytes()
        old = self.write("old.so", sealed(data.replace(b".pznet.tuning", b".pznet.tuninq")))
        self.refused(3, "an older pznet made it", network=old)
        self.refused(3, "is no network file", network=MODEL)
        self.refused(3, "none.so", network=self.folder / "none.so")
        self.refused(2, "expected measure or exhaustive", "--effort", "estimate")
        self.refused(2, "expected estimate, measure or exhaustive", "--effort", "much")
        self.refused(2, "--budget x: expected a number of seconds", "--budget", "x")
        self.refused(2, "--budget -1: expected a number of seconds", "--budget", "-1")
        self.refused(1, "--database none", "--database", "none")
        self.refused(2, "go without a network file", "--clear")
        self.assert_fails(2, "name the network file", "tune", "--budget", "3")
        self.compile(1, *NOTHING, "--target", "haswell")
        if self.tune("-q").returncode:
            self.refused(3, "this machine is no haswell, so nothing is measured")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
