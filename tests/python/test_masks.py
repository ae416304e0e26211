"""Masks and ensembles of pznet.infer and of the command: arrays, files, stores, exact tiles, refusals. PZNET: the command. Exits with 77 without NumPy."""

import functools
import importlib.util
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import pznet

LAYER = """layer {{ name: "{name}" type: "Convolution" bottom: "{of}" top: "{name}" convolution_param {{ num_output: {maps} kernel_size: 3 pad: 1
  engine: CAFFE axis: 1 weight_filler {{ type: "xavier" }} bias_filler {{ type: "constant" value: 0.1 }} }} }}
layer {{ name: "{name}_a" type: "{act}" bottom: "{name}" top: "{name}" }}
"""
SIZE = (6, 10, 12)


def text(size=SIZE, maps=2):
    dims = " ".join(f"dim: {n}" for n in (1, 1, *size))
    return (f'name: "n"\nlayer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {dims} }} }} }}\n'
            + LAYER.format(name="a", of="data", maps=4, act="ReLU") + LAYER.format(name="y", of="a", maps=maps, act="Sigmoid"))


class Case(unittest.TestCase):
    temporary = tempfile.TemporaryDirectory(prefix="pznet-test-")
    count = itertools.count()

    @classmethod
    def setUpClass(cls):
        cls.volume = np.random.default_rng(1).random((23, 25, 31), np.float32)
        cls.file = cls.path("in.npy")
        np.save(cls.file, cls.volume)
        cls.a, cls.b, cls.c = (cls.network(seed=seed) for seed in (3, 4, 5))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.temporary.name, f"{next(cls.count)}-{name}")

    @staticmethod
    @functools.cache  # since compiling takes most of the time
    def network(seed=3, model=None, type="f32", patch=None):
        path, net = Case.path("net.prototxt"), Case.path("net.so")
        with open(path, "w") as file:
            file.write(model or text())
        exact = {"tiling": "exact", "patch": patch} if patch else {}
        pznet.compile(path, net, weights=f"init:{seed}", effort="estimate", tuning="none", output_types={"y": type}, **exact)
        return net

    def infer(self, *args, **options):
        return pznet.infer(*args, **{"progress": False, "overlap": 2, **options})

    def command(self, *words, status=0):
        run = subprocess.run([os.environ["PZNET"], "infer", *words], capture_output=True, text=True, env={**os.environ, "PZNET_PYTHON": sys.executable})
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stderr

    def report(self, *words):
        path = self.path("report.json")
        self.command(*words, "-q", "--json", path)
        with open(path) as file:
            return json.load(file)

    def refused(self, says, *args, raises=pznet.Error, **options):
        with self.assertRaisesRegex(raises, says) as caught:
            self.infer(*args, **options)
        self.assertNotIn("\n", str(caught.exception))


class Ensembles(Case):
    def test_the_mean(self):
        alone = [self.infer(self.volume, net) for net in (self.a, self.b, self.c)]
        self.assertGreater(float(np.abs(alone[0] - alone[1]).max()), 1e-2)
        got = self.infer(self.volume, self.a, ensemble=[self.b], threads=1)
        np.testing.assert_allclose(got, (alone[0] + alone[1]) / 2, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(self.infer(self.volume, self.a, ensemble=[self.b], threads=2), got)
        nets = [pznet.load(net, threads=2) for net in (self.a, self.b)]
        np.testing.assert_array_equal(self.infer(self.volume, nets[0], ensemble=nets[1:]), got)
        three = self.infer(self.volume, self.a, ensemble=(self.b, self.c), augment="mirror", argmax=True)
        means = sum(self.infer(self.volume, net, augment="mirror") for net in (self.a, self.b, self.c)) / 3
        self.assertGreater((three == means.argmax(0)).mean(), 0.9999)

    def test_the_command(self):
        want, out = self.infer(self.volume, self.a, ensemble=[self.b, self.c]), self.path("out.npy")
        digest = pznet.load(self.a).digest
        plan = self.report(self.a, self.file, out, "--ensemble", f"{self.b},{self.c}", "--overlap", "2", "--digest", digest)
        np.testing.assert_array_equal(np.load(out), want)
        self.assertEqual([(n["path"], n["digest"]) for n in plan["ensemble"]], [(net, pznet.load(net).digest) for net in (self.a, self.b, self.c)])
        self.assertEqual(plan["determined_by"]["network 3"], plan["ensemble"][2]["digest"])
        alone = self.report(self.a, self.file, self.path("alone.npy"), "--overlap", "2")
        self.assertNotIn("ensemble", alone)
        self.assertGreater(plan["memory"]["network"], 2 * alone["memory"]["network"])
        self.report(self.a, self.file, out, "--ensemble", self.b, "--ensemble", self.c, "--overlap", "2")
        np.testing.assert_array_equal(np.load(out), want)
        for words in (f"{self.b},", "", ",".join([self.b] * 32)):
            self.assertIn("expected network files as in b.so,c.so, at most 31", self.command(self.a, self.file, out, "--ensemble", words, status=2))
        self.assertIn("missing.so", self.command(self.a, self.file, out, "--ensemble", "missing.so", status=3))

    def test_killed_and_resumed(self):
        volume, out = self.path("large.npy"), self.path("killed.npy")
        np.save(volume, np.random.default_rng(4).random((60, 64, 64), np.float32))
        words = [self.a, volume, out, "--overlap", "2,3,4", "--ensemble", self.b]
        self.command(*words, "-q")
        want, killed = np.load(out), 0
        os.remove(out)
        for wait in (0.1, 0.15, 0.2):
            run = subprocess.Popen([os.environ["PZNET"], "infer", *words, "-q", "--resume", "--threads", "1"])
            time.sleep(wait)
            run.send_signal(signal.SIGKILL)
            killed += run.wait() == -signal.SIGKILL
        self.assertGreater(killed, 0)
        if os.path.exists(out + ".pznet-job"):
            line = self.command(*words[:-1], self.c, "-q", "--resume", status=3)
            self.assertIn("cannot go on: the network 2 was ", line)
        self.command(*words, "-q", "--resume")
        np.testing.assert_array_equal(np.load(out), want)
        self.assertIn("was finished before", self.command(*words, "--resume"))
        self.assertIn("is made anew: the network 2 was", self.command(*words[:-1], self.c, "--resume"))

    def test_exact_tiles(self):
        a, b = (self.network(seed, patch=(3, 8, 9)) for seed in (3, 4))
        means = (self.infer(self.volume, a, overlap=None) + self.infer(self.volume, b, overlap=None)) / 2
        np.testing.assert_allclose(self.infer(self.volume, a, overlap=None, ensemble=[b]), means, rtol=0, atol=1e-6)
        self.refused("networks that are averaged have the same", self.volume, a, ensemble=[self.a], overlap=None)

    def test_refused(self):
        net = pznet.load(self.a)
        other, one, typed = self.network(model=text((6, 10, 14))), self.network(model=text(maps=1)), self.network(type="bf16")
        for path, says in ((other, "its input is 1 x 6 x 10 x 14 of f32, that of .*-net.so is 1 x 6 x 10 x 12 of f32; networks"),
                           (one, "its output is 1 x 6 x 10 x 12 of f32, that of .* is 2 x 6"), (typed, "its output is 2 x 6 x 10 x 12 of bf16")):
            self.refused(f"{path}: {says}", self.volume, net, ensemble=[self.b, path])
        self.refused("one open network is given twice", self.volume, net, ensemble=[net], raises=ValueError)
        self.refused("at most 31", self.volume, net, ensemble=[self.b] * 32, raises=ValueError)
        self.refused("expected a list of networks", self.volume, net, ensemble=self.b, raises=ValueError)
        line = self.command(self.b, self.file, self.path("no.npy"), "--ensemble", self.a, "--digest", net.digest, status=3)
        self.assertIn(f"{self.b}: ", line)  # the digest is of the first one


class Masks(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mask = np.zeros(cls.volume.shape, np.uint8)
        cls.mask[3:9, 4:12, 20:] = 2
        cls.mask[20, 24, 1] = 255
        cls.net = pznet.load(cls.a, threads=2)
        cls.want = np.where(cls.mask, pznet.infer(cls.volume, cls.net, overlap=2, progress=False), 0).astype(np.float32)

    def test_arrays(self):
        class Asked:
            def __init__(this, array):
                this.array, this.shape, this.dtype, this.most = array, array.shape, array.dtype, 0

            def __getitem__(this, key):
                part = this.array[key]
                this.most = max(this.most, part.size)
                return part

        asked = Asked(self.mask)
        floats = np.where(self.mask, np.float32(1e-42), np.float32(-0.0))  # denormal, and a zero
        for mask in (self.mask, self.mask != 0, self.mask.astype(np.float64), floats, self.mask.astype(">i2"), self.mask[None], asked):
            for net in (self.net, self.a):
                np.testing.assert_array_equal(self.infer(self.volume, net, mask=mask), self.want)
        self.assertTrue(0 < asked.most < self.mask.size)
        box = (slice(2, 22), slice(5, 25), slice(0, 28))
        np.testing.assert_array_equal(self.infer(self.volume, self.net, mask=self.mask, box=box), self.want[(slice(None), *box)])
        self.assertFalse(self.infer(self.volume, self.net, mask=np.zeros_like(self.mask), argmax=True).any())

    def test_files(self):
        mask, out = self.path("mask.npy"), self.path("out.npy")
        np.save(mask, self.mask)
        report = self.report(self.a, self.file, out, "--overlap", "2", "--mask", mask)
        np.testing.assert_array_equal(np.load(out), self.want)
        self.assertEqual(report["mask"], {"path": mask, "dtype": "u8"})
        self.assertEqual(report["patches_run"] + report["patches_skipped"], report["patches"])
        self.assertLess(report["patches_run"], report["patches"] / 2)

    def test_results_as_masks(self):
        """What a network has found is the mask of another: in TIFF and HDF5, in the file that the result goes into too."""
        first, want, both = self.network(model=text(maps=1)), self.infer(self.volume, self.net), self.path("both.h5")
        for mask, out in ((self.path("mask.tif"), self.path("out.npy")), (f"{both}:/mask", f"{both}:/result")):
            self.command(first, self.file, mask, "--threshold", "0.5", "-q")
            found = self.infer(self.volume, first, threshold=0.5, overlap=0)
            self.assertTrue(0 < found.mean() < 1)
            self.command(self.a, self.file, out, "--overlap", "2", "--mask", mask, "-q")
            copy = self.path("copy.npy")
            pznet.infer(self.file, self.net, copy, overlap=2, mask=mask, progress=False)
            np.testing.assert_array_equal(np.load(copy), np.where(found, want, 0))
            if out.endswith("npy"):
                np.testing.assert_array_equal(np.load(out), np.load(copy))

    @unittest.skipUnless(importlib.util.find_spec("tensorstore") and importlib.util.find_spec("zarr"), "tensorstore or zarr is missing")
    def test_stores(self):
        import zarr

        mask, out = self.path("mask.zarr"), self.path("out.npy")
        zarr.create_array(mask, shape=self.mask.shape, dtype="u1", chunks=(8, 8, 8))[:] = self.mask
        report = self.report(self.a, self.file, out, "--overlap", "2", "--mask", mask)
        np.testing.assert_array_equal(np.load(out), self.want)
        self.assertEqual(report["mask"]["path"], mask)
        self.assertIn("was finished before", self.command(self.a, self.file, out, "--overlap", "2", "--mask", mask, "--resume"))
        stored = self.path("out.zarr")
        self.command(self.a, self.file, stored, "--overlap", "2", "--mask", mask, "--ensemble", self.a, "--chunks", "8,8,8", "--shards", "8,16,16", "-q")
        np.testing.assert_array_equal(zarr.open_array(stored + "/0", mode="r")[:], self.want)
        small = self.path("small.zarr")
        zarr.create_array(small, shape=(8, 8, 8), dtype="u1", chunks=(8, 8, 8))[:] = 0
        self.assertIn("a mask of 8 x 8 x 8 voxels (z, y, x) for a volume of 23 x 25 x 31", self.command(self.a, self.file, out, "--mask", small, status=3))

    def test_exact_tiles(self):
        mask = np.zeros((40, 16, 18), bool)
        mask[17, 3, 3] = mask[18, 15, 2] = mask[33, 12, 12] = True
        volume = np.random.default_rng(3).random(mask.shape, np.float32)
        path, source, out = self.path("mask.npy"), self.path("volume.npy"), self.path("out.npy")
        np.save(path, mask), np.save(source, volume)
        net = self.network(3, patch=(3, 8, 9))
        want = np.where(mask, pznet.infer(volume, net, progress=False), 0)
        report = self.report(net, source, out, "--mask", path)
        np.testing.assert_array_equal(np.load(out), want)
        self.assertLess(report["patches_run"], report["patches"] / 2)
        np.testing.assert_array_equal(pznet.infer(volume, net, mask=mask, box="16:36,:,:", progress=False), want[:, 16:36])

    def test_refused(self):
        self.refused("the mask: a mask of 23 x 25 x 30 voxels .z, y, x. for a volume of 23 x 25 x 31", self.volume, self.net, mask=self.mask[..., 1:])
        self.refused("a mask of 2 channels", self.volume, self.net, mask=np.stack([self.mask] * 2))
        self.refused("the mask is of complex64", self.volume, self.net, mask=self.mask.astype(np.complex64), raises=ValueError)
        self.refused("resume needs", self.file, self.net, self.path("no.npy"), mask=self.mask, resume=True, raises=ValueError)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):

            class Bad:
                shape, dtype = self.mask.shape, self.mask.dtype

                def __getitem__(this, key):
                    return 1 / 0

            self.infer(self.volume, self.net, mask=Bad())
        mask = self.path("small.npy")
        np.save(mask, self.mask[1:])
        line = self.command(self.a, self.file, self.path("no.npy"), "--mask", mask, status=3)
        self.assertEqual(line, f"pznet: {mask}: a mask of 22 x 25 x 31 voxels (z, y, x) for a volume of 23 x 25 x 31, {self.file}; expected the same size\n")


if __name__ == "__main__":
    unittest.main()
