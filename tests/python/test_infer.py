"""pznet.infer: arrays that are sliced, files, exceptions, Ctrl-C, progress. Exits with 77 without NumPy."""

import contextlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import pznet
from pznet import inferring

MODEL = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: %d dim: 6 dim: 10 dim: 12 } } }
layer { name: "a" type: "Convolution" bottom: "data" top: "a" convolution_param {
  num_output: 4 kernel_size: 3 pad: 1 axis: 1 weight_filler { type: "xavier" } } }
layer { name: "r" type: "ReLU" bottom: "a" top: "a" }
layer { name: "y" type: "Convolution" bottom: "a" top: "y" convolution_param {
  num_output: %d kernel_size: 3 pad: 1 axis: 1 weight_filler { type: "xavier" } } }
"""


def compiled(folder, channels_in=1, channels_out=2):
    path = os.path.join(folder, f"net{channels_in}{channels_out}")
    with open(path + ".prototxt", "w") as f:
        f.write(MODEL % (channels_in, channels_out))
    pznet.compile(path + ".prototxt", path + ".so", weights="init:3", effort="estimate")
    return path + ".so"


class Slices:
    """The least that a volume must be."""

    def __init__(self, array, fail_at=None):
        self.array, self.shape, self.dtype, self.fail_at, self.asked = array, array.shape, array.dtype, fail_at, []

    def check(self, key):
        z = key[1] if isinstance(key, tuple) else key
        self.asked.append((z.start, z.stop))
        if self.fail_at is not None and z.stop > self.fail_at:
            raise KeyError(f"plane {self.fail_at} is lost")

    def __getitem__(self, key):
        self.check(key)
        return self.array[key]

    def __setitem__(self, key, value):
        self.check(key)
        self.array[key] = value


class Infer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="pznet-test-")
        cls.folder = cls.temporary.name
        cls.path = compiled(cls.folder)
        cls.net = pznet.load(cls.path, threads=2)
        cls.volume = np.random.default_rng(1).random((23, 25, 31), np.float32)
        cls.file = os.path.join(cls.folder, "in.npy")
        np.save(cls.file, cls.volume)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def infer(self, *args, **options):
        options.setdefault("progress", False)
        return pznet.infer(*args, **options)

    def test_second_dataset_of_a_file(self):
        file = os.path.join(self.folder, "two.h5")
        for name in "first", "second":
            self.assertEqual(self.infer(self.volume, self.net, f"{file}:/{name}"), f"{file}:/{name}")
        # the result has the shape of two channels, which the network does not take
        with self.assertRaisesRegex(pznet.Error, "2 channels, the network takes 1"):
            self.infer(f"{file}/first", self.net)
        with self.assertRaisesRegex(ValueError, "replace it with --update"):
            self.infer(self.volume, self.net, f"{file}:/second")
        self.infer(self.volume, self.net, f"{file}:/second", update=True)
        with self.assertRaisesRegex(pznet.Error, r"it holds /first \(f32, 2 x 23 x 25 x 31\), /second \(f32, 2 x 23 x 25 x 31\)"):
            self.infer(file, self.net)

    def test_rounding_is_told_once(self):
        volume = np.zeros((23, 25, 31), np.int64)
        volume[3, 2, 1] = (1 << 24) + 1
        with self.assertWarnsRegex(UserWarning, "1 value of i64 not exact in float32, the first at z = 3, y = 2, x = 1") as caught:
            self.infer(volume, self.net)
        self.assertEqual(len(caught.warnings), 1)
        self.assertEqual(os.path.basename(caught.filename), os.path.basename(__file__))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.infer(volume, self.net, normalize="zscore")
            self.infer(volume // 2, self.net)

    def test_arrays_give_the_bits_of_files(self):
        out = os.path.join(self.folder, "out.npy")
        for options in (
            {"overlap": (2, 3, 4), "blend": "bump"},
            {"tiling": "monai", "normalize": "zscore"},
            {"tiling": "nnunet", "augment": "mirror:0,1"},
            {"tiling": "chunkflow", "crop": (1, 2, 3)},
            {"overlap": 0.5, "argmax": True},
        ):
            with self.subTest(**options):
                self.assertEqual(self.infer(self.file, self.path, out, threads=1, **options), out)
                want = np.load(out)
                got = self.infer(Slices(self.volume), self.net, **options)
                self.assertEqual(got.dtype, want.dtype)
                self.assertTrue(np.array_equal(got, want))
                mixed = self.infer(self.file, self.net, **options)
                self.assertTrue(np.array_equal(mixed, want))
                self.infer(self.volume, self.net, out, **options)
                self.assertTrue(np.array_equal(np.load(out), want))

    def test_axes_of_arrays_and_files(self):
        path = compiled(self.folder, 2, 1)
        rng = np.random.default_rng(4)
        tczyx = rng.random((3, 2, 9, 11, 13), np.float32)
        want = self.infer(tczyx[1], path)
        last = np.ascontiguousarray(np.moveaxis(tczyx, 1, -1))
        cases = (
            (tczyx, "tczyx", "t=1"),
            (last, "TZYXC", {"t": 1}),
            (np.asfortranarray(tczyx), "tczyx", "t=1"),
            (last[1], "zyxc", None),
            (last[1][:, None], "zyxc", None),  # an axis of length 1 has no letter
            (last[1].transpose(2, 0, 3, 1), "xzcy", None),
        )
        file = os.path.join(self.folder, "axes.npy")
        for array, axes, at in cases:
            with self.subTest(axes=axes, at=at, shape=array.shape):
                self.assertTrue(np.array_equal(self.infer(array, path, axes=axes, at=at), want))
                np.save(file, array)
                self.assertTrue(np.array_equal(self.infer(file, path, axes=axes, at=at), want))
        one = self.infer(tczyx[1, 1], self.net)
        for volume in (tczyx, file):
            np.save(file, tczyx)
            self.assertTrue(np.array_equal(self.infer(volume, self.net, axes="tczyx", at="t=1,c=1"), one))

        class Labelled(np.ndarray):
            dims = ("time", "z", "y", "x", "channel")

        self.assertTrue(np.array_equal(self.infer(last.view(Labelled), path, at="t=1"), want))
        for array, axes, at, says in (
            (tczyx, None, None, "say what its axes are"),
            (tczyx, "tczyx", None, "3 time points"),
            (tczyx, "tczyx", "t=3", "has 3"),
            (tczyx, "czyx", None, "name 4 axes"),
            (tczyx, "tczyq", None, "expected y, x"),
            (tczyx, "tczyx", "z=1", "expected a time point"),
            (tczyx[0], None, "t=1", "has 1"),
        ):
            with self.subTest(axes=axes, at=at), self.assertRaisesRegex(ValueError, says):
                self.infer(array, path, axes=axes, at=at)
        for axes, at, says in (("tczyx", None, "3 time points"), ("zyx", None, "names 3 axes"), (None, "t=x", "expected a time point")):
            with self.subTest(file=axes, at=at), self.assertRaisesRegex(Exception, says):
                self.infer(file, path, axes=axes, at=at)

    def test_archives_of_arrays(self):
        for save in np.savez, np.savez_compressed:
            file = os.path.join(self.folder, "a.npz")
            save(file, self.volume)
            want = self.infer(self.volume, self.net)
            self.assertTrue(np.array_equal(self.infer(file, self.net), want))
            save(file, labels=self.volume * 0, raw=np.asfortranarray(self.volume))
            self.assertTrue(np.array_equal(self.infer(file + ":/raw", self.net), want))
            self.assertTrue(np.array_equal(self.infer(file + ":raw.npy", self.net), want))
            with self.assertRaisesRegex(Exception, "holds 2 arrays: labels, raw; name the one to use, as in .*a.npz:/labels"):
                self.infer(file, self.net)
            with self.assertRaisesRegex(Exception, 'no array "row", but labels, raw'):
                self.infer(file + ":/row", self.net)

    def test_a_patch_is_what_the_network_gives(self):
        patch = self.volume[:6, :10, :12]
        self.assertTrue(np.array_equal(self.infer(patch, self.net), self.net(patch[None, None])[0]))

    def test_planes_are_read_once_and_in_order(self):
        volume, out = Slices(self.volume), Slices(np.full((2, 23, 25, 31), np.nan, np.float32))
        self.assertIs(self.infer(volume, self.net, out, overlap=2), out)
        for asked in volume.asked, out.asked:
            self.assertEqual([z for begin, end in asked for z in range(begin, end)], list(range(23)))
        self.assertFalse(np.isnan(out.array).any())

    def test_dtypes_and_channels(self):
        path = compiled(self.folder, 2, 1)
        rng = np.random.default_rng(2)
        for dtype in ("u1", "u2", "u4", ">u8", "f2", "f4", ">f8", "?", "i8", ">i4", "i2", "i1"):
            factor = 255 if dtype == "u1" else 1
            volume = (rng.random((2, 9, 11, 13)) * 100).astype(dtype)
            got = self.infer(volume, path)
            self.assertEqual(got.shape, (9, 11, 13))
            want = self.infer(volume.astype(np.float32) / np.float32(factor), path)
            self.assertTrue(np.array_equal(got, want), dtype)
        half = np.empty((1, 9, 11, 13), np.float16)
        self.infer(volume, path, half)
        self.assertLess(np.abs(half[0] - want).max(), 1e-3 * np.abs(want).max())
        labels = np.zeros((9, 11, 13), np.uint8)
        self.assertIs(self.infer(volume, path, labels, threshold=0), labels)
        self.assertTrue(np.array_equal(labels, want > 0))

    def test_libraries(self):
        want = self.infer(self.volume, self.net, tiling="monai")
        memmap = np.memmap(os.path.join(self.folder, "raw"), np.float32, "w+", shape=want.shape)
        self.infer(np.load(self.file, mmap_mode="r"), self.net, memmap, tiling="monai")
        self.assertTrue(np.array_equal(memmap, want))
        for library in "h5py", "zarr", "torch":
            if importlib.util.find_spec(library) is None:
                print(f"skipped: {library} is missing")
                continue
            with self.subTest(library=library):
                getattr(self, library)(want)

    def h5py(self, want):
        import h5py

        with h5py.File(os.path.join(self.folder, "volume.h5"), "w") as f:
            f["in"] = self.volume
            self.infer(f["in"], self.net, f.create_dataset("out", want.shape, "f4"), tiling="monai")
            self.assertTrue(np.array_equal(f["out"][:], want))

    def zarr(self, want):
        import zarr

        volume = zarr.create_array(os.path.join(self.folder, "in.zarr"), shape=self.volume.shape, chunks=(4, 8, 8), dtype="f4")
        volume[:] = self.volume
        out = zarr.create_array(os.path.join(self.folder, "out.zarr"), shape=want.shape, chunks=(1, 4, 8, 8), dtype="f4")
        self.infer(volume, self.net, out, tiling="monai")
        self.assertTrue(np.array_equal(out[:], want))

    def torch(self, want):
        import torch

        got = self.infer(torch.from_numpy(self.volume), self.net, tiling="monai")
        self.assertIs(type(got), torch.Tensor)
        self.assertTrue(np.array_equal(got.numpy(), want))
        out = torch.empty(got.shape)
        self.assertIs(self.infer(self.volume, self.net, out, tiling="monai"), out)
        self.assertTrue(torch.equal(out, got))

    def test_boxes(self):
        """Any box is read and written, though the engine's are whole planes."""
        random = np.random.default_rng(1)
        array = random.random((2, 9, 10, 11), np.float32)

        def box(channels):
            start = tuple(int(random.integers(n)) for n in array.shape[1:])
            size = tuple(int(random.integers(1, n - at + 1)) for at, n in zip(start, array.shape[1:]))
            row = (size[2] + int(random.integers(3))) * 4
            strides = (size[0] * size[1] * row + 8, size[1] * row, row)
            memory = bytearray(channels * strides[0])
            voxels = np.ndarray((channels, *size), np.float32, memory, strides=(*strides, 4))
            return start, size, memory, strides, voxels, tuple(slice(at, at + n) for at, n in zip(start, size))

        for letters in ("czyx", "zyxc", "xyzc", "yzcx"):
            source = inferring.Source(array.transpose(["czyx".index(a) for a in letters]), letters)
            for _ in range(20):
                start, size, memory, strides, voxels, where = box(2)
                source.read(start, size, memoryview(memory), strides)
                self.assertTrue(np.array_equal(voxels, array[(slice(None), *where)]))
        source = inferring.Source(array, at="c=1")
        start, size, memory, strides, voxels, where = box(1)
        source.read(start, size, memoryview(memory), strides)
        self.assertTrue(np.array_equal(voxels[0], array[1][where]))
        for channels in (1, 2):
            sink = inferring.Sink(None)
            sink.plan({"output": {"channels": channels, "shape": list(array.shape[1:]), "dtype": "f32"}})
            sink.out[...] = 0
            want = np.zeros((channels, *array.shape[1:]), np.float32)
            for _ in range(20):
                start, size, memory, strides, voxels, where = box(channels)
                voxels[...] = array[:channels][(slice(None), *where)]
                want[(slice(None), *where)] = voxels
                sink.write(start, size, memoryview(memory), strides)
                self.assertTrue(np.array_equal(sink.out.reshape(want.shape), want))

    def test_a_box_has_the_bits_of_the_whole(self):
        want = self.infer(self.volume, self.net, overlap=2, blend="gaussian")
        for box in "3:9,5:,:20", (slice(3, 9), (5, None), slice(None, 20)):
            for volume in self.volume, self.file:
                got = self.infer(volume, self.net, overlap=2, blend="gaussian", box=box)
                self.assertTrue(np.array_equal(got, want[:, 3:9, 5:, :20]))
        cut = self.infer(self.volume[2:10, 3:, :22], self.net)[:, 1:7, 2:, :20]
        self.assertTrue(np.array_equal(self.infer(self.volume, self.net, box="3:9,5:,:20", context=(1, 2, 2)), cut))
        for box, says in ("3:3,:,:", "is empty along z"), ("1,2,3", "expected ranges"), ("0:99,:,:", "from 0 to 99 along z"), (5, "expected ranges"), ("-1:4,:,:", "expected ranges"):
            with self.assertRaisesRegex(ValueError, says):
                self.infer(self.volume, self.net, box=box)

    def test_steps(self):
        class Chunked(Slices):
            chunks = (5, 4, 6)

        self.assertEqual(inferring.Source(Chunked(self.volume)).axes.step, (5, 4, 6))
        self.assertEqual(inferring.Source(Chunked(self.volume), "xzy").axes.step, (4, 6, 5))
        self.assertEqual(inferring.Source(self.volume).axes.step, (0, 0, 0))
        sink = inferring.Sink(Chunked(np.empty((9, 10, 11), np.float32)))
        sink.plan({"output": {"channels": 1, "shape": [9, 10, 11], "dtype": "f32"}})
        self.assertEqual(sink.arguments()[1], (5, 4, 6))

    def test_what_slicing_raises_comes_out(self):
        with self.assertRaisesRegex(KeyError, "plane 20 is lost"):
            self.infer(Slices(self.volume, 20), self.net)
        with self.assertRaisesRegex(KeyError, "plane 3 is lost"):
            self.infer(self.volume, self.net, Slices(np.empty((2, 23, 25, 31), np.float32), 3))
        self.infer(self.volume, self.net)

    def test_ctrl_c_and_resume(self):
        out = os.path.join(self.folder, "resumed.npy")
        want = self.infer(self.volume, self.net, overlap=1)
        for target in (None, out):

            def interrupt(what, done, total, seconds):
                if done == 7:
                    os.kill(os.getpid(), signal.SIGINT)

            with self.assertRaises(KeyboardInterrupt):
                self.infer(self.file, self.net, target, overlap=1, progress=interrupt)
        self.assertTrue(os.path.exists(out + ".pznet-job"))
        done = []
        self.infer(self.file, self.net, out, overlap=1, resume=True, progress=lambda *a: done.append(a[1]))
        self.assertTrue(np.array_equal(np.load(out), want))
        with self.assertRaisesRegex(ValueError, "resume needs"):
            self.infer(self.volume, self.net, resume=True)

    def test_statistics_are_numpys(self):
        """zscore: the mean and population deviation of all finite voxels of a channel. unit: 255 and 65535."""
        path = compiled(self.folder, 2, 1)
        rng = np.random.default_rng(4)
        for dtype in np.uint8, np.uint16, np.int16, np.float32:
            raw = (rng.random((2, 9, 11, 13)) * 250).astype(dtype)
            values = raw.astype(np.float64)
            if dtype == np.float32:
                raw[0, 1, 2, 3], raw[1, 2, 3, 4], raw[1, 0, 0, 0] = np.nan, np.inf, -np.inf
                values = np.where(np.isfinite(raw), raw, np.nan).astype(np.float64)
            mean, deviation = (f(values, axis=(1, 2, 3), keepdims=True) for f in (np.nanmean, np.nanstd))
            zeros = np.nan_to_num(values)  # what --nan zero puts there is not among the voxels that are measured
            want = self.infer(((zeros - mean) / deviation).astype(np.float32), path, normalize="none", overlap=2)
            for crop in 0, 1:
                got = self.infer(raw, path, normalize="zscore", nan="zero", overlap=2, crop=crop)
                part = want[crop:-crop, crop:-crop, crop:-crop] if crop else want
                if not crop:  # cropping moves the patches
                    self.assertLess(np.abs(got - part).max(), 1e-5 * np.abs(want).max(), dtype)
                self.assertEqual(got.shape, part.shape)
            if dtype in (np.uint8, np.uint16):
                unit = (raw.astype(np.float64) / np.iinfo(dtype).max).astype(np.float32)
                self.assertLess(np.abs(self.infer(raw, path, normalize="unit") - self.infer(unit, path)).max(), 1e-6)
            else:
                with self.assertRaisesRegex(ValueError, "needs u8, u16 or bool"):
                    self.infer(raw, path, normalize="unit", nan="zero")

    def test_what_is_stored(self):
        volume = self.volume * 20 - 10
        raw = self.infer(volume, self.net, overlap=2)
        wide = raw.astype(np.float64)
        sigmoid, e = 1 / (1 + np.exp(-wide)), np.exp(wide - wide.max(axis=0))
        got = self.infer(volume, self.net, overlap=2, sigmoid=True)
        self.assertLess((np.abs(got - sigmoid) / sigmoid).max(), 1e-5)
        got = self.infer(volume, self.net, overlap=2, softmax=True)
        self.assertLess(np.abs(got - e / e.sum(axis=0)).max(), 1e-5)
        self.assertLess(np.abs(got.sum(axis=0) - 1).max(), 1e-6)
        for threads in 1, 3:  # the same bits
            self.assertTrue(np.array_equal(self.infer(volume, self.path, overlap=2, softmax=True, threads=threads), got))
        for threshold in 0, 0.3, -1:
            labels = self.infer(volume, self.net, overlap=2, threshold=threshold)
            self.assertEqual(labels.dtype, np.uint8)
            self.assertTrue(np.array_equal(labels, raw > np.float32(threshold)))
        probabilities = self.infer(volume, self.net, overlap=2, sigmoid=True, threshold=0.5)
        self.assertTrue(np.array_equal(probabilities, self.infer(volume, self.net, overlap=2, sigmoid=True) > 0.5))
        clipped = int(((wide * 255 < -0.5) | (wide * 255 >= 255.5)).sum())
        with self.assertWarnsRegex(UserWarning, f"^{clipped} values outside of 0..1"):
            stored = self.infer(volume, self.net, overlap=2, dtype="u8")
        self.assertTrue(np.array_equal(stored, np.floor(np.clip(wide, 0, 1) * 255 + 0.5)))

    def test_values_that_are_not_finite(self):
        bad = self.volume.copy()
        bad[2, 3, 4] = np.inf
        with self.assertRaisesRegex(pznet.Error, "infinity at z = 2, y = 3, x = 4; use --nan zero"):
            self.infer(bad, self.net)
        with self.assertWarnsRegex(UserWarning, "values are not a number or infinite"):
            got = self.infer(bad, self.net, nan="propagate")
        self.assertFalse(np.isfinite(got).all())
        self.assertTrue(np.isfinite(self.infer(bad, self.net, nan="zero")).all())
        bad[2, 3, 4] = 3.4e38
        bad[2, 3, 5] = 3.4e38
        bad[2:4, 2:5, 3:7] *= 3.4e38 / np.abs(bad[2:4, 2:5, 3:7]).max()
        try:
            self.assertTrue(np.isfinite(self.infer(bad, self.net)).all())
        except pznet.Error as error:
            self.assertRegex(str(error), r"the network gives .* in patch \(0, 0, 0\), whose input goes to")

    def test_a_finished_output(self):
        folder = os.path.join(self.folder, "finished")
        os.mkdir(folder)
        out, runs = os.path.join(folder, "out.npy"), []

        def count(what, done, total, seconds):
            runs.append(done)

        self.infer(self.file, self.net, out, resume=True, progress=count)
        self.assertTrue(runs)
        runs.clear()
        self.infer(self.file, self.net, out, resume=True, progress=count)
        self.assertEqual(runs, [])
        with self.assertRaisesRegex(pznet.Error, "not to be overwritten"):
            self.infer(self.file, self.net, out, overwrite=False)
        self.infer(self.file, self.net, out, resume=True, overwrite=False, progress=count)
        self.assertEqual(runs, [])
        self.infer(self.file, self.net, out, resume=True, overlap=2, progress=count)
        self.assertTrue(runs)

    def test_finished_datasets_of_one_file(self):
        file, runs = os.path.join(self.folder, "finished.h5"), []
        for name in "first", "second":
            self.infer(self.file, self.net, f"{file}:/{name}")
        if "user.pznet.finished" not in os.listxattr(file):
            self.skipTest("a file system without extended attributes")
        for name in "first", "second":
            self.infer(self.file, self.net, f"{file}:/{name}", resume=True, progress=lambda *a: runs.append(a))
        self.assertEqual(runs, [])
        with self.assertRaisesRegex(ValueError, "replace it with --update.*the overlap was 0,0,0 when it was made"):
            self.infer(self.file, self.net, f"{file}:/first", resume=True, overlap=2)

    def test_an_input_that_changes(self):
        path = os.path.join(self.folder, "changing.npy")
        np.save(path, self.volume)

        def change(what, done, total, seconds):
            if done == 5:
                with open(path, "r+b") as f:
                    f.seek(-4, os.SEEK_END)
                    f.write(b"\0\0\0\0")

        for out in None, os.path.join(self.folder, "changed.npy"):
            with self.assertRaisesRegex(pznet.Error, "changing.npy: was changed while it was read"):
                self.infer(path, self.net, out, progress=change)
        self.assertFalse(os.path.exists(out))

    def test_progress(self):
        seen = []
        self.infer(self.volume, self.net, progress=lambda *a: seen.append(a))
        self.assertEqual([s[1] for s in seen], list(range(1, len(seen) + 1)))
        self.assertEqual(seen[-1][:3], ("patches", 4 * 3 * 3, 4 * 3 * 3))
        with self.assertRaises(ZeroDivisionError):
            self.infer(self.volume, self.net, progress=lambda *a: 1 / 0)
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.infer(self.volume, self.net, progress=True)
        self.assertIn("[########################] 36/36 patches", shown.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.infer(self.volume, self.net)
        self.assertEqual(shown.getvalue(), "")

    def test_other_threads_run_meanwhile(self):
        stop, count = threading.Event(), [0]

        def count_up():
            while not stop.wait(1e-4):
                count[0] += 1

        other = threading.Thread(target=count_up)
        other.start()
        before = count[0]
        self.infer(np.tile(self.volume, (4, 2, 2)), self.net, overlap=3)
        after = count[0]
        stop.set()
        other.join()
        self.assertGreater(after - before, 3)

    def test_refusals(self):
        for options, says in (
            ({"tiling": "mona"}, "tiling 'mona': expected pznet, monai, nnunet, chunkflow or exact"),
            ({"tiling": "monai", "blend": "bump"}, "blends with gaussian or constant, not bump"),
            ({"overlap": 10}, "overlap 10 along z"),
            ({"overlap": 1.0}, "overlap 1 along z"),
            ({"overlap": (1, 2)}, "overlap"),
            ({"overlap": "4"}, "overlap"),
            ({"augment": "mirror:3"}, "augment 'mirror:3'"),
            ({"augment": "mirror:0,,1"}, "augment"),
            ({"augment": "flip"}, "augment"),
            ({"crop": 12}, "crop 12 along z leaves nothing"),
            ({"argmax": True, "dtype": "u8"}, "exclude each other"),
            ({"threshold": 0.5, "argmax": True}, "threshold goes without"),
            ({"threshold": float("nan")}, "expected a number"),
            ({"threshold": 1e39}, "expected a number"),
            ({"sigmoid": True, "softmax": True}, "exclude each other"),
            ({"softmax": True, "argmax": True}, "--argmax goes without --softmax"),
            ({"sigmoid": True, "skip_zero": True}, "--skip-zero goes without --sigmoid"),
            ({"out": np.empty((23, 25, 31), np.float32)}, r"out has shape \(23, 25, 31\): expected \(2, 23, 25, 31\)"),
            ({"out": np.empty((2, 23, 25, 31), np.uint8)}, "out is of uint8, the result of float32"),
        ):
            with self.subTest(**{k: str(v) for k, v in options.items() if k != "out"}):
                with self.assertRaisesRegex(ValueError, says) as caught:
                    self.infer(self.volume, self.net, **options)
                self.assertNotIn("\n", str(caught.exception))
        for volume, says in (
            (self.volume[0], "shape"),
            (self.volume.astype(np.complex64), "the volume is of complex64"),
            (None, "shape"),
        ):
            with self.assertRaisesRegex(ValueError, says):
                self.infer(volume, self.net)
        with self.assertRaisesRegex(pznet.Error, "the volume: 3 channels, the network takes 1"):
            self.infer(np.zeros((3, 8, 8, 8), np.float32), self.net)
        with self.assertRaisesRegex(pznet.Error, "not a number at z = 2"):
            bad = self.volume.copy()
            bad[2, 3, 4] = np.nan
            self.infer(bad, self.net)
        with self.assertRaisesRegex(pznet.Error, "missing.so"):
            self.infer(self.volume, "missing.so")
        with self.assertRaisesRegex(MemoryError, "the limit is"):
            self.infer(self.volume, self.net, memory=1000)

    @unittest.skipUnless("PZNET" in os.environ, "PZNET does not name the command")
    def test_the_command_says_what_it_clipped(self):
        out, report = os.path.join(self.folder, "clipped.npy"), os.path.join(self.folder, "clipped.json")
        values = 255 * self.infer(self.volume, self.net).astype(np.float64)
        clipped = int(((values < -0.5) | (values >= 255.5)).sum())
        self.assertGreater(clipped, 0)
        command = [os.environ["PZNET"], "infer", self.path, self.file, out, "--dtype", "u8", "--json", report]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"pznet: warning: {out}: {clipped} values outside of 0..1 clipped by --dtype u8", done.stderr)
        with open(report) as f:
            self.assertEqual(json.load(f)["clipped"], clipped)
        done = subprocess.run(command + ["--sigmoid", "-q"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(report) as f:
            self.assertEqual(json.load(f)["clipped"], 0)

    @unittest.skipUnless("PZNET" in os.environ, "PZNET does not name the command")
    def test_the_command_refuses_contradictions(self):
        out = os.path.join(self.folder, "refused.npy")
        for options, says in (
            (["--tiling", "tile"], "expected pznet, monai, nnunet, chunkflow or exact"),
            (["--tiling", "monai", "--blend", "bump"], "blends with gaussian or constant, not bump"),
            (["--tiling", "chunkflow", "--blend", "gaussian"], "blends with bump, not gaussian"),
            (["--tiling", "chunkflow", "--border", "zero"], "a border has no meaning"),
            (["--overlap", "1.0"], "below 1"),
            (["--overlap", "0.5,0.5"], "expected voxels"),
            (["--overlap", "0.5,,0.5"], "expected voxels"),
            (["--overlap", "nan.0"], "expected voxels"),
            (["--augment", "mirror:"], "expected mirror"),
            (["--augment", "mirror:0,0"], "expected mirror"),
            (["--augment", "mirror:3"], "expected mirror"),
            (["--augment", "rotate"], "expected mirror"),
            (["--crop", "1,2"], "expected three numbers"),
            (["--crop", "12"], "crop 12 along z leaves nothing"),
            (["--sums", "double"], "expected auto, float or half"),
            (["--threshold", "0.5", "--argmax"], "--threshold goes without"),
            (["--threshold", "0.5", "--dtype", "u8"], "--threshold goes without"),
            (["--threshold", "half"], "expected a number such as 0.5"),
            (["--threshold", "inf"], "expected a number such as 0.5"),
            (["--threshold", ""], "expected a number such as 0.5"),
            (["--sigmoid", "--softmax"], "exclude each other"),
            (["--argmax", "--sigmoid"], "--argmax goes without --sigmoid"),
        ):
            with self.subTest(" ".join(options)):
                command = [os.environ["PZNET"], "infer", self.path, self.file, out, "-q", *options]
                done = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
                self.assertIn(says, done.stderr)
                self.assertEqual([f for f in os.listdir(self.folder) if f.startswith("refused")], [])


if __name__ == "__main__":
    unittest.main()
