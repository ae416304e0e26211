"""What compile, tune and infer tell of their progress. usage: test_progress.py PZNET NETWORKS CC [unittest's arguments]. Standard library only.

How true the times are is not tested here, where other tests run beside it: bench/progress_left.py tells."""

import array
import json
import sys
import unittest

from case import CC, MODEL, TINY, Case, npy, pznet


class Progress(Case):
    def lines(self, *words):
        result = pznet(*words, "-q", "--progress", "json")
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        lines = [json.loads(line) for line in result.stderr.splitlines()]
        for line in lines:
            self.assertEqual(list(line), ["what", "done", "total", "seconds", "left"])
            self.assertTrue(line["left"] is None or line["left"] >= 0, line)
        seconds = [line["seconds"] for line in lines]
        self.assertEqual(seconds, sorted(seconds))
        return lines

    def volume(self):
        shape = (9, 30, 31)
        values = array.array("f", [i % 17 / 17 for i in range(shape[0] * shape[1] * shape[2])])
        return self.write("volume.npy", npy(shape, values.tobytes()))

    def test_compile(self):
        lines = self.lines("compile", MODEL, "-w", "init:1", "--cc", CC, "--cache", "none", "-o", self.folder / "net.so")
        self.assertEqual(lines[-1]["done"], lines[-1]["total"])
        self.assertEqual(lines[-1]["left"], 0)
        done = [line["done"] for line in lines]
        self.assertEqual(done, sorted(done), "parts come one after the other")
        for line in lines:
            told = line["left"] or 0
            self.assertGreaterEqual(line["seconds"] + 0.01, 0.09 * (line["seconds"] + told), "not before a tenth")

    def test_infer(self):
        lines = self.lines("infer", TINY, self.volume(), self.folder / "out.tif", "--normalize", "zscore")
        self.assertEqual(lines[-1]["done"], lines[-1]["total"])
        self.assertEqual({line["what"] for line in lines} - {"mean and deviation", "patches", "writing"}, set())

    def test_tune(self):
        self.lines("compile", MODEL, "-w", "init:1", "--cc", CC, "--tuning", "none", "-o", self.folder / "net.so")
        lines = self.lines("tune", self.folder / "net.so", "--cc", CC, "--database", self.folder / "tuning")
        self.assertTrue(lines)
        self.assertTrue(all(line["what"].startswith("measuring ") for line in lines), lines)

    def test_a_bar_has_one_time_for_all(self):
        result = pznet("compile", MODEL, "-w", "init:1", "--cc", CC, "-o", self.folder / "net.so")
        self.assertRegex(result.stderr.splitlines()[-1], r"^\[#{24}\]  \d+:\d\d  done$")
        result = pznet("infer", TINY, self.volume(), self.folder / "out.npy")
        self.assertRegex(result.stderr, r"(?m)^\[[#.]{24}\] \d+/\d+ patches")

    def test_refused(self):
        for words in ["compile", MODEL, "-o", "x.so"], ["infer", TINY, "a", "b"], ["tune", TINY]:
            self.assert_fails(2, "--progress tune: expected bar or json", *words, "--progress", "tune")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
