"""Inputs and outputs that are not of float32: their arrays, what they take, and volumes of them."""

import os
import tempfile
import unittest

try:
    import numpy as np
    import pznet
except ImportError as missing:
    print(f"skipped: {missing}")
    raise SystemExit(77)
try:
    import torch
except ImportError:
    torch = None

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TINY = os.path.join(ROOT, "tests", "networks", "tiny.prototxt")
SHAPE = (1, 1, 4, 12, 14)


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.floats = cls.make("floats")
        cls.bytes = cls.make("bytes", input_types="u8")
        cls.halves = cls.make("halves", input_types="bf16", output_types="f16")
        cls.bfloats = cls.make("bfloats", input_types="f16", output_types="bf16")
        cls.x = np.random.default_rng(3).integers(0, 256, SHAPE, np.uint8)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def make(cls, name, **types):
        path = os.path.join(cls.folder.name, name + ".so")
        pznet.compile(TINY, path, weights="init:1", effort="estimate", precision="exact", isa="sse4", **types)
        return pznet.load(path, threads=2)

    def test_ports(self):
        port = self.bytes.inputs[0]
        self.assertEqual((port.type, port.dtype, str(port)), ("u8", np.uint8, "data 1x1x4x12x14 u8"))
        self.assertEqual((self.bytes.outputs[0].type, self.bytes.outputs[0].dtype), ("f32", np.float32))
        self.assertEqual((self.halves.inputs[0].type, self.halves.inputs[0].dtype), ("bf16", np.float32))
        self.assertEqual((self.halves.outputs[0].type, self.halves.outputs[0].dtype), ("f16", np.float16))
        self.assertEqual(self.bytes.manifest["inputs"][0]["dtype"], "uint8")

    def test_bytes_are_taken_as_they_are(self):
        wanted = self.floats(self.x.astype(np.float32))
        got = self.bytes(self.x)
        self.assertEqual(got.dtype, np.float32)
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(self.bytes(self.x > 127), self.floats((self.x > 127).astype(np.float32)))

    def test_what_is_not_exact_is_refused(self):
        for dtype in (np.float32, np.int64, np.int8, np.uint16):
            with self.assertRaisesRegex(ValueError, f"'data' wants values of uint8, not of {np.dtype(dtype)}"):
                self.bytes(self.x.astype(dtype))
        with self.assertRaisesRegex(ValueError, "wants 672 values of u8"):
            self.bytes._net.run([self.x.astype(np.float32)], [np.empty(self.bytes.outputs[0].shape, np.float32)])
        with self.assertRaisesRegex(ValueError, "C-contiguous float16 array"):
            self.halves(self.x, out=np.empty(self.halves.outputs[0].shape, np.float32))

    def test_sixteen_bits(self):
        """Numbers up to 255 are exact in both; results are rounded."""
        wanted = self.floats(self.x.astype(np.float32))
        half = self.halves(self.x.astype(np.float32))
        np.testing.assert_array_equal(half, wanted.astype(np.float16))
        self.assertEqual(half.dtype, np.float16)
        got = self.bfloats(self.x.astype(np.float16))
        self.assertEqual(got.dtype, np.float32)
        bits = wanted.view(np.uint32)
        np.testing.assert_array_equal(got.view(np.uint32), (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16)
        out = np.empty(wanted.shape, np.float32)
        self.assertIs(self.bfloats(self.x.astype(np.float16), out=out), out)
        np.testing.assert_array_equal(out, got)

    def test_bfloat16_is_rounded_to_the_nearest(self):
        """257 lies between 256 and 258: the even one; not-a-number stays."""
        x = np.full(SHAPE, 257, np.float32)
        np.testing.assert_array_equal(self.halves(x), self.halves(np.full(SHAPE, 256, np.float32)))
        x[...] = 259
        np.testing.assert_array_equal(self.halves(x), self.halves(np.full(SHAPE, 260, np.float32)))
        x[...] = np.nan
        self.assertTrue(np.isnan(self.halves(x)).any())

    def test_integers_of_32_bits(self):
        """Floats of them up to 2^24; greater ones are rounded, which is told. Results are the nearest integers."""
        net = self.make("wholes", input_types="i32", output_types="i32")
        self.assertEqual((net.inputs[0].type, net.inputs[0].dtype, net.outputs[0].dtype), ("i32", np.int32, np.int32))
        self.assertEqual(net.manifest["inputs"][0]["dtype"], "int32")
        x = np.random.default_rng(4).integers(-(1 << 24), 1 << 24, SHAPE, np.int32)
        wanted = self.floats(x.astype(np.float32))
        got = net(x)
        self.assertEqual(got.dtype, np.int32)
        np.testing.assert_array_equal(got, np.clip(np.rint(wanted.astype(np.float64)), -(2**31), 2**31 - 1))
        np.testing.assert_array_equal(net(self.x), net(self.x.astype(np.int32)))
        for dtype in (np.uint32, np.int64, np.float32):
            with self.assertRaisesRegex(ValueError, "wants values of int32"):
                net(x.astype(dtype))
        x[0, 0, 0, 0, :2] = [(1 << 24) + 1, -(1 << 31)]
        with self.assertWarnsRegex(UserWarning, "1 values of int32 are not exact in float32"):
            rounded = net(x)
        np.testing.assert_array_equal(rounded, net(x.astype(np.float32).astype(np.int32)))
        volume = np.random.default_rng(5).integers(-(2**20), 2**20, (6, 20, 22), np.int32)
        taken = self.make("taken", input_types="i32")
        kwargs = dict(overlap=(1, 2, 2), progress=False)
        np.testing.assert_array_equal(pznet.infer(volume, taken, **kwargs), pznet.infer(volume, self.floats, normalize="none", **kwargs))
        labels = pznet.infer(volume[:4, :12, :14], net, progress=False)
        np.testing.assert_array_equal(labels, net(np.ascontiguousarray(volume[:4, :12, :14]).reshape(SHAPE))[0])
        self.assertEqual(labels.dtype, np.int32)

    def test_batches_and_profile(self):
        several = np.concatenate([self.x, 255 - self.x, self.x // 2])
        got = self.bytes(several)
        for i in range(3):
            np.testing.assert_array_equal(got[i : i + 1], self.bytes(several[i : i + 1]))
        for net in (self.bytes, self.halves):
            self.assertTrue(all(row["seconds"] >= 0 for row in net.profile(runs=2)))
        self.bytes.reset()

    @unittest.skipUnless(torch, "PyTorch is not there")
    def test_tensors(self):
        wanted = self.bytes(self.x)
        got = self.bytes(torch.from_numpy(self.x))
        self.assertIsInstance(got, torch.Tensor)
        np.testing.assert_array_equal(got.numpy(), wanted)
        half = self.bfloats(torch.from_numpy(self.x).to(torch.float16))
        np.testing.assert_array_equal(half.numpy(), self.bfloats(self.x.astype(np.float16)))
        np.testing.assert_array_equal(self.halves(torch.from_numpy(self.x).to(torch.bfloat16)).numpy(), self.halves(self.x.astype(np.float32)))
        out = torch.empty(tuple(self.halves.outputs[0].shape), dtype=torch.float16)
        self.assertIs(self.halves(self.x.astype(np.float32), out=out), out)
        np.testing.assert_array_equal(out.numpy(), self.halves(self.x.astype(np.float32)))

    def test_volumes(self):
        volume = np.random.default_rng(5).integers(0, 256, (6, 20, 22), np.uint8)
        kwargs = dict(overlap=(1, 2, 2), progress=False)
        wanted = pznet.infer(volume, self.floats, normalize="none", **kwargs)
        np.testing.assert_array_equal(pznet.infer(volume, self.bytes, **kwargs), wanted)
        with self.assertRaisesRegex(pznet.Error, "is f32, the network takes u8"):
            pznet.infer(volume.astype(np.float32), self.bytes, **kwargs)
        labels = self.make("labels", input_types="u8", output_types="u8")
        small = np.random.default_rng(6).integers(0, 256, SHAPE[2:], np.uint8)
        got = pznet.infer(small, labels, progress=False)
        self.assertEqual(got.dtype, np.uint8)
        np.testing.assert_array_equal(got, labels(small.reshape(SHAPE))[0])
        with self.assertRaisesRegex(pznet.Error, "whole numbers"):
            pznet.infer(volume, labels, **kwargs)


if __name__ == "__main__":
    unittest.main()
