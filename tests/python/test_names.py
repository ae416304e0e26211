"""Names of a model in Python: any bytes are a str, and messages do nothing to a terminal. Exits with 77 where NumPy is missing."""

import os
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import pznet

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tool"))
import nasty

FOLDER = tempfile.TemporaryDirectory(prefix="pznet-test-")


class Names(unittest.TestCase):
    def printable(self, text):
        self.assertEqual([c for c in text if not c.isprintable()], [])
        text.encode()  # no lone surrogates

    def test_names(self):
        chosen = [nasty.NAMES[2], b"x" * 60000, b"\xff\xfe", b"\x1b[31m", "\u202e".encode(), b"\xed\xa0\x80"]
        for number, name in enumerate(chosen):
            model = pathlib.Path(FOLDER.name, f"{number}.onnx")
            model.write_bytes(nasty.onnx([b"a", b"b", name]))
            network = os.path.join(FOLDER.name, f"{number}.so")
            pznet.compile(model, network, effort="estimate")
            net = pznet.load(network)
            port = net.outputs[0]
            self.assertEqual(port.name, name.decode(errors="backslashreplace"), number)
            self.assertIn(port.name, [step["layer"] for step in net.manifest["plan"]])
            for text in (str(port), repr(port), port.shown, repr(net), str(net)):
                self.printable(text)
            self.assertLess(len(str(port)), 2100)
            self.assertTrue((net(np.eye(nasty.SIZE, dtype=np.float32)[None, None]) >= 0).all())
            with self.assertRaises(ValueError) as raised:
                net(np.zeros((1, 1, nasty.SIZE, nasty.SIZE), np.float32), out=np.zeros(3, np.float32))
            self.printable(str(raised.exception))

    def test_errors(self):
        model = pathlib.Path(FOLDER.name, "bad.onnx")
        for name in nasty.NAMES:
            model.write_bytes(nasty.onnx([b"a", b"b", name]).replace(b"MaxPool", b"Max\xff\x1bol"))
            with self.assertRaises(pznet.Error) as raised:
                pznet.compile(model, model.with_suffix(".so"), effort="estimate")
            self.printable(str(raised.exception))
        with self.assertRaises(pznet.Error) as raised:
            pznet.load("\udcff\x1b[31m.so")
        self.printable(str(raised.exception))


if __name__ == "__main__":
    unittest.main()
