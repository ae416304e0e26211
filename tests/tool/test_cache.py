"""Compiled kernels that are kept, as a user meets them. usage: test_cache.py PZNET NETWORK.prototxt [unittest's arguments]. Standard library only."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PZNET, NETWORK = map(os.path.abspath, sys.argv[1:3])


class Cache(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.cache = self.folder / "cache"
        self.objects = self.cache / "objects"

    def pznet(self, *arguments, **variables):
        environment = {**os.environ, "PZNET_CACHE_DIR": str(self.cache), **variables}
        return subprocess.run([PZNET, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              cwd=self.folder, env=environment, stdin=subprocess.DEVNULL)

    def arguments(self, name, seed, *more):
        return ["compile", NETWORK, "--weights", f"init:{seed}", "--effort", "estimate", "-o", name, *more]

    def compile(self, name="net.so", seed=1, *more, **variables):
        """What the summary says of kernels."""
        result = self.pznet(*self.arguments(name, seed, *more), "--json", **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)["kernels"]

    def verify(self, name, seed):
        result = self.pznet("verify", name, "--model", NETWORK, "--weights", f"init:{seed}")
        self.assertEqual(result.returncode, 0, result.stderr)

    def show(self, *arguments, **variables):
        result = self.pznet("cache", *arguments, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def kept(self):
        return sorted(self.objects.glob("*.o"))

    def test_other_weights_compile_no_kernel(self):
        first = self.compile("a.so")
        self.assertGreater(first["compiled"], 3)
        self.assertEqual((first["cached"], first["note"]), (0, ""))
        for name, seed in ("b.so", 1), ("c.so", 2):
            again = self.compile(name, seed)
            self.assertEqual(again, {"compiled": 0, "cached": first["compiled"], "note": ""})
            self.verify(name, seed)
        self.assertEqual((self.folder / "a.so").read_bytes(), (self.folder / "b.so").read_bytes())

    def test_what_the_compiler_is_called_for(self):
        """With other weights, for these and the manifest alone; with another network's list of steps for that too."""
        script, log = self.folder / "cc", self.folder / "log"
        script.write_text(f"#!/bin/sh\nfor word; do case $word in *.c) basename $word >> {log};; esac; done\nexec ${{CC:-gcc}} \"$@\"\n")
        script.chmod(0o755)

        def sources(*arguments):
            log.write_text("")
            self.compile(*arguments, "--cc", str(script))
            return set(log.read_text().split())

        self.assertIn("network.c", sources("a.so", 1))
        self.assertEqual(sources("b.so", 2), {"weights.c", "manifest.c"})
        self.assertEqual(sources("b.so", 2, "--emit-c", "source"), {"weights.c", "manifest.c"})
        self.assertEqual(sources("b.so", 1, "--emit-c", "source"), {"weights.c", "manifest.c"})  # into the same folder
        self.assertIn("network.c", sources("c.so", 2, "--emit-c", "source", "--input", "data=1x1x4x12x20"))
        self.assertEqual(sources("b.so", 2), {"weights.c", "manifest.c"})
        self.verify("b.so", 2)

    def test_another_compiler_or_machine_has_its_own(self):
        n = self.compile()["compiled"]
        self.assertEqual(self.compile("o1.so", 1, "--cc", "gcc -O1")["cached"], 0)
        self.assertGreater(self.compile("sse4.so", 1, "--isa", "sse4")["compiled"], 0)
        self.assertEqual(self.compile("cpath.so", 1, CPATH="/nowhere")["cached"], 0)
        script = self.folder / "cc"
        for i in range(2):  # prints the same, but it is another one
            script.write_text(f"#!/bin/sh\n{'# longer' * i}\nexec ${{CC:-gcc}} \"$@\"\n")
            script.chmod(0o755)
            self.assertEqual(self.compile("script.so", 1, "--cc", str(script))["compiled"], n)
        self.assertEqual(self.compile("script.so", 1, "--cc", str(script))["compiled"], 0)

    def test_what_is_damaged_is_made_anew(self):
        n = self.compile()["compiled"]
        whole = (self.folder / "net.so").read_bytes()
        damage = [lambda path, data: path.write_bytes(data[:len(data) // 2]),
                  lambda path, data: path.write_bytes(data[:100] + b"?" + data[101:]),
                  lambda path, data: path.write_bytes(b""), lambda path, data: path.unlink()]
        for spoil in damage:
            for path in self.kept():
                spoil(path, path.read_bytes())
            self.assertEqual(self.compile(), {"compiled": n, "cached": 0, "note": ""})
            self.assertEqual((self.folder / "net.so").read_bytes(), whole)
            self.assertEqual(self.compile()["cached"], n)

    def test_none_and_another_folder(self):
        self.compile("net.so", 1, "--cache", "none")
        self.assertFalse(self.objects.exists())
        self.compile("net.so", 1, "--cache", "here")
        self.assertFalse(self.objects.exists())
        self.assertGreater(json.loads(self.show("--folder", "here", "--json"))["kernels"], 3)

    def test_a_folder_that_cannot_be_used_is_told(self):
        (self.folder / "file").write_text("x")
        kernels = self.compile("net.so", 1, "--cache", "file")
        self.assertIn("compiled kernels are not kept: file: is a file", kernels["note"])
        result = self.pznet(*self.arguments("net.so", 1, "--cache", "file"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count("warning: compiled kernels are not kept: file: is a file"), 1, result.stderr)
        self.assertIn("PZNET_CACHE_SIZE=lots: expected a size", self.compile(PZNET_CACHE_SIZE="lots")["note"])

    def test_nothing_is_kept_beyond_the_limit(self):
        self.compile(PZNET_CACHE_SIZE="1K")
        self.assertEqual(self.kept(), [])
        self.assertEqual(self.compile()["cached"], 0)

    def test_show_and_clear(self):
        self.assertEqual(self.show(), f"0 compiled kernels, 0 B, of 1.1 GB at most, in {self.objects}\n")
        self.assertFalse(self.cache.exists(), "looking makes nothing")
        compiled = self.compile()["compiled"]
        n = compiled + 1  # the list of steps
        report = json.loads(self.show("--json"))
        self.assertEqual((report["kernels"], report["folder"]), (n, str(self.objects)))
        self.assertEqual(report["bytes"], sum(p.stat().st_size for p in self.objects.iterdir()))
        self.assertRegex(self.show("--clear"), rf"^{n} compiled kernels, .*, removed from {self.objects}\n$")
        self.assertEqual(list(self.objects.iterdir()), [])
        self.assertEqual(self.compile()["compiled"], compiled)
        bad = self.pznet("cache", PZNET_CACHE_SIZE="-1")
        self.assertEqual((bad.returncode, bad.stdout, bad.stderr.count("\n")), (2, "", 1), bad.stderr)

    def test_several_at_once(self):
        environment = {**os.environ, "PZNET_CACHE_DIR": str(self.cache)}
        both = [subprocess.Popen([PZNET, *self.arguments(f"{i}.so", i)], cwd=self.folder, env=environment,
                                 stdout=subprocess.DEVNULL) for i in range(3)]
        self.assertEqual([p.wait(300) for p in both], [0, 0, 0])
        self.assertEqual(self.compile()["compiled"], 0)
        for i in range(3):
            self.verify(f"{i}.so", i)

    def test_networks_share_kernels(self):
        """Some of a network's kernels are there, among others, and more than once."""
        text = pathlib.Path(NETWORK).read_text()
        n = self.compile()["compiled"]
        other = self.folder / "other.prototxt"
        other.write_text(text.replace("num_output: 2 ", "num_output: 3 "))
        result = self.pznet("compile", other, "--weights", "init:1", "--effort", "estimate", "-o", "other.so", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        kernels = json.loads(result.stdout)["kernels"]
        self.assertGreater(min(kernels["compiled"], kernels["cached"]), 0)
        self.assertEqual(self.compile()["cached"], n)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
