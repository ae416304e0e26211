"""Networks beside PyTorch: tensors in and out, modules compiled, MONAI's sliding window. Exits with 77 without PyTorch."""

import importlib.util
import os
import sys
import tempfile
import unittest

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error.name} is missing")
    sys.exit(77)

import pznet
import pznet.arrays

MODEL = """
name: "twice"
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 1 dim: 1 dim: 8 dim: 8 dim: 8 } } }
layer { name: "y" type: "Power" bottom: "a" top: "y" power_param { scale: 2 } }
"""


def there(package):
    return importlib.util.find_spec(package) is not None


def small():
    torch.manual_seed(5)
    return torch.nn.Sequential(
        torch.nn.Conv3d(1, 6, 3, padding=1), torch.nn.BatchNorm3d(6), torch.nn.ReLU(), torch.nn.Dropout(0.5),
        torch.nn.Conv3d(6, 2, 1), torch.nn.Softmax(1))


class Tensors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            path = os.path.join(folder, "twice.prototxt")
            with open(path, "w") as f:
                f.write(MODEL)
            cls.net = pznet.compile(path, effort="estimate")
        cls.x = torch.linspace(-3, 3, 512).reshape(1, 1, 8, 8, 8)

    def test_tensors_are_not_copied(self):
        taken = pznet.arrays.take(self.x, "a")
        self.assertEqual(taken.ctypes.data, self.x.data_ptr())
        out = torch.full_like(self.x, torch.nan)
        self.assertIs(self.net(self.x, out=out), out)
        self.assertTrue(torch.equal(out, 2 * self.x))

    def test_the_kind_that_came_in_comes_out(self):
        y = self.net(self.x)
        self.assertIs(type(y), torch.Tensor)
        self.assertTrue(torch.equal(y, 2 * self.x))
        self.assertIs(type(self.net(self.x.numpy())), np.ndarray)

    def test_other_tensors_are_converted(self):
        for x in [self.x.double(), self.x.half(), self.x.bfloat16(), self.x.clone().requires_grad_(), (9 * self.x).long(),
                  self.x.flip(4).flip(4), self.x.transpose(2, 4), torch.nn.Parameter(self.x), torch._neg_view(self.x)]:
            self.assertTrue(torch.equal(self.net(x), 2 * x.detach().float()))
        self.assertTrue(torch.equal(self.net(self.x.expand(3, 1, 8, 8, 8)), 2 * self.x.expand(3, 1, 8, 8, 8)))

    def test_tensors_that_cannot_be_taken(self):
        for x in self.x.to("meta"), self.x.to_sparse():
            with self.assertRaisesRegex(ValueError, "'a' is a .*: give a dense one on the CPU"):
                self.net(x)
        with self.assertRaisesRegex(ValueError, "real values"):
            self.net(self.x.to(torch.complex64))
        for out in self.x, self.x.double(), torch.empty(1, 1, 8, 8, 9), torch.empty(8, 8, 8, 1, 1).permute(4, 3, 0, 1, 2)[..., ::2]:
            with self.assertRaises(ValueError):
                self.net(self.x, out=out)


class Modules(unittest.TestCase):
    def check(self, exporter):
        module = small().train()
        x = torch.rand(1, 1, 8, 9, 10)
        for _ in range(3):
            module(torch.rand(2, 1, 8, 9, 10))
        net = pznet.compile(module, x, exporter=exporter, effort="estimate")
        self.assertTrue(all(part.training for part in module.modules()))
        with torch.no_grad():
            expected = module.eval()(x)
        self.assertLess((net(x) - expected).norm() / expected.norm(), 1e-5)

    def test_torchscript(self):
        self.check("torchscript")

    @unittest.skipUnless(there("onnxscript"), "onnxscript is missing")
    def test_dynamo(self):
        self.check("dynamo")

    def test_whichever_exporter_is_there(self):
        self.check(None)

    def test_to_a_file(self):
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            path = os.path.join(folder, "net.so")
            manifest = pznet.compile(small(), torch.rand(1, 1, 8, 8, 8), path, effort="estimate")
            self.assertEqual(manifest["abi_version"], pznet.load(path).manifest["abi_version"])

    def test_failures_are_one_line(self):
        class Odd(torch.nn.Module):
            def forward(self, x):
                raise RuntimeError("first line\nsecond line")

        with self.assertRaisesRegex(ValueError, "wants an example input beside Sequential"):
            pznet.compile(small())
        with self.assertRaisesRegex(ValueError, "'onion' is unknown"):
            pznet.compile(small(), torch.rand(1, 1, 8, 8, 8), exporter="onion")
        for exporter in ["torchscript"] + ["dynamo"] * there("onnxscript"):
            with self.assertRaises(pznet.Error) as caught:
                pznet.compile(Odd(), torch.rand(1, 1, 8, 8, 8), exporter=exporter)
            self.assertIn(f"{exporter} exporter failed for Odd", str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

        with self.assertRaises(pznet.Error) as caught:
            pznet.compile(torch.nn.MultiheadAttention(4, 1), (torch.rand(2, 1, 4),) * 3, exporter="torchscript")
        self.assertRegex(str(caught.exception), "^MultiheadAttention.onnx: ")
        self.assertEqual(caught.exception.status, 3)

    @unittest.skipUnless(there("monai"), "MONAI is missing")
    def test_sliding_window_of_monai(self):
        from monai.data import MetaTensor
        from monai.inferers import sliding_window_inference

        module = small().eval()
        net = pznet.compile(module, torch.rand(2, 1, 16, 16, 16), effort="estimate")
        volume = torch.rand(1, 1, 30, 33, 21)
        for batch in 1, 2, 3, 4:
            with self.subTest(batch), torch.no_grad():
                expected = sliding_window_inference(volume, (16, 16, 16), batch, module)
                found = sliding_window_inference(volume, (16, 16, 16), batch, net)
                self.assertLess((found - expected).norm() / expected.norm(), 1e-5)
        with torch.no_grad():
            found = sliding_window_inference(MetaTensor(volume), (16, 16, 16), 3, net)
        self.assertLess((found - expected).norm() / expected.norm(), 1e-5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
