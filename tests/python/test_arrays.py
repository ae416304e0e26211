"""What networks take and give: arrays of other libraries, other numbers of samples, networks that come back open."""

import array
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
import pznet.arrays
import pznet.compiling
import pznet.results

MODEL = """
name: "two"
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 2 dim: 3 dim: 4 dim: 6 } } }
layer { name: "b" type: "Input" top: "b" input_param { shape { dim: 2 dim: 3 dim: 4 dim: 6 } } }
layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }
layer { name: "prob" type: "Sigmoid" bottom: "a" top: "prob" }
"""
FLAT = """
name: "flat"
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 2 dim: 3 dim: 4 dim: 6 } } }
layer { name: "r" type: "Reshape" bottom: "a" top: "r" reshape_param { shape { dim: 1 dim: 6 dim: 4 dim: 6 } } }
"""


class Foreign:
    """An array of another library, of the array API standard, over the memory of a NumPy array."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array_namespace__(self):
        return Namespace


class Namespace:
    @staticmethod
    def from_dlpack(values):
        return Foreign(np.from_dlpack(values))


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            model = pathlib.Path(folder, "two.prototxt")
            model.write_text(MODEL)
            cls.net = pznet.compile(model, effort="estimate", threads=1)
            cls.folder = os.path.dirname(cls.net.path)
            model.write_text(FLAT)
            cls.flat = pznet.compile(model, effort="estimate")
        rng = np.random.default_rng(3)
        cls.a, cls.b = rng.standard_normal((2, 5, 3, 4, 6)).astype(np.float32)

    def check(self, results, a, b):
        np.testing.assert_array_equal(results[0], a + b)
        np.testing.assert_allclose(results[1], 1 / (1 + np.exp(-a.astype(np.float64))), rtol=1e-6)

    def test_a_network_without_an_output_comes_back_open(self):
        self.assertEqual(self.net.threads, 1)
        self.assertEqual([p.name for p in self.net.outputs], ["sum", "prob"])
        self.assertFalse(os.path.exists(self.folder))
        self.check(self.net(self.a[:2], self.b[:2]), self.a[:2], self.b[:2])

    def test_any_number_of_samples(self):
        self.assertEqual(self.net.batch, 2)
        for count in 1, 2, 3, 4, 5:
            with self.subTest(count):
                results = self.net(self.a[:count], self.b[:count])
                self.assertEqual(results[0].shape, (count, 3, 4, 6))
                self.check(results, self.a[:count], self.b[:count])
        out = [np.full((5, 3, 4, 6), np.nan, np.float32) for _ in range(2)]
        self.assertIs(self.net(self.a, self.b, out=out)[0], out[0])
        self.check(out, self.a, self.b)

    def test_samples_that_do_not_fit(self):
        for a, b, words in [
            (self.a[:0], self.b[:0], "'a' wants shape (2, 3, 4, 6), not (0, 3, 4, 6)"),
            (self.a[:4], self.b[:2], "'b' wants"),
            (self.a[0], self.b[0], "'a' wants"),
            (3.0, 4.0, "'a' wants"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(ValueError, words.replace("(", r"\(").replace(")", r"\)")):
                self.net(a, b)
        with self.assertRaises(ValueError):
            self.net(self.a, self.b, out=[np.empty((2, 3, 4, 6), np.float32)] * 2)
        with self.assertRaises(ValueError):
            self.net.profile(self.a, self.b)

    def test_a_network_that_mixes_samples_runs_one_batch_only(self):
        self.assertIsNone(self.flat.batch)
        np.testing.assert_array_equal(self.flat(self.a[:2]), self.a[:2].reshape(1, 6, 4, 6))
        with self.assertRaises(ValueError):
            self.flat(self.a[:4])

    def test_dlpack(self):
        taken = pznet.arrays.take(Foreign(self.a), "a")
        self.assertTrue(np.shares_memory(taken, self.a))
        results = self.net(Foreign(self.a), self.b)
        self.assertEqual([type(r) for r in results], [Foreign, Foreign])
        self.check([r.values for r in results], self.a, self.b)
        self.assertEqual([type(r) for r in self.net(self.a, self.b)], [np.ndarray, np.ndarray])

    def test_buffers(self):
        view = memoryview(array.array("f", self.a.ravel().tolist())).cast("B").cast("f", self.a.shape)
        self.assertTrue(np.shares_memory(pznet.arrays.take(view, "a"), np.asarray(view)))
        self.check(self.net(view, self.b), self.a, self.b)

    def test_scalars_stay_scalars(self):
        self.assertEqual(pznet.arrays.take(3, "a").shape, ())

    def test_values_that_are_not_real(self):
        with self.assertRaisesRegex(ValueError, "'a' wants real values, not complex64"):
            self.net(self.a.astype(np.complex64), self.b)

    def test_arguments_of_compile(self):
        with self.assertRaisesRegex(ValueError, "two outputs"):
            pznet.compile("a.onnx", "a.so", "b.so")
        with self.assertRaisesRegex(TypeError, "no option colour"):
            pznet.compile("a.onnx", colour=3)
        with self.assertRaisesRegex(pznet.Error, "none.onnx"):
            pznet.compile("none.onnx")
        self.assertLessEqual(pznet.compiling.Options.__annotations__.keys(), set(pznet.compile.__doc__.replace(":", "").split()))


class Memory(unittest.TestCase):
    def setUp(self):
        self.results = pznet.results.Results()
        self.shape = (1, 2, 256, 1024)

    def test_what_it_makes(self):
        for shape in (self.shape, (3,), (0, 5), ()):
            a = self.results.empty(shape)
            self.assertEqual((a.shape, a.dtype), (shape, np.float32))
            self.assertTrue(a.flags.c_contiguous and a.flags.writeable)
            a[...] = 1
            self.assertEqual(a.sum(), a.size)

    def test_held_memory_is_nobody_elses(self):
        first, second = self.results.empty(self.shape), self.results.empty(self.shape)
        first[...] = 1
        view, plain = first[0, 1, ::2], memoryview(second)
        second[...] = 2
        del first, second
        for _ in range(2 * pznet.results.KEPT):
            self.results.empty(self.shape)[...] = 3
        self.assertTrue((view == 1).all())
        self.assertTrue((np.asarray(plain) == 2).all())

    def test_memory_that_nobody_holds_is_used_again(self):
        held = [self.results.empty(self.shape) for _ in range(pznet.results.KEPT)]
        places = {a.ctypes.data for a in held}
        del held
        held = [self.results.empty(self.shape) for _ in range(pznet.results.KEPT + 1)]
        self.assertEqual(len(places & {a.ctypes.data for a in held}), pznet.results.KEPT)
        self.assertEqual(len({a.ctypes.data for a in held}), pznet.results.KEPT + 1)

    def test_results_outlive_what_made_them(self):
        a = self.results.empty(self.shape)
        a[...] = 4
        del self.results
        self.assertTrue((a == 4).all())


if __name__ == "__main__":
    unittest.main(verbosity=2)
