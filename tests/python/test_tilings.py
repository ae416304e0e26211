"""`pznet infer --tiling` beside MONAI, nnU-Net and chunkflow themselves, on a random network and random volumes: 1e-4 of the
range of their result. A package that is missing is skipped (tests/volume/test_tilings.c has small results of all of them);
exits with 77 where all are. PZNET: the command."""

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest
import warnings

PACKAGES = ["monai", "nnunetv2", "chunkflow"]
THERE = {name: importlib.util.find_spec(name) is not None for name in PACKAGES}
for name in PACKAGES:
    if not THERE[name]:
        print(f"skipped: {name} is missing")
if not any(THERE.values()):
    sys.exit(77)

import numpy as np

import pznet

MODEL = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 dim: %d dim: %d dim: %d } } }
layer { name: "a" type: "Convolution" bottom: "data" top: "a" convolution_param {
  num_output: 4 kernel_size: 3 pad: 1 axis: 1 weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.2 } } }
layer { name: "r" type: "ReLU" bottom: "a" top: "a" }
layer { name: "b" type: "Convolution" bottom: "a" top: "b" convolution_param {
  num_output: 2 kernel_size: 3 pad: %d axis: 1 weight_filler { type: "xavier" } } }
layer { name: "y" type: "Sigmoid" bottom: "b" top: "y" }
"""


def quietly(function):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


class Tilings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="pznet-test-")
        cls.folder = cls.temporary.name
        cls.nets = {}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def net(self, patch, pad=1):
        path = os.path.join(self.folder, "x".join(map(str, (*patch, pad))))
        if path not in self.nets:
            with open(path + ".prototxt", "w") as f:
                f.write(MODEL % (*patch, pad))
            pznet.compile(path + ".prototxt", path + ".so", weights="init:11", effort="estimate")
            self.nets[path] = pznet.load(path + ".so")
        return self.nets[path]

    def compare(self, package, net, volume, want, *options):
        """The command's result with these options; with any number of threads the same bits."""
        files = [os.path.join(self.folder, name) for name in ("in.npy", "out.npy")]
        np.save(files[0], volume)
        results = []
        for threads in "1", "2":
            subprocess.run([os.environ["PZNET"], "infer", net.path, *files, "-q", "-t", threads, *options], check=True)
            results.append(np.load(files[1]))
        self.assertTrue(np.array_equal(*results))
        self.assertEqual(results[0].shape, want.shape)
        difference = np.abs(results[0].astype(np.float64) - want).max() / np.ptp(want)
        print(f"{package:9} {net.path.rsplit('/', 1)[1]:12} {str(volume.shape):14} {' '.join(options):60} {difference:.1e}")
        self.assertLessEqual(difference, 1e-4)

    @unittest.skipUnless(THERE["monai"], "monai is missing")
    def test_monai(self):
        import torch
        from monai.inferers import sliding_window_inference

        rng = np.random.default_rng(1)
        for patch, shape, arguments, options in (
            ((8, 16, 20), (21, 37, 50), {}, []),
            ((8, 16, 20), (8, 16, 33), {"overlap": 0.7}, ["--overlap", "0.7"]),
            ((9, 16, 20), (5, 12, 47), {"overlap": (0.25, 0.5, 0.6)}, ["--overlap", "0.25,0.5,0.6"]),
            ((9, 16, 20), (6, 40, 40), {"padding_mode": "reflect"}, ["--border", "mirror"]),
            ((8, 16, 20), (19, 30, 41), {"mode": "constant"}, ["--blend", "constant"]),
        ):
            net, volume = self.net(patch), rng.random(shape, np.float32)
            arguments.setdefault("mode", "gaussian")
            data = torch.from_numpy(volume)[None, None]
            want = sliding_window_inference(data, patch, 1, net, **arguments)[0].numpy()
            self.compare("monai", net, volume, want, "--tiling", "monai", *options)

    @unittest.skipUnless(THERE["monai"], "monai is missing")
    def test_the_example_with_monai(self):
        example = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "monai_sliding_window.py")
        net, volume = self.net((8, 16, 20)), np.random.default_rng(4).random((11, 37, 29), np.float32)
        files = [os.path.join(self.folder, name) for name in ("volume.npy", "result.npy")]
        np.save(files[0], volume)
        subprocess.run([sys.executable, example, net.path, *files], check=True, stderr=subprocess.DEVNULL)
        self.compare("example", net, volume, np.load(files[1]), "--tiling", "monai")

    @unittest.skipUnless(THERE["nnunetv2"], "nnunetv2 is missing")
    def test_nnunet(self):
        import torch

        def predict(net, volume, axes=None, step=0.5, gaussian=True):
            from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

            class Net(torch.nn.Module):
                def forward(self, x):
                    return net(x)

            p = nnUNetPredictor(step, gaussian, axes is not None, False, torch.device("cpu"), allow_tqdm=False)
            p.network, p.allowed_mirroring_axes = Net(), axes
            p.configuration_manager = types.SimpleNamespace(patch_size=list(net.inputs[0].shape[2:]))
            p.label_manager = types.SimpleNamespace(num_segmentation_heads=2)
            return p.predict_sliding_window_return_logits(torch.from_numpy(volume)[None]).float().numpy()

        rng = np.random.default_rng(2)
        for patch, shape, arguments, options in (
            ((8, 16, 20), (21, 37, 50), {}, []),
            ((8, 16, 20), (17, 30, 41), {"axes": (0, 1, 2)}, ["--augment", "mirror"]),
            ((9, 16, 20), (5, 12, 47), {"axes": (0, 1)}, ["--augment", "mirror:0,1"]),
            ((9, 16, 20), (22, 33, 47), {"step": 0.75, "axes": (2,)}, ["--overlap", "0.25", "--augment", "mirror:2"]),
            ((8, 16, 20), (19, 30, 41), {"gaussian": False}, ["--blend", "constant"]),
        ):
            net, volume = self.net(patch), rng.random(shape, np.float32)
            want = quietly(lambda: predict(net, volume, **arguments))
            self.compare("nnunetv2", net, volume, want, "--tiling", "nnunet", *options)

    @unittest.skipUnless(THERE["chunkflow"], "chunkflow is missing")
    def test_chunkflow(self):
        def predict(net, volume, overlap=None, **arguments):
            from chunkflow.chunk import Chunk
            from chunkflow.flow.divid_conquer.inferencer import Inferencer
            from chunkflow.flow.divid_conquer.patch.base import PatchInferencerBase

            patch, out = net.inputs[0].shape[2:], net.outputs[0].shape[2:]
            overlap = overlap or tuple(n // 2 for n in out)

            class Net(PatchInferencerBase):
                def __call__(self, batch):
                    return net(batch) * self.output_patch_mask

            run = Inferencer(Net(patch, out, overlap, 2), None, patch, out, num_output_channels=2, framework="prebuilt",
                             output_patch_overlap=overlap, **arguments)
            return np.asarray(run(Chunk(volume)).array)

        rng = np.random.default_rng(3)
        for patch, pad, shape, kind, arguments, options in (
            ((8, 16, 20), 1, (21, 37, 50), np.float32, {}, []),
            ((8, 16, 20), 1, (21, 37, 50), np.uint8, {"overlap": (2, 4, 6)}, ["--overlap", "2,4,6"]),
            ((9, 16, 20), 1, (21, 37, 50), np.uint16, {"output_crop_margin": (4, 8, 10)}, ["--crop", "4,8,10"]),
            ((8, 16, 20), 0, (18, 37, 50), np.int16, {"overlap": (1, 4, 6), "output_crop_margin": (2, 4, 6)},
             ["--overlap", "1,4,6", "--crop", "2,4,6"]),
            ((8, 16, 20), 1, (20, 40, 48), np.float32,
             {"overlap": (2, 4, 6), "input_size": (20, 40, 48), "mask_output_chunk": False},
             ["--overlap", "2,4,6", "--crop", "2,4,6"]),
        ):
            net = self.net(patch, pad)
            volume = rng.random(shape, np.float32) if kind == np.float32 else rng.integers(0, np.iinfo(kind).max, shape, kind)
            want = quietly(lambda: predict(net, volume, **arguments))
            self.compare("chunkflow", net, volume, want, "--tiling", "chunkflow", *options)


if __name__ == "__main__":
    unittest.main()
