"""The Python package, against NumPy. Standard library and NumPy only; exits with 77 where NumPy is missing."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import pznet

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "models"))
import caffemodel

FOLDER = tempfile.TemporaryDirectory(prefix="pznet-test-")

CONV = """
name: "conv"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 5 dim: 9 dim: 11 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 3 kernel_size: 3 pad: 1 } }
layer { name: "elu" type: "ELU" bottom: "conv" top: "conv" }
"""
TWO = """
name: "two"
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 1 dim: 3 dim: 4 dim: 6 } } }
layer { name: "b" type: "Input" top: "b" input_param { shape { dim: 1 dim: 3 dim: 4 dim: 6 } } }
layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }
layer { name: "prob" type: "Sigmoid" bottom: "a" top: "prob" }
"""


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, text):
    pathlib.Path(path(name)).write_text(text)
    return path(name)


def conv3d(x, weights, bias):
    """A convolution with a zero border of 1, in double: every tap is a shifted product."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1), (1, 1)))
    d, h, w = x.shape[2:]
    out = np.zeros((x.shape[0], weights.shape[0], d, h, w)) + bias.reshape(1, -1, 1, 1, 1)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                shifted = padded[:, :, i : i + d, j : j + h, k : k + w]
                out += np.einsum("oc,ncdhw->nodhw", weights[:, :, i, j, k].astype(np.float64), shifted)
    return out


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


class Networks(unittest.TestCase):
    """The two networks that all tests use, compiled once."""

    @classmethod
    def setUpClass(cls):
        if not hasattr(Networks, "summary"):
            Networks.prepare()

    @staticmethod
    def prepare():
        rng = np.random.default_rng(7)
        Networks.weights = rng.standard_normal((3, 2, 3, 3, 3)).astype(np.float32)
        Networks.bias = rng.standard_normal(3).astype(np.float32)
        Networks.x = rng.standard_normal((1, 2, 5, 9, 11)).astype(np.float32)
        caffemodel.write(path("conv.caffemodel"), "conv", [("conv", "Convolution", [Networks.weights, Networks.bias])])
        Networks.stages, Networks.left = [], []
        Networks.ticks = []
        done = threading.Event()
        ticking = threading.Thread(target=tick, args=(done, Networks.ticks, 0.01))
        ticking.start()
        Networks.start = time.monotonic()
        Networks.summary = pznet.compile(
            write("conv.prototxt", CONV),
            pathlib.Path(path("conv.so")),
            weights=path("conv.caffemodel"),
            progress=lambda *stage: (Networks.stages.append(stage), Networks.left.append(pznet.progress_left())),
            effort="estimate",
        )
        Networks.end = time.monotonic()
        done.set()
        ticking.join()
        pznet.compile(write("two.prototxt", TWO), path("two.so"), effort="estimate")


def tick(done, ticks, seconds):
    while not done.is_set():
        ticks.append(time.monotonic())
        time.sleep(seconds)


class Compile(Networks):
    def test_summary_is_the_manifest_with_timings(self):
        self.assertEqual(self.summary["abi_version"], 2)
        self.assertGreater(self.summary["seconds"]["compile"], 0)
        self.assertEqual(pznet.load(path("conv.so")).manifest["isa"], self.summary["isa"])
        self.assertEqual(self.summary["target"], "native")

    def test_for_another_core(self):
        summary = pznet.compile(path("conv.prototxt"), path("zen3.so"), weights="init:1", target="zen3", effort="estimate")
        self.assertEqual((summary["target"], summary["isa"]), ("zen3", "avx2"))

    def test_for_several_cores(self):
        file, own = path("several.so"), path("own.so")
        summary = pznet.compile(path("conv.prototxt"), file, weights="init:1", target=["zen3", "x86-64-v2"], effort="estimate")
        self.assertEqual([row["target"] for row in summary["variants"]], ["x86-64-v2", "zen3"])
        pznet.compile(path("conv.prototxt"), own, weights="init:1", target="x86-64-v2", effort="estimate")
        x = np.arange(2 * 5 * 9 * 11, dtype=np.float32).reshape(1, 2, 5, 9, 11) / 100
        net = pznet.load(file, target="sse4")
        self.assertEqual((net.manifest["isa"], net.manifest["target"], net.manifest["variant"]), ("sse4", "x86-64-v2", 0))
        self.assertEqual(net(x).tobytes(), pznet.load(own)(x).tobytes())
        best = pznet.load(file).manifest
        self.assertEqual(best["target"], summary["target"])
        self.assertEqual([row["runs_here"] for row in best["variants"]], [True, best["variant"] == 1])
        with self.assertRaisesRegex(pznet.Error, "has no variant for 'zen9', which target names: it has x86-64-v2 .sse4., zen3 .avx2."):
            pznet.load(file, target="zen9")
        with self.assertRaisesRegex(ValueError, "zen3 is named twice"):
            pznet.compile(path("conv.prototxt"), file, weights="init:1", target="zen3,zen3")

    def test_progress_is_told(self):
        names, done, total, seconds = zip(*self.stages)
        self.assertIn("compiling C", names)
        self.assertEqual(list(done), sorted(done))
        self.assertEqual(done[-1], total[-1])
        self.assertEqual(list(seconds), sorted(seconds))

    def test_time_left_is_told_within_progress(self):
        self.assertIsNone(pznet.progress_left())
        self.assertTrue(all(left is None or left >= 0 for left in self.left))
        self.assertEqual(self.left[-1], 0)

    def test_tuning(self):
        told = []
        found = pznet.tune(path("conv.so"), budget=0.01, tuning=path("tuning"), cache="none", progress=lambda *now: told.append(now))
        self.assertEqual((found["measured"], found["left"]), (0, found["problems"]))
        self.assertTrue(all(now[0].startswith("measuring") for now in told))
        with self.assertRaisesRegex(pznet.Error, "is no network file"):
            pznet.tune(path("conv.prototxt"), tuning=path("tuning"))
        with self.assertRaisesRegex(ValueError, "measure or exhaustive"):
            pznet.tune(path("conv.so"), effort="estimate", tuning=path("tuning"))
        for budget in 0, -1:
            with self.assertRaisesRegex(ValueError, "budget"):
                pznet.tune(path("conv.so"), budget=budget)

    def test_fitting_without_measurements(self):
        with self.assertRaisesRegex(pznet.Error, "nowhere"):
            pznet.tune_fit(path("nowhere"))
        pznet.tune(path("conv.so"), budget=0.01, tuning=path("tuning"), cache="none")  # makes the database
        with self.assertRaisesRegex(pznet.Error, "measure"):
            pznet.tune_fit(path("tuning"), stale=True)

    def test_other_threads_run_while_compiling(self):
        inside = [t for t in self.ticks if self.start < t < self.end]
        self.assertGreater(len(inside), (self.end - self.start) / 0.01 / 20)

    def test_failures(self):
        bad = write("bad.prototxt", 'layer { name: "x" type: "Input"')
        cases = [
            (dict(model=bad), pznet.Error, "bad.prototxt"),
            (dict(model=path("none.prototxt")), pznet.Error, "none.prototxt"),
            (dict(isa="mmx"), ValueError, "mmx"),
            (dict(target="mmx"), ValueError, "expected one of native, x86-64-v2"),
            (dict(precision="low"), ValueError, "low"),
            (dict(max_error=-1.0), ValueError, "max-error"),
            (dict(disable=["no-such-pass"]), ValueError, "no-such-pass"),
            (dict(inputs={"nobody": (1, 2, 3)}), ValueError, "nobody"),
            (dict(cc="/nonexistent/cc"), pznet.Error, "/nonexistent/cc"),
            (dict(output=path("no/folder/net.so")), pznet.Error, "no/folder/net.so"),
            (dict(weights=path("conv.prototxt")), pznet.Error, "conv.prototxt"),
            (dict(budget=-1), ValueError, "--budget -1: expected a number of seconds"),
            (dict(budget=float("nan"), effort=None), ValueError, "--budget nan: expected a number of seconds"),
            (dict(budget=3), ValueError, "not with --effort estimate"),
        ]
        for change, error, words in cases:
            arguments = dict(model=path("conv.prototxt"), output=path("out.so"), weights="init:1") | change
            with self.subTest(change), self.assertRaises(error) as caught:
                pznet.compile(arguments.pop("model"), arguments.pop("output"), **({"effort": "estimate"} | arguments))
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertFalse(os.path.exists(path("out.so")))

    def test_without_a_budget_nothing_is_measured(self):
        tuning = pznet.compile(path("conv.prototxt"), path("unmeasured.so"), weights="init:1", budget=0)["tuning"]
        self.assertEqual((tuning["effort"], tuning["budget"], tuning["measured"], tuning["spent"]), ("measure", 0, 0, 0))

    def test_failing_progress_ends_the_work(self):
        def fail(*stage):
            raise ZeroDivisionError(stage)

        with self.assertRaises(ZeroDivisionError):
            pznet.compile(path("conv.prototxt"), path("out.so"), weights="init:1", progress=fail, effort="estimate")
        self.assertFalse(os.path.exists(path("out.so")))

    def test_wrong_types(self):
        for arguments in [dict(weights=3), dict(inputs={"data": "abc"}), dict(progress=3), dict(isa=b"avx2"),
                          dict(effort="hard"), dict(effort=1), dict(threads="two"), dict(budget="3")]:
            with self.subTest(arguments), self.assertRaises((TypeError, ValueError)):
                pznet.compile(path("conv.prototxt"), path("out.so"), **({"weights": "init:1"} | arguments))


class Run(Networks):
    def test_ports(self):
        net = pznet.load(path("conv.so"), threads=1)
        self.assertEqual([tuple(p) for p in net.inputs], [("data", (1, 2, 5, 9, 11), np.dtype("float32"), "f32")])
        self.assertEqual([tuple(p) for p in net.outputs], [("conv", (1, 3, 5, 9, 11), np.dtype("float32"), "f32")])
        self.assertEqual(net.threads, 1)
        self.assertGreater(net.memory, 0)
        self.assertIn("data 1x2x5x9x11 -> conv 1x3x5x9x11", repr(net))

    def test_convolution_as_numpy_has_it(self):
        y = pznet.load(path("conv.so"))(self.x)
        expected = elu(conv3d(self.x, self.weights, self.bias))
        self.assertEqual(y.dtype, np.float32)
        # 54 products, each summand of a relative error of 2^-24: 1e-6 of the norm is what float sums have, 1e-5 the promise
        self.assertLess(np.linalg.norm(y - expected) / np.linalg.norm(expected), 1e-5)

    def test_same_bits_for_any_number_of_threads(self):
        one = pznet.load(path("conv.so"), threads=1)(self.x)
        for threads in 2, 3:
            net = pznet.load(path("conv.so"), threads=threads)
            self.assertEqual(net.threads, threads)
            self.assertEqual(net(self.x).tobytes(), one.tobytes())

    def test_out_is_written_in_place(self):
        net = pznet.load(path("conv.so"))
        expected = net(self.x)
        out = np.full(net.outputs[0].shape, np.nan, np.float32)
        self.assertIs(net(self.x, out=out), out)
        np.testing.assert_array_equal(out, expected)
        self.assertIs(net(self.x, out=[out]), out)

    def test_inputs_are_not_copied_and_not_changed(self):
        net = pznet.load(path("conv.so"))
        x = self.x.copy()
        x.flags.writeable = False
        self.assertIs(net._take([x])[0], x)
        net(x)
        np.testing.assert_array_equal(x, self.x)

    def test_other_inputs_are_converted(self):
        net = pznet.load(path("conv.so"))
        expected = net(self.x)
        wide = np.zeros((1, 2, 5, 9, 22), np.float32)
        wide[..., ::2] = self.x
        raw = np.zeros(self.x.nbytes + 1, np.uint8)
        unaligned = raw[1:].view(np.float32).reshape(self.x.shape)
        unaligned[...] = self.x
        for name, x in [
            ("strided", wide[..., ::2]),
            ("Fortran", np.asfortranarray(self.x)),
            ("double", self.x.astype(np.float64)),
            ("big-endian", self.x.astype(">f4")),
            ("unaligned", unaligned),
            ("list", self.x.tolist()),
        ]:
            with self.subTest(name):
                np.testing.assert_array_equal(net(x), expected)
        np.testing.assert_array_equal(net(self.x.astype(np.uint8)), net(self.x.astype(np.uint8).astype(np.float32)))

    def test_integers_that_float32_does_not_hold_are_told(self):
        net = pznet.load(path("conv.so"))
        for dtype, most, count in (("i4", 2**31 - 1, 2), ("u4", 2**32 - 1, 2), ("i8", 2**63 - 1, 2), ("u8", 2**64 - 1, 2), ("i8", -(2**63), 1)):
            x = np.zeros(self.x.shape, dtype)
            x[0, 0, 0, 0, :4] = [most, 1 << 24, (1 << 24) + 2, (1 << 24) + 1]
            with self.subTest(dtype, most=most):
                with self.assertWarnsRegex(UserWarning, f"{count} values of {x.dtype} are not exact in float32") as caught:
                    net(x)
                self.assertEqual(os.path.basename(caught.filename), os.path.basename(__file__))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for most in -(2**31), 1 << 24, 2**31 - 256 + 128 - 128:
                net(np.full(self.x.shape, most // 256 * 256, "i4"))
            net(self.x.astype("f8") / 3)

    def test_several_inputs_and_outputs(self):
        net = pznet.load(path("two.so"))
        a = np.linspace(-4, 4, 72, dtype=np.float32).reshape(1, 3, 4, 6)
        b = np.arange(72, dtype=np.float32).reshape(1, 3, 4, 6)
        result = dict(zip([p.name for p in net.outputs], net(a, b)))
        np.testing.assert_array_equal(result["sum"], a + b)
        np.testing.assert_allclose(result["prob"], 1 / (1 + np.exp(-a.astype(np.float64))), rtol=1e-6)

    def test_wrong_inputs(self):
        net = pznet.load(path("conv.so"))
        for arguments, words in [
            ((), "1 inputs (data), 0 were given"),
            ((self.x, self.x), "2 were given"),
            ((self.x[0],), "'data' wants shape (1, 2, 5, 9, 11), not (2, 5, 9, 11)"),
            ((self.x[..., :-1],), "not (1, 2, 5, 9, 10)"),
            (("abc",), "could not convert"),
        ]:
            with self.subTest(words), self.assertRaises(ValueError) as caught:
                net(*arguments)
            self.assertIn(words, str(caught.exception))

    def test_wrong_outputs(self):
        net = pznet.load(path("conv.so"))
        good = np.empty(net.outputs[0].shape, np.float32)
        frozen = good.copy()
        frozen.flags.writeable = False
        for out in [good[:, :2], good.astype(np.float64), np.asfortranarray(good), frozen, [good, good], [], "abc", 3]:
            with self.subTest(str(type(out))), self.assertRaises(ValueError):
                net(self.x, out=out)
        two = pznet.load(path("two.so"))
        a, b, c = (np.zeros((1, 3, 4, 6), np.float32) for _ in range(3))
        for out in [[a, c], [c, c], [c], c]:
            with self.assertRaises(ValueError):
                two(a, b, out=out)

    def test_the_extension_checks_for_itself(self):
        net = pznet._net.Net(path("conv.so"), 1)
        out = np.empty((1, 3, 5, 9, 11), np.float32)
        for inputs, outputs in [
            ([self.x], []),
            ([], [out]),
            ([self.x.astype(np.float64)], [out]),
            ([self.x], [out[:, :2].copy()]),
            ([self.x.view(np.int32)], [out]),
            ([self.x], [bytes(out.nbytes)]),
            ([self.x[..., ::2]], [out]),
            ([3], [out]),
            (3, [out]),
        ]:
            with self.assertRaises((ValueError, TypeError, BufferError)):
                net.run(inputs, outputs)
        with self.assertRaises(ValueError):
            net.__init__(path("two.so"))
        with self.assertRaises(ValueError):
            pznet._net.Net.__new__(pznet._net.Net).run([], [])

    def test_running_loads_no_libraries_of_volumes(self):
        code = f"import numpy, pznet; pznet.load({path('conv.so')!r}).profile(); print(open('/proc/self/maps').read())"
        maps = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        loaded = {line.split("/")[-1].split(".")[0] for line in maps.splitlines()}
        self.assertIn("_net", loaded)
        self.assertFalse(loaded & {"_pznet", "libhdf5_serial", "libtiff", "libsqlite3", "libcurl"})

    def test_profile(self):
        net = pznet.load(path("conv.so"))
        for rows in net.profile(runs=3), net.profile(self.x, runs=1):
            self.assertIn("conv", [r["layer"] for r in rows])
            self.assertEqual(sum(r["multiply_adds"] for r in rows), 3 * 2 * 27 * 5 * 9 * 11)
            self.assertTrue(all(r["algorithm"] for r in rows))
            self.assertTrue(all(0 <= r["seconds"] < 10 and r["op"] for r in rows))
        for runs in 0, -1:
            with self.assertRaises(ValueError):
                net.profile(runs=runs)

    def test_networks_that_do_not_open(self):
        data = pathlib.Path(path("conv.so")).read_bytes()
        pathlib.Path(path("short.so")).write_bytes(data[: len(data) // 2])
        for name in "none.so", "short.so", "conv.prototxt":
            with self.assertRaises(pznet.Error) as caught:
                pznet.load(path(name))
            self.assertIn(name, str(caught.exception))
            self.assertEqual(caught.exception.status, 3)
        with self.assertRaises(ValueError):
            pznet.load(path("conv.so"), threads=-1)
        with self.assertRaises(TypeError):
            pznet.load(None)

    def test_digest(self):
        data = pathlib.Path(path("conv.so")).read_bytes()
        right = hashlib.sha256(data).hexdigest()
        wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
        self.assertEqual(pznet.load(path("conv.so")).digest, right)
        for given in right, right.upper():
            net = pznet.load(path("conv.so"), digest=given)
            self.assertEqual((net.digest, net.inputs[0].name), (right, "data"))
        self.assertEqual(pznet.Network(path("conv.so"), 1, digest=right).threads, 1)
        with self.assertRaises(pznet.Error) as caught:
            pznet.load(path("conv.so"), digest=wrong)
        self.assertEqual(caught.exception.status, 3)
        self.assertIn(right, str(caught.exception))
        self.assertIn(wrong, str(caught.exception))
        for malformed in "", right[1:], "z" * 64:
            with self.assertRaisesRegex(ValueError, "64 digits of a SHA-256"):
                pznet.load(path("conv.so"), digest=malformed)
        with self.assertRaises(TypeError):
            pznet.load(path("conv.so"), digest=5)

    def test_a_file_that_changes_while_it_is_open(self):
        """An open network is a copy: its bits stay the same when the file is overwritten, cut and removed."""
        data, file = pathlib.Path(path("conv.so")).read_bytes(), pathlib.Path(path("changing.so"))
        file.write_bytes(data)
        net = pznet.load(file)
        before = net(self.x)
        for content in pathlib.Path(path("two.so")).read_bytes(), data[:5000], b"":
            file.write_bytes(content)
            np.testing.assert_array_equal(net(self.x), before)
        file.unlink()
        np.testing.assert_array_equal(net(self.x), before)
        self.assertEqual(net.digest, hashlib.sha256(data).hexdigest())

    def test_damage_is_found(self):
        data, damaged = bytearray(pathlib.Path(path("conv.so")).read_bytes()), pathlib.Path(path("damaged.so"))
        for at in np.random.default_rng(4).integers(0, len(data), 100):
            data[at] ^= 4
            damaged.write_bytes(data)
            with self.assertRaises(pznet.Error) as caught:
                pznet.load(damaged)
            self.assertEqual(caught.exception.status, 3)
            data[at] ^= 4

    def test_other_threads_run_while_a_network_runs(self):
        big = path("big.so")
        shapes = {"a": (1, 64, 256, 256), "b": (1, 64, 256, 256)}
        pznet.compile(path("two.prototxt"), big, inputs=shapes, effort="estimate")
        net = pznet.load(big, threads=1)
        x = np.ones((1, 64, 256, 256), np.float32)
        out = [np.empty_like(x), np.empty_like(x)]
        spans, ticks, done = [], [], threading.Event()
        ticking = threading.Thread(target=tick, args=(done, ticks, 0.001))
        ticking.start()
        # With the lock held, ticks fall to the ends of a span, where the threads are switched, and never into its middle. Without it they do as soon
        # as there is a processor for them.
        ticked = lambda start, end, q: any(start + q < t < end - q for t in ticks)
        while sum(ticked(start, end, (end - start) / 4) for start, end in spans) < 6 and len(spans) < 500:
            start = time.monotonic()
            net(x, x, out=out)
            spans.append((start, time.monotonic()))
        done.set()
        ticking.join()
        self.assertLess(len(spans), 500)

    def test_threads_may_share_a_network(self):
        net = pznet.load(path("conv.so"), threads=2)
        expected = {s: net(self.x * s).tobytes() for s in range(4)}
        wrong = []

        def work(s):
            for _ in range(50):
                if net(self.x * s).tobytes() != expected[s]:
                    wrong.append(s)

        threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class Chunkflow(Networks):
    def test_forward(self):
        net = pznet.PZNet(path("conv.so"))
        self.assertEqual((net.in_shape, net.out_shape), ((1, 2, 5, 9, 11), (1, 3, 5, 9, 11)))
        np.testing.assert_array_equal(net.forward(self.x), pznet.load(path("conv.so"))(self.x))

    def test_one_input_and_one_output(self):
        with self.assertRaises(ValueError) as caught:
            pznet.PZNet(path("two.so"))
        self.assertIn("one input and one output", str(caught.exception))


if __name__ == "__main__":
    try:
        unittest.main(verbosity=2)
    finally:
        FOLDER.cleanup()
