"""Models that ask for more than there is, each in its way: refused in a moment, with what they need and what is there.

usage: test_hostile.py PZNET [unittest's arguments]. NumPy, for the ONNX models; those are skipped without it.
"""

import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import unittest

try:
    import numpy as np
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "onnx"))
    import writer
except ImportError:
    np = None

PZNET = os.path.abspath(sys.argv[1])
GIB = 1 << 30
MOST_SECONDS, MOST_RESIDENT = 10, GIB


def layer(name, kind, below, parameters=""):
    bottoms = " ".join(f'bottom: "{b}"' for b in below)
    return f'layer {{ name: "{name}" type: "{kind}" {bottoms} top: "{name}" {parameters} }}\n'


def data(*dims):
    return layer("x", "Input", [], f'input_param {{ shape {{ {" ".join(f"dim: {n}" for n in dims)} }} }}')


def conv(name, below, maps, kernel, more="", kind="Convolution", filler="xavier"):
    return layer(name, kind, [below], f'convolution_param {{ num_output: {maps} kernel_size: {kernel} {more} weight_filler {{ type: "{filler}" }} }}')


def doubling(below, times):
    names = [below] + [f"c{i}" for i in range(times)]
    return "".join(layer(b, "Concat", [a, a]) for a, b in zip(names, names[1:]))


HEAVY = conv("w", "x", 2000, 30, "pad: 14")  # 115 MB of weights, and a large result

CAFFE = {
    "num_output": data(1, 64, 64, 64) + conv("a", "x", 1000000, 3, "pad: 1"),
    "num_output above 2^31": data(1, 64, 64, 64) + conv("a", "x", 4294967295, 3),
    "input": data(1, 1, 4000, 4000, 4000) + conv("a", "x", 8, 3),
    "3D product that overflows": data(1, 1, 2000000, 2000000, 2000000) + conv("a", "x", 1, 1),
    "kernel": data(1, 16, 3000, 3000) + conv("a", "x", 64, 2000),
    "concat that doubles": data(1, 16, 64, 64) + HEAVY + doubling("w", 12),
    "concat that overflows": data(1, 16, 64, 64) + HEAVY + doubling("w", 40),
    "deconvolution by 1000": data(1, 16, 64, 64) + HEAVY + conv("v", "w", 1, 1) + conv("u", "v", 1, 2000, "stride: 1000 pad: 500", "Deconvolution", "bilinear"),
    "deconvolution by 64 of many maps": data(1, 8, 100, 100) + conv("w", "x", 10000, 15, "pad: 7") + conv("u", "w", 10000, 64, "stride: 64 group: 10000", "Deconvolution", "bilinear"),
    "stride whose phases overflow": data(1, 1, 1, 1, 1) + conv("u", "x", 1, 3, "stride: 100000", "Deconvolution"),
    "inner product of a large map": data(1, 16, 512, 512) + layer("d", "InnerProduct", ["x"], 'inner_product_param { num_output: 4000 weight_filler { type: "xavier" } }'),
    "65536 maps": data(1, 65536, 8, 8) + conv("a", "x", 65536, 1),
    "many maps, large": data(1, 12000, 400, 400) + conv("a", "x", 12000, 1) + conv("b", "a", 4000, 1),
    "heavy layers before a large one": data(1, 1, 24, 24) + conv("a", "x", 16384, 3, "pad: 1") + conv("b", "a", 1000, 3, "pad: 1")
    + "".join(conv(f"c{i}", f"c{i - 1}" if i else "b", 1000, 3, "pad: 1") for i in range(8))
    + conv("u", "c7", 1000, 64, "stride: 64 group: 1000", "Deconvolution", "bilinear"),
}


def onnx_models():
    """One at a time: they are large."""
    f, i = np.float32, lambda *v: np.array(v, np.int64)

    def model(shape, *nodes):
        graph = b"".join(writer.data(1, writer.node(*n[:3], **(n[3] if len(n) > 3 else {}))) for n in nodes if n[0] != "=")
        graph += b"".join(writer.data(5, writer.tensor(n[1], n[2])) for n in nodes if n[0] == "=")
        graph += writer.data(2, "g") + writer.data(11, writer.port("x", shape)) + writer.data(12, writer.data(1, "y") + writer.data(2, writer.data(1, writer.number(1, 1))))
        return writer.number(1, 8) + writer.data(7, graph) + writer.data(8, writer.data(1, "") + writer.number(2, 13))

    heavy = np.zeros((1200, 16, 30, 30), f)
    pads = {"pads": [14, 14, 15, 15]}
    double = [("Concat", [a, a], [b], {"axis": 1}) for a, b in zip(["w"] + [f"c{k}" for k in range(11)], [f"c{k}" for k in range(11)] + ["y"])]
    yield "ONNX: concat that doubles", model((1, 16, 64, 64), ("=", "k", heavy), ("Conv", ["x", "k"], ["w"], pads), *double)
    yield "ONNX: Upsample by 1000", model((1, 16, 64, 64), ("=", "k", heavy), ("=", "s", np.array([1, 1, 1000, 1000], f)), ("Conv", ["x", "k"], ["w"], pads),
                                                     ("Resize", ["w", "", "s"], ["y"], {"mode": "nearest"}))
    yield "ONNX: Tile", model((1, 16, 64, 64), ("=", "k", heavy), ("=", "r", i(1, 1, 300, 300)), ("Conv", ["x", "k"], ["w"], pads), ("Tile", ["w", "r"], ["y"]))
    yield "ONNX: Tile that overflows", model((1, 16, 64, 64), ("=", "r", i(1, 1, 3000000, 3000000)), ("Tile", ["x", "r"], ["y"]))
    yield "ONNX: weights of a shape", model((1, 1 << 16, 8, 8), ("=", "s", i(1 << 16, 1 << 16, 1, 1)), ("ConstantOfShape", ["s"], ["k"]), ("Conv", ["x", "k"], ["y"]))
    yield "ONNX: stride", model((1, 1, 1, 1), ("=", "k", np.ones((1, 1, 3, 3), f)), ("ConvTranspose", ["x", "k"], ["y"], {"strides": [70000, 70000]}))
    yield "ONNX: input", model((1, 1, 4000, 4000, 4000), ("=", "k", np.ones((8, 1, 3, 3, 3), f)), ("Conv", ["x", "k"], ["y"]))


class Hostile(unittest.TestCase):
    def refused(self, name, content):
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            path = pathlib.Path(folder) / ("net.prototxt" if isinstance(content, str) else "net.onnx")
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            arguments = [PZNET, "compile", str(path), "-o", f"{folder}/net.so", "-q", *(["-w", "init:1"] if isinstance(content, str) else [])]
            process = subprocess.Popen(arguments, env=os.environ | {"TMPDIR": folder, "PZNET_CACHE_DIR": folder}, stderr=subprocess.PIPE, text=True,
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * GIB, 4 * GIB)))
            stop = threading.Timer(20 * MOST_SECONDS, process.kill)  # as long as a busy machine may take for them
            stop.start()
            text = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            stop.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stderr.close()
            said = f"{name}: status {process.returncode}, {used.ru_utime + used.ru_stime:.1f} s of the processor, {used.ru_maxrss >> 10} MiB: {text}"
            self.assertEqual((process.returncode, text.count("\n")), (3, 1), said)
            self.assertLess(used.ru_utime + used.ru_stime, MOST_SECONDS, said)
            self.assertLess(used.ru_maxrss * 1024, MOST_RESIDENT, said)
            self.assertRegex(text, r"\d+ bytes.*\d+ are there|has \d+, more than \d+|\d+ phases, at most \d+|at most 2\^40|expected 1 to 2147483647|one part in 4 of the|more than 800 MB|too large", said)
            self.assertEqual(sorted(set(os.listdir(folder)) - {"tuning.sqlite"}), [path.name], said)

    def test_caffe(self):
        for name, text in CAFFE.items():
            with self.subTest(name):
                self.refused(name, text)

    def test_onnx(self):
        if not np:
            self.skipTest("NumPy is not here")
        for name, content in onnx_models():
            with self.subTest(name):
                self.refused(name, content)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
