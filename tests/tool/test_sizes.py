"""The --input line that is proposed for a model of open sizes runs as it is printed, once numbers stand for what is in <>.

usage: test_sizes.py PZNET [unittest's arguments]. Standard library only.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

PZNET = os.path.abspath(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "onnx"))
import writer

NAMES = ["x", "input.1", "two words", "it's", "a=b", "-x", "--help", "#1", "$(touch made)", "`touch made`", "a;touch made", "\"", "back\\slash",
         "new\nline", "\x1b[31mred", "é", "x" * 300, "'; touch made; '", "<1>", "*", "~", "!x", "a%sb"]


def port(name, dims):
    """A ValueInfoProto whose sizes are numbers, symbols or, for None, nothing."""
    fields = b"".join(writer.data(1, b"" if d is None else writer.number(1, d) if isinstance(d, int) else writer.data(2, d)) for d in dims)
    return writer.data(1, name) + writer.data(2, writer.data(1, writer.number(1, 1) + writer.data(2, fields)))


def model(inputs):
    """An output for each input."""
    graph = b"".join(writer.data(1, writer.node("Relu", [name], [f"y{i}"])) for i, (name, _) in enumerate(inputs))
    graph += writer.data(2, "graph") + b"".join(writer.data(11, port(name, dims)) for name, dims in inputs)
    graph += b"".join(writer.data(12, port(f"y{i}", [])) for i in range(len(inputs)))
    return writer.number(1, 8) + writer.data(7, graph) + writer.data(8, writer.number(2, 17))


class Sizes(unittest.TestCase):
    def proposed(self, folder):
        refused = subprocess.run([PZNET, "inspect", "net.onnx"], cwd=folder, capture_output=True)
        self.assertEqual(refused.returncode, 3, refused.stderr)
        text = refused.stderr.decode()
        self.assertEqual(text.count("\n"), 1, text)
        return text.strip().partition(" as numbers:")[2]

    def runs(self, inputs, shapes):
        """With 1, 2, 3, ... for what is open, the same one for the same; the shapes of inputs are printed then."""
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            pathlib.Path(folder, "net.onnx").write_bytes(model(inputs))
            line, found = self.proposed(folder), {}
            line = re.sub(r"<[^<>]*>(?=[x'])", lambda m: found.setdefault(m[0], "7x8" if m[0] == "<shape>" else str(2 + len(found))), line)
            command = f"{shlex.quote(PZNET)} inspect --format text-before net.onnx{line}"
            done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True)
            self.assertEqual(done.returncode, 0, (command, done.stderr))
            printed = re.findall(r"^input .* ([0-9x]+)$", done.stdout.decode(errors="replace"), re.M)
            self.assertEqual(printed, shapes)
            self.assertEqual(os.listdir(folder), ["net.onnx"])

    def test_names(self):
        for name in NAMES:
            with self.subTest(name):
                self.runs([(name, ["N", 3, "H", "W"])], ["1x3x2x3"])

    def test_several_inputs(self):
        self.runs([("a", ["N", 1, "D", "H", "W"]), ("fixed", [1, 4]), ("b\t", ["N", "D", None]), ("c", ["W"])],
                  ["1x1x2x3x4", "1x4", "1x2x5", "4"])

    def test_symbols(self):
        self.runs([("x", [1, "floor(height/2) + 1", "'; touch made; '", "<", "max_x", "", None])], ["1x2x3x4x5x6x7"])

    def test_all_names_at_once(self):
        self.runs([(name, [1, "H"]) for name in NAMES], ["1x2"] * len(NAMES))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
