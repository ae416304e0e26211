"""pznet tune, as a user meets it. usage: test_tune.py PZNET [unittest's arguments]. Standard library only."""

import hashlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PZNET = os.path.abspath(sys.argv[1])


def line(problem="conv 28x18x192x192 k3x3x3", seconds=0.0125, **more):
    digest = hashlib.sha256(problem.encode()).hexdigest()
    fields = {"problem": problem, "candidate": "direct", "seconds": seconds, "threads": 2, "cpu": "Some CPU, avx2",
              "compiler": "gcc 12", "solvers": "0123456789abcdef", "measured": int(time.time()) - 7300, "hash": digest}
    return json.dumps({**fields, **more}) + "\n"


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.cache = self.folder / "cache"
        self.database = self.cache / "tuning.sqlite"

    def tune(self, *arguments, **variables):
        environment = {**os.environ, "PZNET_CACHE_DIR": str(self.cache), **variables}
        return subprocess.run([PZNET, "tune", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              cwd=self.folder, env=environment, stdin=subprocess.DEVNULL)

    def works(self, *arguments):
        result = self.tune(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def fails(self, status, words, *arguments, **variables):
        result = self.tune(*arguments, **variables)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (status, "", 1), result.stderr)
        self.assertIn(words, result.stderr)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def ours(self):
        """The signature of this pznet's solvers."""
        return json.loads(self.works("--json"))["solvers"]

    def test_fit(self):
        """What cannot be fitted; test_tune_fit.c has what can."""
        for words in (("--clear",), ("--import", "x")):
            self.fails(2, "--fit excludes --import and --clear", "--fit", *words)
        self.fails(2, "--stale goes with --clear or --fit", "--stale")
        self.fails(3, "there is no such tuning database", "--fit", "--database", "nowhere")
        self.fails(3, f"{self.database}: has no measurements of convolutions of this CPU (", "--fit")
        self.works("--import", self.write("other.jsonl", line(solvers=self.ours())))
        self.fails(3, "), but some of Some CPU, avx2", "--fit", "--json")
        self.assertFalse(pathlib.Path(f"{self.database}.costs").exists())

    def test_nothing_yet(self):
        self.assertEqual(self.works(), f"0 measurements in {self.database}\n")
        self.assertEqual(json.loads(self.works("--json"))["measurements"], [])
        self.assertEqual(self.works("--clear"), "0 measurements removed\n")
        self.assertEqual(self.works("--clear", "--stale"), "0 measurements removed\n")
        self.assertEqual(self.works("--export", "lines"), "lines: 0 measurements\n")
        self.assertFalse(self.cache.exists(), "looking makes nothing")
        self.assertEqual(self.works("--import", "lines"), "lines: 0 measurements, 0 new or newer\n")
        self.assertTrue(self.database.exists())
        self.assertEqual(self.cache.stat().st_mode & 0o777, 0o700)

    def test_the_table(self):
        ours = self.ours()
        self.write("lines", line() + line("pool 3", 1e-6, solvers=ours, candidate="Winograd F(4,4,4)"))
        self.assertEqual(self.works("--import", "lines"),
                         "lines: 2 measurements, 2 new or newer; 1 of other solvers than this pznet's, not used\n")
        self.assertEqual(self.works("--import", "lines"),
                         "lines: 2 measurements, 0 new or newer; 1 of other solvers than this pznet's, not used\n")
        head, *rows, empty, last = self.works().splitlines()
        self.assertEqual(head.split(), ["problem", "candidate", "ms", "threads", "CPU", "age"])
        self.assertEqual(rows[0].split("  ")[0], "conv 28x18x192x192 k3x3x3")
        self.assertRegex(rows[0], r" direct +12\.5 +2  Some CPU, avx2  2 h, stale$")
        self.assertRegex(rows[1], r"^pool 3 +Winograd F\(4,4,4\) +0\.001 +2  Some CPU, avx2  2 h$")
        self.assertEqual(len(rows), 2)
        self.assertTrue(last.startswith(f"2 measurements in {self.database}; 1 stale: "))
        report = json.loads(self.works("--json"))
        self.assertEqual(report["database"], str(self.database))
        self.assertEqual([m["stale"] for m in report["measurements"]], [True, False])
        self.assertAlmostEqual(report["measurements"][0]["seconds"], 0.0125)

    def test_moved_to_another_machine(self):
        ours = self.ours()
        self.write("lines", line(solvers=ours) + line("other", solvers=ours))
        self.works("--import", "lines")
        self.assertEqual(self.works("--export", "moved"), "moved: 2 measurements\n")
        self.assertEqual(len((self.folder / "moved").read_text().splitlines()), 2)
        self.assertEqual(self.works("--database", "node", "--import", "moved"),
                         "moved: 2 measurements, 2 new or newer\n")
        here, there = (json.loads(self.works("--json", *w))["measurements"] for w in ([], ["--database", "node"]))
        self.assertEqual(here, there)

    def test_clearing(self):
        self.write("lines", line() + line("other", solvers=self.ours()))
        self.works("--import", "lines")
        self.assertEqual(self.works("--clear", "--stale"), "1 measurement removed\n")
        self.assertEqual([m["problem"] for m in json.loads(self.works("--json"))["measurements"]], ["other"])
        self.assertEqual(self.works("--clear"), "1 measurement removed\n")
        self.assertEqual(self.works(), f"0 measurements in {self.database}\n")

    def test_wrong_usage(self):
        for words in ["--clear", "--json"], ["--export", "a", "--import", "b"], ["--clear", "--import", "b"]:
            self.fails(2, "exclude each other", *words)
        self.fails(2, "--stale goes with --clear", "--stale")
        self.fails(2, "--stale goes with --clear", "--stale", "--export", "x")
        self.fails(2, "one argument too many", "x", "y")
        self.fails(3, "x: cannot be opened", "x")
        self.fails(2, "--database wants a value", "--database")
        self.fails(2, "path is empty", "--database", "")
        self.assertFalse(self.cache.exists())

    def test_bad_files(self):
        self.write("bad", line() + '{"problem": 1}\n')
        self.fails(3, "bad:2:14: the field candidate is missing", "--import", "bad")
        self.assertEqual(self.works(), f"0 measurements in {self.database}\n")
        self.write("bad", line(seconds=-1))
        self.fails(3, "bad:1:65: seconds: expected a number greater than 0", "--import", "bad")
        self.fails(3, "none: cannot be opened", "--import", "none")
        self.fails(3, "none: there is no such tuning database", "--database", "none")
        self.fails(3, "none: there is no such tuning database", "--database", "none", "--clear")
        self.fails(3, "none/lines: ", "--export", "none/lines")
        self.fails(1, "cannot be made", "--import", "bad", PZNET_CACHE_DIR=str(self.folder / "bad/below"))

    def test_a_damaged_database(self):
        self.cache.mkdir()
        self.database.write_bytes(b"not a database, this" * 50)
        for words in [], ["--json"], ["--export", "x"], ["--import", self.write("lines", line())], ["--clear", "--stale"]:
            self.fails(3, "is damaged (file is not a database); run `pznet tune --clear`", *words)
        self.assertEqual(self.works("--clear"), "the damaged database is removed\n")
        self.assertEqual(self.works("--import", "lines").split(",")[0], "lines: 1 measurement")
        mine = self.write("mine.txt", "mine" * 100)
        self.fails(3, "is left as it is", "--clear", "--database", mine)
        self.assertEqual(mine.read_text(), "mine" * 100)
        with sqlite3.connect(self.folder / "other.db") as other:
            other.execute("CREATE TABLE mine (x)")
        other.close()
        self.fails(3, "another program's database", "--clear", "--database", "other.db")
        self.fails(3, "another program's database", "--import", "lines", "--database", "other.db")

    def test_where_it_lies(self):
        home, xdg = self.folder / "home", self.folder / "xdg"
        for variables, expected in [
            ({"PZNET_CACHE_DIR": "", "XDG_CACHE_HOME": str(xdg), "HOME": str(home)}, xdg / "pznet"),
            ({"PZNET_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": str(home)}, home / ".cache/pznet"),
        ]:
            result = self.tune(**variables)
            self.assertEqual((result.returncode, result.stdout), (0, f"0 measurements in {expected / 'tuning.sqlite'}\n"))
            self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
