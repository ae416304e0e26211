#!/usr/bin/env python3
"""What somebody else prepared on a shared disk harms no other file. usage: prepared.py PZNET NETWORK MODEL [unittest's arguments]

Under each name that the command itself makes (the job's folder, its files, the cache, an output) lies something of another kind; a file that
is none of pznet's must keep its bytes, and the command says in one line what is there or does its work. Standard library only.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from faults import npy

PZNET, NETWORK, MODEL = (os.path.abspath(a) for a in sys.argv[1:4])
PRECIOUS = b"years of work"
INSIDE = ["job.db", "job.db-journal", "result.raw", "result.out", "row-0.raw"]


def link(path, victim):
    path.symlink_to(victim)


def other_name(path, victim):
    os.link(victim, path)


def pipe(path, victim):
    os.mkfifo(path)


def folder(path, victim):
    path.mkdir()
    (path / "mine").write_bytes(PRECIOUS)


def sock(path, victim):
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


KINDS = [link, other_name, pipe, folder, sock]


class Prepared(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-prepared-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "in.npy").write_bytes(npy("(9, 30, 33)", bytes(i % 251 for i in range(9 * 30 * 33)), "|u1"))
        self.victim = self.folder / "victim"

    def run_command(self, *words, status=None):
        environment = os.environ | {"PZNET_CACHE_DIR": str(self.folder / "cache")}
        result = subprocess.run([PZNET, *map(str, words)], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(self.victim.read_bytes(), PRECIOUS)
        if status is not None:
            self.assertEqual((result.returncode, result.stderr.count("\n")), (status, bool(status)), result.stderr)
        return result

    def infer(self, *more, status=None):
        return self.run_command("infer", NETWORK, "in.npy", "out.npy", "-q", "--threads", "1", *more, status=status)

    def again(self):
        for path in self.folder.glob("out*"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        self.victim.unlink(missing_ok=True)
        self.victim.write_bytes(PRECIOUS)

    def test_files_of_a_job(self):
        for name in INSIDE:
            for kind in KINDS:
                for more in [], ["--resume"]:
                    with self.subTest(name=name, kind=kind.__name__, more=more):
                        self.again()
                        job = self.folder / "out.npy.pznet-job"
                        job.mkdir()
                        kind(job / name, self.victim)
                        result = self.infer(*more, status=3)
                        self.assertIn(f"out.npy.pznet-job/{name}: is a", result.stderr)
                        self.assertFalse((self.folder / "out.npy").exists())

    def test_the_folder_of_a_job(self):
        other = self.folder / "other"
        for kind in KINDS[2:3] + KINDS[4:]:
            self.again()
            kind(self.folder / "out.npy.pznet-job", self.victim)
            self.infer(status=3)
        self.again()
        other.mkdir()
        for name in INSIDE:
            (other / name).write_bytes(PRECIOUS)
        for more in [], ["--resume"]:
            self.again()
            (self.folder / "out.npy.pznet-job").symlink_to(other)
            self.assertIn("is a link", self.infer(*more, status=3).stderr)
            self.assertEqual({p.name: p.read_bytes() for p in other.iterdir()}, {name: PRECIOUS for name in INSIDE})

    def test_a_folder_that_others_may_write_to(self):
        self.again()
        job = self.folder / "out.npy.pznet-job"
        job.mkdir()
        job.chmod(0o777)
        self.infer(status=0)
        self.assertFalse(job.exists())

    def test_another_users(self):
        if os.geteuid():
            self.skipTest("only root can make another user's files")
        for what in "job", "file", "link":
            self.again()
            job = self.folder / "out.npy.pznet-job"
            if what == "link":  # to a file that the run would replace
                (self.folder / "out.so").symlink_to(self.victim)
                os.lchown(self.folder / "out.so", 65534, 65534)
                self.assertIn("another user's link", self.run_command(
                    "compile", MODEL, "--weights", "init:1", "--effort", "estimate", "-q", "-o", "out.so", status=3).stderr)
                continue
            job.mkdir()
            (job / "job.db").write_bytes(b"")
            os.lchown(job if what == "job" else job / "job.db", 65534, 65534)
            for more in [], ["--resume"]:
                self.assertIn("another user's", self.infer(*more, status=3).stderr)

    def test_the_output(self):
        for kind in KINDS:
            with self.subTest(kind=kind.__name__):
                self.again()
                kind(self.folder / "out.npy", self.victim)
                if kind in (link, other_name):
                    self.infer(status=0)  # the name is replaced, and nothing behind it
                    self.assertTrue((self.folder / "out.npy").read_bytes().startswith(b"\x93NUMPY"))
                else:
                    self.infer(status=3)

    def test_what_says_that_it_is_finished(self):
        """Where attributes of files cannot be kept it lies beside the output; what somebody laid there is neither believed nor written through."""
        for name in "out.npy.pznet-finished", "out.npy.pznet-finished.new":
            for kind in KINDS:
                with self.subTest(name=name, kind=kind.__name__):
                    self.again()
                    kind(self.folder / name, self.victim)
                    self.infer("--resume", status=0)
                    whole = (self.folder / "out.npy").read_bytes()
                    self.infer("--resume", status=0)
                    self.assertEqual((self.folder / "out.npy").read_bytes(), whole)

    def test_a_link_to_another_users_hdf5(self):
        """A join replaces what a link leads to: not through another user's link."""
        if os.geteuid():
            self.skipTest("only root can make another user's files")
        self.again()
        self.run_command("infer", NETWORK, "in.npy", "theirs.h5:/first", "-q", status=0)
        before = (self.folder / "theirs.h5").read_bytes()
        (self.folder / "out.h5").symlink_to("theirs.h5")
        os.lchown(self.folder / "out.h5", 65534, 65534)
        self.assertIn("another user's link", self.run_command("infer", NETWORK, "in.npy", "out.h5:/second", "-q", status=3).stderr)
        self.assertEqual((self.folder / "theirs.h5").read_bytes(), before)

    def test_a_folder_behind_a_link(self):
        self.again()
        (self.folder / "real").mkdir(exist_ok=True)
        (self.folder / "out").symlink_to("real")
        self.run_command("infer", NETWORK, "in.npy", "out/out.npy", "-q", "--threads", "1", status=0)
        self.assertEqual([p.name for p in (self.folder / "real").iterdir()], ["out.npy"])

    def test_the_cache(self):
        """A cache that cannot be used is no reason not to compile."""
        (self.folder / "none.jsonl").write_bytes(b"")
        for name in "tuning.sqlite", "tuning.sqlite-journal", "tuning.sqlite-wal":
            for kind in KINDS:
                with self.subTest(name=name, kind=kind.__name__):
                    self.again()
                    (self.folder / "cache").mkdir()
                    if name != "tuning.sqlite":
                        self.run_command("tune", "--import", "none.jsonl", status=0)
                    kind(self.folder / "cache" / name, self.victim)
                    self.assertIn("is a", self.run_command("tune", "--import", "none.jsonl", status=3).stderr)
                    self.assertIn("is a", self.run_command("tune", status=3).stderr)
                    self.run_command("tune", "--clear")
        self.run_command("compile", MODEL, "--weights", "init:1", "-q", "-o", "out.so")
        self.assertTrue((self.folder / "out.so").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
