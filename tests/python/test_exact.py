"""Exact tiles: `infer` of small networks that are compiled for them, beside the network compiled for the whole volume, 1e-5; boxes, threads and a run that
was interrupted have the same bits. PZNET: the command."""

import importlib.util
import itertools
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np

import pznet

CONV = """layer {{ name: "{name}" type: "Convolution" bottom: "{of}" top: "{name}" convolution_param {{ num_output: {maps} {kernel}
  engine: CAFFE axis: 1 weight_filler {{ type: "xavier" }} bias_filler {{ type: "constant" value: 0.1 }} }} }}
layer {{ name: "{name}_r" type: "{act}" bottom: "{name}" top: "{name}" }}
"""


def conv(name, of, maps=4, kernel="kernel_size: 3 pad: 1", act="ReLU"):
    return CONV.format(name=name, of=of, maps=maps, kernel=kernel, act=act)


POOL = 'layer { name: "p" type: "Pooling" bottom: "a" top: "p" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }\n'
UP = """layer { name: "u" type: "Deconvolution" bottom: "c" top: "u" convolution_param { num_output: 4 kernel_size: 2 stride: 2
  weight_filler { type: "xavier" } } }
layer { name: "s" type: "Concat" bottom: "a" bottom: "u" top: "s" }
"""
UNET = conv("a", "data") + POOL + conv("c", "p") + UP + conv("y", "s", 2, act="Sigmoid")
VALID = conv("a", "data", kernel="kernel_size: 3") + conv("y", "a", 2, "kernel_size: 3", "Sigmoid")
POOLED = conv("a", "data") + 'layer { name: "y" type: "Pooling" bottom: "a" top: "y" pooling_param { pool: AVE global_pooling: true } }\n'


def text(body, size):
    dims = " ".join(f"dim: {n}" for n in (1, 1, *size))
    return f'name: "n"\nlayer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {dims} }} }} }}\n' + body


class Exact(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="pznet-test-")
        cls.count = itertools.count()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def path(self, name):
        return os.path.join(self.temporary.name, f"{next(self.count)}-{name}")

    def network(self, body, size, **options):
        model, net = self.model, _ = self.path("net.prototxt"), self.path("net.so")
        with open(model, "w") as file:
            file.write(text(body, size))
        pznet.compile(model, net, weights="init:1", effort="estimate", tuning="none", **options)
        return net

    def whole(self, body, volume, multiple):
        """The network's result for all of the volume, with zeros up to whole strides."""
        size = [-(-n // multiple) * multiple for n in volume.shape]
        padded = np.zeros(size, np.float32)
        padded[tuple(slice(n) for n in volume.shape)] = volume
        three = padded if padded.ndim == 3 else padded[None]
        out = pznet.infer(three, self.network(body, size))
        return out[:, : three.shape[0] if volume.ndim == 2 else volume.shape[0], : volume.shape[-2], : volume.shape[-1]]

    def same(self, got, want):
        self.assertEqual(got.shape, want.shape)
        self.assertLessEqual(float(np.abs(got - want).max()), 1e-5)

    def test_volumes(self):
        random = np.random.default_rng(1)
        net = self.network(UNET, (8, 16, 16), tiling="exact", patch=(4, 8, 12))
        for size in [(13, 21, 18), (4, 8, 12), (3, 5, 30), (9, 40, 7)]:
            volume = random.random(size, np.float32)
            got = pznet.infer(volume, net)
            self.same(got, self.whole(UNET, volume, 2))
            box = tuple(slice(int(random.integers(0, n)), n) for n in size)
            part = pznet.infer(volume, net, box=box)
            np.testing.assert_array_equal(part, got[(slice(None), *box)])
        self.assertTrue((pznet.infer(volume, net, threads=1) == pznet.infer(volume, net, threads=3)).all())

    def test_whole_planes(self):
        volume = np.random.default_rng(5).random((11, 21, 18), np.float32)
        want = self.whole(UNET, volume, 2)
        for patch in [(4, 21, 18), (4, 32, 8)]:
            net = self.network(UNET, (8, 16, 16), tiling="exact", patch=patch, volume=volume.shape)
            self.same(pznet.infer(volume, net), want)
            verify = [os.environ["PZNET"], "verify", net, "--model", self.model, "--weights", "init:1"]
            self.assertEqual(subprocess.run(verify, stdout=subprocess.DEVNULL).returncode, 0)
        with self.assertRaisesRegex(Exception, "the volume has 16 voxels along y; the network was compiled for whole volumes of 22"):
            pznet.infer(volume[:, :16], net)

    def test_patch_by_memory(self):
        volume = np.random.default_rng(6).random((9, 40, 50), np.float32)
        net = self.network(UNET, (8, 16, 16), tiling="exact", patch="auto", memory=100 << 20, volume=volume.shape)
        self.same(pznet.infer(volume, net, memory=200 << 20), self.whole(UNET, volume, 2))
        exact, file = pznet.load(net).manifest["exact"], self.path("volume.npy")
        np.save(file, volume)
        self.assertEqual(subprocess.run([os.environ["PZNET"], "infer", net, file, self.path("out.npy"), "-q", "--json", file + ".json"]).returncode, 0)
        with open(file + ".json") as report:
            report = json.load(report)
        self.assertEqual(exact["volume_runs"], report["patches"])
        self.assertAlmostEqual(exact["volume_times"], report["arithmetic"]["times"], 3)
        for options, message in [({}, "--patch auto wants --memory"), ({"memory": 1 << 20}, "the smallest tiles take .* raise --memory")]:
            with self.assertRaisesRegex((ValueError, MemoryError, pznet.Error), message):
                self.network(UNET, (8, 16, 16), tiling="exact", patch="auto", **options)

    def test_images(self):
        volume = np.random.default_rng(2).random((3, 21, 34), np.float32)
        got = pznet.infer(volume, self.network(UNET, (16, 16), tiling="exact", patch=(8, 12)))
        for z in range(3):
            self.same(got[:, z : z + 1], self.whole(UNET, volume[z], 2))

    def test_smaller_results(self):
        """What is beyond the volume is mirrored, or zero, as it is for patches."""
        volume = np.random.default_rng(3).random((9, 14, 17), np.float32)
        net = self.network(VALID, (12, 12, 12), tiling="exact", patch=(3, 5, 6))
        for border, mode in [("mirror", "reflect"), ("zero", "constant")]:
            padded = np.pad(volume, 2, mode)
            want = pznet.infer(padded, self.network(VALID, padded.shape), crop=2)
            self.same(pznet.infer(volume, net, border=border), want)

    def test_interrupted(self):
        volume, out = self.path("volume.npy"), self.path("out.npy")
        np.save(volume, np.random.default_rng(4).random((60, 64, 64), np.float32))
        net = self.network(UNET, (8, 16, 16), tiling="exact", patch=(2, 8, 8))
        command = [os.environ["PZNET"], "infer", net, volume, out, "-q"]
        self.assertEqual(subprocess.run(command).returncode, 0)
        want, stopped = np.load(out), 0
        os.remove(out)
        for wait in [0.1, 0.2, 0.4, 0.8]:
            run = subprocess.Popen(command + ["--resume"])
            time.sleep(wait)
            run.send_signal(signal.SIGINT)
            stopped += run.wait() == 130
        self.assertGreater(stopped, 0)
        self.assertEqual(subprocess.run(command + ["--resume"]).returncode, 0)
        np.testing.assert_array_equal(np.load(out), want)

    @unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("onnx"), "PyTorch or onnx is missing")
    def test_pytorch(self):
        """Modules of local layers beside PyTorch's own evaluation of the whole volume."""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, up):
                super().__init__()
                self.first = nn.Sequential(nn.Conv3d(1, 6, 3, padding=1), nn.BatchNorm3d(6), nn.LeakyReLU(0.1))
                self.down = nn.Sequential(nn.Conv3d(6, 8, 3, stride=2, padding=1), nn.ELU(), nn.Conv3d(8, 8, 3, padding=2, dilation=2), nn.ReLU())
                self.up = up
                self.last = nn.Conv3d(6, 2, (3, 5, 3), padding=(1, 2, 1))

            def forward(self, x):
                x = self.first(x)
                return torch.softmax(self.last(x + self.up(self.down(x))), 1)

        torch.manual_seed(1)
        ups = [nn.ConvTranspose3d(8, 6, 2, stride=2), nn.ConvTranspose3d(8, 6, 4, stride=2, padding=1),
               nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv3d(8, 6, 3, padding=1)),
               nn.Sequential(nn.AvgPool3d(3, 1, 1, count_include_pad=False), nn.Upsample(scale_factor=2, mode="trilinear"), nn.Conv3d(8, 6, 3, padding=1))]
        volume = np.random.default_rng(7).random((10, 26, 22), np.float32)
        for up in ups:
            module = Net(up).eval()
            for norm in (module.first[1],):
                norm.running_mean.uniform_(-0.3, 0.3), norm.running_var.uniform_(0.5, 2)
            with torch.no_grad():
                want = module(torch.from_numpy(volume)[None, None])[0].numpy()
            net = self.path("net.so")
            pznet.compile(module, torch.zeros(1, 1, 8, 16, 16), net, effort="estimate", tuning="none", tiling="exact", patch=(4, 10, 8))
            self.same(pznet.infer(volume, net), want)

    def test_refused(self):
        volume = np.zeros((8, 8, 8), np.float32)
        with self.assertRaisesRegex(Exception, "layer 'y' \\(pool\\): takes one value of all of space, so that no tile can be exact"):
            self.network(POOLED, (8, 8, 8), tiling="exact")
        with self.assertRaisesRegex(Exception, "an exact tile of 5 along y; expected a multiple of the total stride 2"):
            self.network(UNET, (8, 8, 8), tiling="exact", patch=(4, 5, 4))
        with self.assertRaisesRegex(Exception, "was not compiled for exact tiles; compile it with --tiling exact"):
            pznet.infer(volume, self.network(UNET, (8, 8, 8)), tiling="exact")
        with self.assertRaisesRegex(Exception, "with which an overlap has no meaning"):
            pznet.infer(volume, self.network(UNET, (8, 8, 8), tiling="exact"), overlap=2)


if __name__ == "__main__":
    unittest.main()
