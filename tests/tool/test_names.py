"""Names are data: whatever a model calls its layers, nothing runs and no terminal obeys. usage: test_names.py PZNET CC [unittest's arguments]

The names are nasty.py's. Standard library only.
"""

import ctypes
import html.parser
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import nasty

PZNET, CC = os.path.abspath(sys.argv[1]), sys.argv[2]


def npy(values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, {nasty.SIZE}, {nasty.SIZE}), }}".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + header + b" " * (117 - len(header)) + b"\n" + struct.pack(f"<{len(values)}f", *values)


class Names(unittest.TestCase):
    """The same for both kinds of models; each is compiled once."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="pznet-test-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.models = {"onnx": cls.folder / "net.onnx", "prototxt": cls.folder / "net.prototxt"}
        cls.models["onnx"].write_bytes(nasty.onnx())
        cls.models["prototxt"].write_bytes(nasty.prototxt())
        (cls.folder / "in.npy").write_bytes(npy([float(i * 7 % 25) for i in range(25)]))
        cls.networks = {kind: cls.folder / f"{kind}.so" for kind in cls.models}
        cls.made = {kind: cls.pznet("compile", model, "-o", cls.networks[kind], "--emit-c", cls.folder / kind, "--cc", CC)
                    for kind, model in cls.models.items()}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def pznet(cls, verb, *arguments):
        words = [PZNET, verb, *(["--effort", "estimate"] if verb in ("compile", "inspect") else []), *map(str, arguments)]
        return subprocess.run(words, capture_output=True, timeout=240, stdin=subprocess.DEVNULL, cwd=cls.folder)

    def printed(self, verb, *arguments, status=0):
        """What the command prints: letters that nothing obeys, in lines."""
        done = self.pznet(verb, *arguments)
        self.assertEqual(done.returncode, status, (verb, arguments, done.stderr[-500:]))
        for text in (done.stdout, done.stderr):
            self.assertEqual([c for c in text.decode() if c != "\n" and not c.isprintable()], [], (verb, arguments))
        self.assertFalse(list(self.folder.rglob("pwned")), (verb, arguments))
        return done.stdout.decode()

    def each(self):
        for kind in self.models:
            self.assertEqual(self.made[kind].returncode, 0, (kind, self.made[kind].stderr[-500:]))
            yield kind

    def test_compiles_and_runs_right(self):
        for kind in self.each():
            self.assertEqual([c for c in (self.made[kind].stdout + self.made[kind].stderr).decode() if c != "\n" and not c.isprintable()], [])
            self.printed("run", self.networks[kind], "in.npy", "-o", f"{kind}.npy")
            values = struct.unpack("<25f", (self.folder / f"{kind}.npy").read_bytes()[-100:])
            self.assertEqual(set(values), {24.0})
            self.assertIn("equal, bit by bit", self.printed("verify", self.networks[kind], "--model", self.models[kind]))

    def test_generated_source(self):
        for kind in self.each():
            for source in (self.folder / kind).glob("*.[ch]"):
                text = source.read_bytes()
                self.assertRegex(text, rb"\A[ -~\n]*\Z", source)
                self.assertNotIn(b"?" b"?", text)
                code = re.sub(rb'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', b"", text, flags=re.S)  # without comments and strings
                self.assertNotRegex(code, rb"pwned|constructor|passwd|system|['\\]|\*/|/\*")
                words = set(re.findall(rb"[A-Za-z_]\w*", code))
                self.assertLessEqual({w for w in words if re.match(rb"step_\d", w)}, {b"step_%d" % i for i in range(len(nasty.NAMES) + 2)})

    def test_names_are_kept(self):
        for kind in self.each():
            ctypes.CDLL(str(self.networks[kind])).pz_network()
            strings = self.networks[kind].read_bytes()
            for number, name in enumerate(nasty.NAMES[:-2]):
                self.assertIn(name + b"\0", strings, number)

    def test_manifest(self):
        for kind in self.each():
            shown = self.printed("inspect", self.networks[kind], "--format", "json")
            self.assertTrue(shown.isascii())
            manifest = json.loads(shown)
            layers = [step["layer"] for step in manifest["plan"]]
            for number, name in enumerate(nasty.NAMES[:-2]):
                self.assertIn(name.decode(errors="backslashreplace"), layers, number)
            self.assertEqual(manifest["inputs"][0]["name"], "y" * 200)
            self.assertEqual(manifest["outputs"][0]["name"], "y" * 201)

    def test_a_plan(self):
        for kind, model in self.models.items():
            self.printed("inspect", model, "--plan")
            self.printed("inspect", model, "--plan", "--json")
            self.printed("inspect", model, "--plan", "--algorithm", "\x1b[31m=\x1b[2J", status=2)

    def test_inspect(self):
        for kind in self.each():
            for form in ["table", "json", "dot", "dot-before", "text", "text-before"]:
                shown = self.printed("inspect", self.models[kind], "--format", form)
                if form == "json":
                    json.loads(shown)
                elif form.startswith("dot"):
                    for line in shown.splitlines():
                        self.assertRegex(line, r'\A(digraph "(\\.|[^"\\])*" \{|\}|  \w+ -> \w+;|  \w+ \[shape=\w+, label="(\\.|[^"\\])*"\];)\Z')
                elif form == "table":
                    self.assertLess(max(map(len, shown.splitlines())), 400)
            self.printed("inspect", self.networks[kind])

    def test_pages(self):
        tags = "html head meta title style body h1 h2 p dl div dt dd small ul li b i section header span button svg g rect path text line " \
               "code table thead tbody tr th td script".split()
        for kind in self.each():
            for arguments in (["inspect", self.models[kind], "--html", f"{kind}.html"], ["bench", self.networks[kind], "--runs", 1, "--warmup", 0, "--plot", f"{kind}.html"]):
                self.printed(*arguments)
                page = (self.folder / f"{kind}.html").read_bytes().decode()
                self.assertEqual([c for c in page if c != "\n" and not c.isprintable()], [])
                found, attributes = set(), set()
                parser = html.parser.HTMLParser()
                parser.handle_starttag = lambda tag, attrs: (found.add(tag), attributes.update(name for name, _ in attrs))
                parser.feed(page)
                self.assertLessEqual(found, set(tags))
                self.assertFalse([a for a in attributes if a.startswith("on")])

    def test_bench(self):
        for kind in self.each():
            few = ["--runs", 1, "--warmup", 0]
            self.assertLess(max(map(len, self.printed("bench", self.networks[kind], "--layers", *few).splitlines())), 400)
            rows = json.loads(self.printed("bench", self.networks[kind], "--json", *few))["layers"]
            self.assertGreaterEqual(len(rows), len(nasty.NAMES) - 2)

    def test_refusals(self):
        """A message with a name of the model: one line."""
        for number, name in enumerate(nasty.NAMES):
            if number % 5 and len(name) < 5000:
                continue
            words = nasty.prototxt([b"plain", b"x", b"y"]).replace(b'"Pooling"', b'"' + "".join(f"\\{b:03o}" for b in name[:50]).encode() + b'"')
            (self.folder / "bad.prototxt").write_bytes(words)
            self.printed("inspect", "bad.prototxt", status=3)
            (self.folder / "bad.onnx").write_bytes(nasty.onnx([name, b"x", b"plain"]).replace(b"MaxPool", b"MaxPo\x1bl"))
            self.printed("compile", "bad.onnx", "-o", "bad.so", status=3)
        self.printed("inspect", b"\x1b[31m\xff.onnx".decode(errors="surrogateescape"), status=3)

    def test_words_of_the_user(self):
        for words, status in [(["compile", "\x1b[31m"], 2), (["\x1b[31m"], 2), (["bench", "\x1b[2J"], 3), (["run", "--\x1b[2J"], 2), (["inspect", self.models["onnx"], "-f", "\x1b"], 2)]:
            self.printed(*words, status=status)

    def test_a_file_with_such_a_name(self):
        """The front matter of the generated C names the model's file."""
        for number, name in enumerate(nasty.NAMES):
            if b"/" in name or len(name) > 200 or number % 3:
                continue
            path = os.fsencode(self.folder) + b"/" + name + b".onnx"
            pathlib.Path(os.fsdecode(path)).write_bytes(nasty.onnx([b"a", b"b", b"c"]))
        models = [p for p in self.folder.iterdir() if p.suffix == ".onnx" and p.name not in ("net.onnx", "bad.onnx")]
        for number, model in enumerate(models):
            self.printed("inspect", model)
            if number % 4 == 0:
                self.printed("compile", model, "-o", "named.so", "--cc", CC)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
