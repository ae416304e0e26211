"""What `infer` writes beside float32: u16, f16, compressed files, pictures; read back by h5py, tifffile, nibabel, tensorstore and Pillow where they are."""

import os
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings
import zlib

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import pznet
from pznet import _pznet
from test_infer import compiled


def module(name):
    try:
        return __import__(name)
    except ImportError:
        return None


h5py, tifffile, nibabel, tensorstore = (module(name) for name in ("h5py", "tifffile", "nibabel", "tensorstore"))
COLOURS = ((230, 25, 75), (60, 180, 75))


def picture(path):
    """A PNG as pznet writes it: 8 bits of red, green and blue, the filter "up"."""
    with open(path, "rb") as file:
        data = file.read()
    width, height = struct.unpack(">II", data[16:24])
    (packed,) = struct.unpack(">I", data[33:37])
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + packed]), np.uint8).reshape(height, 1 + 3 * width)
    rgb = np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)
    if module("PIL"):
        from PIL import Image

        with Image.open(path) as image:
            np.testing.assert_array_equal(np.asarray(image), rgb)
    return rgb


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = cls.work.name
        cls.path = compiled(cls.folder)
        cls.net = pznet.load(cls.path, threads=2)
        cls.volume = np.random.default_rng(0).random((23, 25, 31), np.float32) * 8 - 4
        cls.volume_path = os.path.join(cls.folder, "volume.npy")
        np.save(cls.volume_path, cls.volume)
        cls.want = pznet.infer(cls.volume, cls.net, overlap=2, progress=False)

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def file(self, name):
        return os.path.join(self.folder, name)

    def infer(self, out=None, volume=None, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pznet.infer(self.volume_path if volume is None else volume, self.net, out, overlap=2, progress=False, **options)

    def expected(self, dtype):
        wide = self.want.astype(np.float64)
        if dtype == "u16":
            return np.floor(np.clip(wide, 0, 1) * 65535 + 0.5).astype(np.uint16)
        return self.want.astype({"f32": np.float32, "f16": np.float16}[dtype])

    def read(self, path):
        if path.endswith(".npy"):
            return np.load(path)
        if path.endswith(".tif"):
            stored = tifffile.imread(path)  # [z, channel, y, x]
            return np.moveaxis(stored, 1, 0)
        if ".nii" in path:
            return np.asanyarray(nibabel.load(path).dataobj).transpose()
        with h5py.File(path) as file:
            return file["main"][:]

    def test_types_in_files_as_others_read_them(self):
        for name, library in ("a.npy", np), ("a.h5", h5py), ("a.tif", tifffile), ("a.nii", nibabel), ("a.nii.gz", nibabel):
            for dtype in "u16", "f16", "f32":
                for codec in (None, "gzip", "gzip:4") if name in ("a.h5", "a.tif") else (None,):
                    if not library or (dtype == "f16" and ".nii" in name):
                        continue
                    with self.subTest(name=name, dtype=dtype, codec=codec):
                        out = self.file(name)
                        self.infer(out, dtype=dtype, codec=codec)
                        got, want = self.read(out), self.expected(dtype)
                        self.assertEqual(got.dtype, want.dtype)
                        np.testing.assert_array_equal(got, want)
                        os.unlink(out)

    @unittest.skipUnless(h5py, "h5py is not there")
    def test_compressed_hdf5(self):
        out = self.file("packed.h5")
        self.infer(out, dtype="u16", codec="gzip:3")
        with h5py.File(out) as file:
            data = file["main"]
            self.assertEqual((data.compression, data.compression_opts, data.shuffle, data.chunks), ("gzip", 3, True, (1, 12, 25, 31)))
        self.infer(out, argmax=True, codec="gzip")
        with h5py.File(out) as file:
            self.assertEqual((file["main"].compression, file["main"].shuffle), ("gzip", False))
            np.testing.assert_array_equal(file["main"][:], self.want.argmax(axis=0))

    @unittest.skipUnless(tifffile, "tifffile is not there")
    def test_compressed_tiff(self):
        out = self.file("packed.tif")
        for dtype, predictor in ("u16", 2), ("f32", 1):
            self.infer(out, dtype=dtype, codec="gzip")
            with tifffile.TiffFile(out) as file:
                page = file.pages[0]
                self.assertEqual((int(page.compression), int(page.predictor)), (8, predictor))
        np.testing.assert_array_equal(self.infer(volume=np.load(self.volume_path)), self.want)

    def test_arrays(self):
        for dtype in "u16", "f16":
            with self.subTest(dtype=dtype):
                got, want = self.infer(volume=self.volume, dtype=dtype), self.expected(dtype)
                self.assertEqual(got.dtype, want.dtype)
                np.testing.assert_array_equal(got, want)
                out = np.empty_like(want)
                self.infer(out, volume=self.volume, dtype=dtype)
                np.testing.assert_array_equal(out, want)
        wide = self.want.astype(np.float64) * 65535
        clipped = int(((wide < -0.5) | (wide >= 65535.5)).sum())
        self.assertGreater(clipped, 0)
        with self.assertWarnsRegex(UserWarning, f"^{clipped} values outside of 0..1 were clipped by dtype='u16'"):
            pznet.infer(self.volume, self.net, overlap=2, dtype="u16", progress=False)
        huge = self.volume * 1e6
        beyond = int((np.abs(pznet.infer(huge, self.net, overlap=2, progress=False)) >= 65520).sum())
        self.assertGreater(beyond, 0)
        with self.assertWarnsRegex(UserWarning, f"^{beyond} values beyond 65504 were clipped by dtype='f16'"):
            got = pznet.infer(huge, self.net, overlap=2, dtype="f16", progress=False)
        self.assertEqual(float(np.abs(got).max()), 65504)

    def test_halves_are_read(self):
        half = self.volume.astype(np.float16)
        want = self.infer(volume=half.astype(np.float32))
        np.testing.assert_array_equal(self.infer(volume=half), want)
        np.save(self.file("half.npy"), half)
        np.testing.assert_array_equal(self.infer(volume=self.file("half.npy")), want)
        if h5py:
            with h5py.File(self.file("half.h5"), "w") as file:
                file["x"] = half
            np.testing.assert_array_equal(self.infer(volume=self.file("half.h5")), want)
        if tifffile:
            tifffile.imwrite(self.file("half.tif"), half)
            np.testing.assert_array_equal(self.infer(volume=self.file("half.tif"), axes="zyx"), want)

    @unittest.skipUnless(tensorstore, "tensorstore is not there")
    def test_stores(self):
        for name, dtypes in ("a.zarr", ("u16", "f16")), ("a.n5", ("u16",)), ("a.precomputed", ("u16",)):
            for dtype in dtypes:
                with self.subTest(name=name, dtype=dtype):
                    out = self.file(name)
                    self.infer(out, dtype=dtype, preview=self.file("store.png"))
                    back = self.stored(out)
                    self.assertEqual(back.dtype, self.expected(dtype).dtype)
                    np.testing.assert_array_equal(back, self.expected(dtype))
        self.infer(self.file("two.zarr"), dtype="f16", format="zarr2", codec="gzip")
        np.testing.assert_array_equal(self.stored(self.file("two.zarr")), self.expected("f16"))
        for name in "b.n5", "b.precomputed":
            with self.assertRaisesRegex(ValueError, "has no floats of 16 bits; use zarr3 or zarr2"):
                self.infer(self.file(name), dtype="f16")
            self.assertFalse(os.path.exists(self.file(name)))
        self.infer(self.file("npy.npy"), dtype="u16", preview=self.file("npy.png"))
        with open(self.file("npy.png"), "rb") as a, open(self.file("store.png"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    @staticmethod
    def stored(path):
        from pznet import axes, stores

        array = stores.Array(path, None, 2)
        of = axes.Axes(array.shape, array.letters, None, array)
        voxels = np.empty((of.channels, *of.shape), array.dtype)
        of.read(array, (0, 0, 0), of.shape, voxels)
        return voxels

    def test_killed_while_compressing(self):
        """Wherever it ends, --resume gives the bytes of a run that was not killed."""
        command = [os.environ.get("PZNET", "pznet"), "infer", self.path, self.volume_path, "--codec", "gzip", "--overlap", "2,2,2", "--progress", "json"]
        for name in "killed.h5", "killed.tif":
            want, out = self.file("w" + name), self.file(name)
            subprocess.run([*command[:4], want, *command[4:]], check=True, capture_output=True)
            for word in "patches", "writing":
                run = subprocess.Popen([*command[:4], out, *command[4:]], stderr=subprocess.PIPE, text=True)
                for line in run.stderr:
                    if f'"what": "{word}"' in line.replace('":"', '": "'):
                        run.send_signal(signal.SIGKILL)
                        break
                run.stderr.close()
                run.wait()
                done = subprocess.run([*command[:4], out, *command[4:], "--resume"], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(out, "rb") as a, open(want, "rb") as b:
                    self.assertEqual(a.read(), b.read(), f"{name} {word}")
                self.assertFalse(os.path.exists(out + ".pznet-job"))
                os.unlink(out)

    def test_refusals(self):
        for options, says in (
            ({"dtype": "f64"}, "dtype 'f64': expected f32, u8, u16 or f16"),
            ({"dtype": "u16", "argmax": True}, "exclude each other"),
            ({"dtype": "f16", "out": self.file("x.nii")}, "NIfTI has no floats of 16 bits"),
            ({"codec": "gzip", "out": self.file("x.npy")}, "--codec compresses .h5 and .tif"),
            ({"codec": "blosc", "out": self.file("x.h5")}, "expected gzip, gzip:LEVEL from 1 to 9, or none"),
            ({"codec": "gzip"}, "codec: is of outputs in stores, as out.zarr, and of .h5 and .tif"),
            ({"preview": self.file("x.jpg")}, "expected a name that ends with .png"),
        ):
            with self.subTest(**options), self.assertRaisesRegex(ValueError, says):
                self.infer(**options)
        with self.assertRaisesRegex((pznet.Error, OSError), "missing"):
            self.infer(preview=self.file("missing/x.png"))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("x.")], [])

    def test_preview(self):
        out, png = self.file("labels.npy"), self.file("labels.png")
        self.infer(out, argmax=True, preview=png)
        rgb, labels, plane = picture(png), np.load(out)[11], self.volume[11].astype(np.float64)
        self.assertEqual(rgb.shape, (25, 31 + 8 + 31, 3))
        low, high = np.percentile(plane, (1, 99))
        grey = np.floor(np.clip((plane - low) / (high - low), 0, 1) * 255 + 0.5)
        self.assertLessEqual(np.abs(rgb[:, :31] - grey[..., None]).max(), 1)
        left, right = rgb[:, :31].astype(int), rgb[:, 39:].astype(int)
        np.testing.assert_array_equal(right[labels == 0], left[labels == 0])
        np.testing.assert_array_equal(right[labels == 1], (left[labels == 1] + COLOURS[0]) // 2)
        same = self.file("same.png")
        self.infer(volume=self.volume, argmax=True, preview=same)  # from arrays
        np.testing.assert_array_equal(picture(same), rgb)
        _pznet.preview(same, np.ascontiguousarray(self.volume[11]), labels, True)
        np.testing.assert_array_equal(picture(same), rgb)

    def test_pictures_of_planes(self):
        png = self.file("plane.png")
        plane = np.arange(3000 * 8, dtype=np.float32).reshape(8, 3000)
        result = np.zeros((2, 8, 3000), np.float16)
        result[0, :, :1500] = 0.5
        result[1, :, 1500:] = 1
        _pznet.preview(png, plane, result, False)
        rgb = picture(png)
        self.assertEqual(rgb.shape, (3, 2008, 3))
        self.assertEqual((tuple(rgb[1, 1018]), tuple(rgb[1, 2000])), ((128, 0, 0), (0, 255, 0)))
        for plane_, result_ in ((plane, result[:, :4]), (plane.astype(np.float64), result), (plane, result.astype(np.complex64)), (plane[0], result)):
            with self.assertRaises(ValueError):
                _pznet.preview(png, plane_, result_, False)
        with self.assertRaises((BufferError, ValueError)):
            _pznet.preview(png, plane[:, ::2], result[:, :, ::2], False)


if __name__ == "__main__":
    unittest.main()
