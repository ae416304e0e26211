"""Small ONNX models, as PyTorch's exporters and nnU-Net write them, against NumPy in double. Exits with 77 without NumPy."""

import pathlib
import sys
import tempfile
import unittest
import warnings

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import pznet

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import writer

RNG = np.random.default_rng(11)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


# ---------------------------------------------------------------- operators in NumPy

def convolution(x, weight, bias, stride=1, pad=0):
    """Every tap is a shifted product; any number of spatial axes."""
    rank = weight.ndim - 2
    padded = np.pad(x.astype(np.float64), [(0, 0)] * 2 + [(pad, pad)] * rank)
    size = [(padded.shape[2 + i] - weight.shape[2 + i]) // stride + 1 for i in range(rank)]
    out = np.zeros((x.shape[0], weight.shape[0], *size)) + bias.reshape(-1, *[1] * rank)
    for tap in np.ndindex(weight.shape[2:]):
        cut = tuple(slice(t, t + stride * (n - 1) + 1, stride) for t, n in zip(tap, size))
        out += np.einsum("oc,nc...->no...", weight[(slice(None), slice(None), *tap)].astype(np.float64), padded[(..., *cut)])
    return out


def upsampling(x, weight, bias):
    """Transposed convolution whose stride is its kernel; weight [in, out, ...]."""
    steps = weight.shape[2:]
    out = np.zeros((x.shape[0], weight.shape[1], *(n * s for n, s in zip(x.shape[2:], steps))))
    for tap in np.ndindex(steps):
        cut = tuple(slice(t, None, s) for t, s in zip(tap, steps))
        out[(..., *cut)] = np.einsum("co,nc...->no...", weight[(slice(None), slice(None), *tap)].astype(np.float64), x)
    return out + bias.reshape(-1, *[1] * len(steps))


def along_channels(values, x):
    return values.reshape(-1, *[1] * (x.ndim - 2))


def instance_norm(x, scale, shift, eps):
    axes = tuple(range(2, x.ndim))
    middle, spread = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - middle) / np.sqrt(spread + eps) * along_channels(scale, x) + along_channels(shift, x)


def leaky(x, slope):
    return np.where(x > 0, x, slope * x)


def kept_boxes(boxes, scores, most, overlap, least):
    """Image, class and box of what NonMaxSuppression keeps of boxes by corners, by the definition."""
    rows = []
    low, high = np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])
    area = np.prod(high - low, -1)
    for n, c in np.ndindex(scores.shape[:2]):
        kept = []
        for i in np.argsort(-scores[n, c], kind="stable"):
            both = np.prod(np.maximum(np.minimum(high[n, i], high[n, kept]) - np.maximum(low[n, i], low[n, kept]), 0), -1)
            free = not (both > overlap * (area[n, i] + area[n, kept] - both)).any()
            if scores[n, c, i] > least and free and len(kept) < most:
                kept.append(i)
        rows += [(n, c, i) for i in kept]
    return np.array(rows, np.int64).reshape(-1, 3)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# ---------------------------------------------------------------- the models

class Small(unittest.TestCase):
    def setUp(self):
        """The same numbers whatever was tested before."""
        global RNG
        RNG = np.random.default_rng(11)

    def check(self, model, outputs, inputs, opset=18, tolerance={}):
        """Compiles, runs, and compares with {name: expected}: 1e-5 is the promise of the whole."""
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(model.content({name: e.shape for name, e in outputs.items()}, opset))
            net = pznet.compile(path, effort="estimate")
        self.assertEqual([p.name for p in net.outputs], list(outputs))
        found = net(*inputs)
        for name, y in zip(outputs, found if isinstance(found, tuple) else (found,)):
            self.assertEqual(y.shape, outputs[name].shape)
            distance = np.linalg.norm(y - outputs[name]) / (np.linalg.norm(outputs[name]) or 1)
            self.assertLess(distance, tolerance.get(name, 1e-5), name)
        return net

    def test_u_net_of_nnunet(self):
        """Convolution, instance norm, leaky ReLU; a step down and up; a skip; softmax."""
        x = floats(1, 1, 6, 8, 10)
        shapes = {"a": (4, 1, 3, 3, 3), "b": (6, 4, 3, 3, 3), "c": (4, 8, 3, 3, 3), "d": (3, 4, 1, 1, 1)}
        w = {name: (floats(*shape), floats(shape[0])) for name, shape in shapes.items()}
        up = floats(6, 4, 2, 2, 2), floats(4)
        norms = {name: (floats(shapes[name][0]), floats(shapes[name][0])) for name in "abc"}
        model = writer.Model(x=x.shape)

        def block(name, x, y, stride):
            model.add(f"{name}0", "Conv", x, *w[name], kernel_shape=[3] * 3, strides=[stride] * 3, pads=[1] * 6)
            model.add(f"{name}1", "InstanceNormalization", f"{name}0", *norms[name], epsilon=1e-5)
            model.add(name, "LeakyRelu", f"{name}1", alpha=0.01)
            return leaky(instance_norm(convolution(y, *w[name], stride, 1), *norms[name], 1e-5), 0.01)

        a = block("a", "x", x, 1)
        b = block("b", "a", a, 2)
        model.add("up", "ConvTranspose", "b", *up, kernel_shape=[2] * 3, strides=[2] * 3)
        model.add("cat", "Concat", "up", "a", axis=1)
        c = block("c", "cat", np.concatenate([upsampling(b, *up), a], 1), 1)
        model.add("d", "Conv", "c", *w["d"], kernel_shape=[1] * 3)
        model.add("prob", "Softmax", "d", axis=1)
        self.check(model, {"prob": softmax(convolution(c, *w["d"]), 1)}, [x])

    def test_classifier(self):
        """Convolution with stride, batch norm, ReLU, pooling, a fully connected layer."""
        x, weight, bias = floats(2, 3, 12, 14), floats(5, 3, 3, 3), floats(5)
        scale, shift, middle, spread = floats(5), floats(5), floats(5), np.abs(floats(5)) + 0.5
        matrix, offset = floats(4, 5), floats(4)
        model = writer.Model(x=x.shape)
        model.add("conv", "Conv", "x", weight, bias, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        model.add("norm", "BatchNormalization", "conv", scale, shift, middle, spread, epsilon=1e-3)
        model.add("relu", "Relu", "norm")
        model.add("pool", "MaxPool", "relu", kernel_shape=[2, 2], strides=[2, 2])
        model.add("mean", "GlobalAveragePool", "pool")
        model.add("flat", "Flatten", "mean", axis=1)
        model.add("y", "Gemm", "flat", matrix, offset, transB=1)
        y = convolution(x, weight, bias, 2, 1)
        y = (y - along_channels(middle, y)) / np.sqrt(along_channels(spread, y) + 1e-3) * along_channels(scale, y) + along_channels(shift, y)
        y = np.maximum(y, 0)[:, :, :6, :6].reshape(2, 5, 3, 2, 3, 2).max((3, 5)).mean((2, 3))
        self.check(model, {"y": y @ matrix.T.astype(np.float64) + offset}, [x])

    def test_shapes_computed_in_the_graph(self):
        """As TorchScript writes group norm and view: Shape, Gather, Concat, Reshape; constants by nodes."""
        x, scale, shift = floats(1, 6, 4, 5), floats(6, 1, 1), floats(6, 1, 1)
        model = writer.Model(x=x.shape)
        model.add("groups", "Constant", value=ints(0, 2, -1))
        model.add("grouped", "Reshape", "x", "groups")
        model.add("normed", "InstanceNormalization", "grouped", np.ones(2, np.float32), np.zeros(2, np.float32), epsilon=1e-5)
        model.add("shape", "Shape", "x")
        model.add("back", "Reshape", "normed", "shape")
        model.add("scaled", "Mul", "back", scale)
        model.add("shifted", "Add", "scaled", shift)
        model.add("width", "Gather", "shape", ints(3), axis=0)
        model.add("flat", "Concat", ints(1, 6), "width", ints(-1), axis=0)
        model.add("y", "Reshape", "shifted", "flat")
        y = instance_norm(x.astype(np.float64).reshape(1, 2, -1), np.ones(2), np.zeros(2), 1e-5).reshape(x.shape)
        self.check(model, {"y": (y * scale + shift).reshape(1, 6, 5, 4)}, [x])

    def test_moves_and_arithmetic(self):
        """Two inputs, broadcasting, slices, transposition, nearest upsampling, padding; two outputs."""
        a, b = floats(2, 3, 4, 6), floats(1, 3, 1, 6)
        model = writer.Model(a=a.shape, b=b.shape)
        model.add("sum", "Add", "a", "b")
        model.add("part", "Slice", "sum", ints(1), ints(5), ints(3), ints(2))
        model.add("turned", "Transpose", "part", perm=[0, 2, 1, 3])
        model.add("big", "Resize", "sum", "", np.array([1, 1, 2, 2], np.float32), mode="nearest", nearest_mode="floor",
                  coordinate_transformation_mode="asymmetric")
        model.add("edge", "Pad", "big", ints(0, 0, 1, 2, 0, 0, 0, 3), mode="reflect")
        y = a.astype(np.float64) + b
        big = np.pad(y.repeat(2, 2).repeat(2, 3), [(0, 0), (0, 0), (1, 0), (2, 3)], mode="reflect")
        self.check(model, {"turned": y[..., 1:5:2].transpose(0, 2, 1, 3), "edge": big}, [a, b])

    def test_detector(self):
        """Two maps with heads, anchors, boxes from centres, softmax, suppression, and a row for each box that is kept: as exporters
        write single-shot detectors. Rows that are left over are -1."""
        x, classes, each = floats(1, 3, 64, 64), 3, 2
        w = {name: floats(*shape) * 0.3 for name, shape in {"a": (8, 3, 3, 3), "b": (16, 8, 3, 3)}.items()}
        model = writer.Model(x=x.shape)
        maps, before, y = [], "x", x.astype(np.float64)
        for name, stride in ("a", 8), ("b", 2):
            model.add(name + "0", "Conv", before, w[name], kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4)
            before = model.add(name, "Relu", name + "0")
            y = np.maximum(convolution(y, w[name], 0 * floats(len(w[name])), stride, 1), 0)
            maps.append((name, y))
        heads = {}
        for what, entries in ("loc", 4), ("conf", classes + 1):
            rows = []
            for name, y in maps:
                head, bias = floats(each * entries, y.shape[1], 3, 3) * 0.4, floats(each * entries)
                model.add(f"{what}_{name}", "Conv", name, head, bias, kernel_shape=[3, 3], pads=[1] * 4)
                model.add(f"{what}_{name}_last", "Transpose", f"{what}_{name}", perm=[0, 2, 3, 1])
                model.add(f"{what}_{name}_rows", "Reshape", f"{what}_{name}_last", ints(1, -1, entries))
                rows.append(np.moveaxis(convolution(y, head, bias, 1, 1), 1, -1).reshape(1, -1, entries))
            model.add(what, "Concat", f"{what}_a_rows", f"{what}_b_rows", axis=1)
            heads[what] = np.concatenate(rows, 1)
        anchors = np.concatenate([np.abs(floats(each * n * n, 4)) * 10 + 8 for n in (8, 4)])
        model.add("middle_by", "Slice", "loc", ints(0), ints(2), ints(2))
        model.add("size_by", "Slice", "loc", ints(2), ints(4), ints(2))
        model.add("shift", "Mul", "middle_by", anchors[None, :, 2:] * np.float32(0.1))
        model.add("middle", "Add", "shift", anchors[None, :, :2])
        model.add("grown", "Exp", "size_by")
        model.add("half", "Mul", "grown", anchors[None, :, 2:] * np.float32(0.5))
        model.add("low", "Sub", "middle", "half")
        model.add("high", "Add", "middle", "half")
        model.add("boxes", "Concat", "low", "high", axis=2)
        model.add("prob", "Softmax", "conf", axis=2)
        model.add("turned", "Transpose", "prob", perm=[0, 2, 1])
        model.add("scores", "Slice", "turned", ints(1), ints(classes + 1), ints(1))
        model.add("kept", "NonMaxSuppression", "boxes", "scores", ints(20), np.float32([0.3]), np.float32([0.4]))
        model.add("class_column", "Gather", "kept", ints(1), axis=1)
        model.add("class", "Cast", "class_column", to=writer.TYPES["float32"])
        model.add("score_row", "GatherND", "scores", "kept")
        model.add("score", "Unsqueeze", "score_row", ints(1))
        model.add("box_number", "Gather", "kept", np.int64(2), axis=1)
        model.add("box_rows", "Squeeze", "boxes", ints(0))
        model.add("box", "Gather", "box_rows", "box_number", axis=0)
        model.add("y", "Concat", "class", "score", "box", axis=1)
        middle = heads["loc"][..., :2] * 0.1 * anchors[:, 2:] + anchors[:, :2]
        half = np.exp(heads["loc"][..., 2:]) * anchors[:, 2:] / 2
        boxes = np.concatenate([middle - half, middle + half], 2)
        scores = np.moveaxis(softmax(heads["conf"], 2)[..., 1:], 2, 1)
        kept = kept_boxes(boxes, scores, 20, 0.3, 0.4)
        rows = np.column_stack([kept[:, 1], scores[tuple(kept.T)], boxes[0, kept[:, 2]]])
        self.assertTrue(10 < len(rows) < 60, len(rows))
        left = np.full((60 - len(rows), 6), -1)
        self.check(model, {"y": np.concatenate([rows, left]), "kept": np.concatenate([kept, left[:, :3]])}, [x])

    def test_labels(self):
        """A network that gives its label map: arithmetic on labels, their type, counts, one-hot."""
        x, weight, bias = floats(2, 3, 6, 7), floats(5, 3, 1, 1), floats(5)
        model = writer.Model(x=x.shape)
        model.add("scores", "Conv", "x", weight, bias, kernel_shape=[1, 1])
        model.add("label", "ArgMax", "scores", axis=1, keepdims=0)
        model.add("byte", "Cast", "label", to=writer.TYPES["uint8"])
        model.add("next", "Add", "label", np.int64(1))
        model.add("odd", "Mod", "next", np.int64(2))
        model.add("third", "Div", "next", np.int64(3))
        model.add("below", "Sub", "byte", np.uint8(3))
        model.add("is_two", "Equal", "label", np.int64(2))
        model.add("kept", "Where", "is_two", np.int64(9), "label")
        model.add("counted", "Cast", "is_two", to=writer.TYPES["int32"])
        model.add("voxels", "ReduceSum", "counted", ints(1, 2), keepdims=0)
        model.add("hot", "OneHot", "label", np.int64(5), np.array([0, 1], np.float32), axis=1)
        label = convolution(x, weight, bias).argmax(1)
        self.check(model, {
            "byte": label, "next": label + 1, "odd": (label + 1) % 2, "third": (label + 1) // 3, "below": (label - 3) % 256,
            "kept": np.where(label == 2, 9, label), "voxels": (label == 2).sum((1, 2)),
            "hot": np.moveaxis(np.eye(5)[label], -1, 1)}, [x])

    def test_bytes_in_and_halves_out(self):
        """A volume of bytes of odd sizes, scaled, through two layers; halves, bfloat16 and a label map of bytes out of it."""
        x, weight, last = RNG.integers(0, 256, (1, 2, 5, 7, 11), np.uint8), floats(19, 2, 3, 3, 3), floats(5, 19, 3, 3, 3)
        model = writer.Model(x=(x.shape, "uint8"))
        model.add("numbers", "Cast", "x", to=writer.TYPES["float32"])
        model.add("scaled", "Mul", "numbers", np.float32(1 / 255))
        model.add("conv", "Conv", "scaled", weight, kernel_shape=[3] * 3, pads=[1] * 6)
        model.add("relu", "Relu", "conv")
        model.add("y", "Conv", "relu", last, kernel_shape=[3] * 3, pads=[1] * 6)
        for name, to in ("half", "float16"), ("brain", "bfloat16"):
            model.add(name, "Cast", "y", to=writer.TYPES[to])
        model.add("index", "ArgMax", "y", axis=1)
        model.add("label", "Cast", "index", to=writer.TYPES["uint8"])
        y = convolution(np.maximum(convolution(x / 255, weight, 0 * floats(19), 1, 1), 0), last, 0 * floats(5), 1, 1)
        label = y.argmax(1)[:, None]
        outputs = {"y": y, "half": y, "brain": y, "label": label}
        net = self.check(model, outputs, [x], tolerance={"half": 2.0**-11, "brain": 2.0**-8})
        self.assertEqual([p.type for p in [*net.inputs, *net.outputs]], ["u8", "f32", "f16", "bf16", "u8"])

    def test_integers_of_32_bits(self):
        """Into a convolution as they are, out of it as ONNX casts them, out of ArgMax, and, untouched, bit by bit."""
        x, weight = RNG.integers(-1000, 1000, (1, 2, 5, 7), np.int32), floats(5, 2, 3, 3)
        big = RNG.integers(-(2**31), 2**31, (1, 3, 11), np.int32)
        big[0, 0, :6] = [2**24 + 1, 2**31 - 1, -(2**31), 0x00000001, 0x7F800001, -1]  # a denormal float, and a not-a-number
        model = writer.Model(x=(x.shape, "int32"), big=(big.shape, "int32"))
        model.add("numbers", "Cast", "x", to=writer.TYPES["float32"])
        model.add("y", "Conv", "numbers", weight, kernel_shape=[3, 3], pads=[1] * 4)
        model.add("whole", "Cast", "y", to=writer.TYPES["int32"])
        model.add("index", "ArgMax", "y", axis=1)
        model.add("label", "Cast", "index", to=writer.TYPES["int32"])
        y = convolution(x, weight, 0 * floats(5), 1, 1)
        outputs = {"y": y, "whole": np.trunc(y), "label": y.argmax(1)[:, None], "big": big}
        net = self.check(model, outputs, [x, big], tolerance={"whole": 1e-3})
        self.assertEqual([p.type for p in [*net.inputs, *net.outputs]], ["i32", "i32", "f32", "i32", "i32", "i32"])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = dict(zip([p.name for p in net.outputs], net(x, big)))
        self.assertEqual(["'big'" in str(warning.message) for warning in told], [True])
        np.testing.assert_array_equal(found["big"], big)
        np.testing.assert_array_equal(found["whole"], np.trunc(found["y"]).astype(np.int32))
        np.testing.assert_array_equal(found["label"], found["y"].argmax(1)[:, None])

    def test_integers_stop_at_their_ends(self):
        """Beyond 32 bits too; halves go to the even number, of what a cast by option makes."""
        x = np.array([0.5, 1.5, -2.5, 16777217, 2147483520, 2**31, 3e9, np.inf, -(2**31), -3e9, -np.inf, np.nan], np.float32).reshape(1, 1, 12)
        model = writer.Model(x=x.shape)
        model.add("y", "Relu", "x")
        model.add("z", "Neg", "x")
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(model.content({"y": x.shape, "z": x.shape}))
            y, z = pznet.compile(path, effort="estimate", output_types="i32")(x)
        most = 2**31 - 1
        self.assertEqual(y.ravel().tolist(), [0, 2, 0, 16777216, 2147483520, most, most, most, 0, 0, 0, 0])
        self.assertEqual(z.ravel().tolist(), [0, -2, 2, -16777216, -2147483520, -most - 1, -most - 1, -most - 1, most, most, most, 0])

    def test_whole_numbers_are_exact(self):
        """Quotients, remainders, wrapping around: over all numbers of 16 bits."""
        x = np.arange(-32768, 32768).reshape(1, 1, 256, 256).astype(np.float32)
        model = writer.Model(x=x.shape)
        model.add("clipped", "Clip", "x", np.float32(-32768), np.float32(32767))
        model.add("short", "Cast", "clipped", to=writer.TYPES["int16"])
        model.add("n", "Cast", "short", to=writer.TYPES["int32"])
        n, expected = x.astype(np.int64), {}
        for k in 2, 3, 7, 255, 1000, 32767:
            model.add(f"div{k}", "Div", "n", np.int32(k))
            model.add(f"mod{k}", "Mod", "n", np.int32(k))
            model.add(f"rest{k}", "Mod", "n", np.int32(k), fmod=1)
            expected |= {f"div{k}": np.trunc(n / k), f"mod{k}": n % k, f"rest{k}": np.fmod(n, k)}
        model.add("double", "Add", "short", "short")
        model.add("byte", "Cast", "n", to=writer.TYPES["uint8"])
        model.add("times", "Mul", "n", np.int32(511))
        model.add("wrapped", "Cast", "times", to=writer.TYPES["int16"])
        expected |= {"double": (2 * n).astype(np.int16), "byte": n.astype(np.uint8), "wrapped": (511 * n).astype(np.int16)}
        with tempfile.TemporaryDirectory(prefix="pznet-test-") as folder:
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(model.content({name: x.shape for name in expected}))
            found = pznet.compile(path, effort="estimate")(x)
        for name, y in zip(expected, found):
            np.testing.assert_array_equal(y, expected[name], name)

    def test_same_padding_of_constants(self):
        """As timm's tf_* networks compute it: sizes through float arithmetic, Ceil and Clip to the pads."""
        x, weight, bias = floats(1, 2, 5, 8), floats(3, 2, 3, 3), floats(3)
        model = writer.Model(x=x.shape)
        model.add("shape", "Shape", "x")
        model.add("size", "Slice", "shape", ints(2), ints(4), ints(0))
        model.add("real", "Cast", "size", to=1)
        model.add("half", "Div", "real", np.float32(2))
        model.add("steps", "Ceil", "half")
        model.add("before", "Sub", "steps", np.float32(1))
        model.add("span", "Mul", "before", np.float32(2))
        model.add("reach", "Add", "span", np.float32(3))
        model.add("need", "Sub", "reach", "real")
        model.add("clipped", "Clip", "need", np.float32(0))
        model.add("pads", "Cast", "clipped", to=7)
        model.add("low", "Div", "pads", ints(2))
        model.add("high", "Sub", "pads", "low")
        model.add("all", "Concat", ints(0, 0), "low", ints(0, 0), "high", axis=0)
        model.add("padded", "Pad", "x", "all")
        model.add("y", "Conv", "padded", weight, bias, kernel_shape=[3, 3], strides=[2, 2])
        padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 1)])
        self.check(model, {"y": convolution(padded, weight, bias, 2)}, [x])

    def test_shifted_window_mask(self):
        """As Swin makes it: numbers scattered into zeros, differences, chosen by comparison; all of constants."""
        x = floats(1, 4, 4)
        model = writer.Model(x=x.shape)
        model.add("zeros", "ConstantOfShape", ints(4, 1))
        model.add("part", "ScatterND", "zeros", ints(0, 2).reshape(2, 1), np.array([[1], [2]], np.float32))
        model.add("turned", "Transpose", "part", perm=[1, 0])
        model.add("difference", "Sub", "part", "turned")
        model.add("same", "Equal", "difference", np.float32(0))
        model.add("mask", "Where", "same", np.float32(0), np.float32(-100))
        model.add("y", "Add", "x", "mask")
        part = np.array([1, 0, 2, 0])
        self.check(model, {"y": x + np.where(part[:, None] == part, 0, -100)}, [x])

    def test_weights_are_standardised(self):
        """As NFNet and BiT: batch normalisation of the weights, with their own statistics."""
        x, weight, bias = floats(1, 2, 6, 6), floats(4, 2, 3, 3), floats(4)
        ones = np.ones(4, np.float32)
        model = writer.Model(x=x.shape)
        model.add("rows", "Reshape", weight, ints(1, 4, -1))
        model.add("standard", "BatchNormalization", "rows", ones, 0 * ones, 0 * ones, ones, training_mode=1, epsilon=1e-5)
        model.add("weight", "Reshape", "standard", ints(4, 2, 3, 3))
        model.add("y", "Conv", "x", "weight", bias, kernel_shape=[3, 3])
        rows = weight.reshape(4, -1).astype(np.float64)
        rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)
        self.check(model, {"y": convolution(x, rows.reshape(weight.shape), bias)}, [x])

    def test_statistics_of_the_batch(self):
        x, scale, shift = floats(3, 4, 5, 6), floats(4), floats(4)
        model = writer.Model(x=x.shape)
        model.add("y", "BatchNormalization", "x", scale, shift, scale, np.abs(shift), training_mode=1, epsilon=1e-5)
        y = instance_norm(x.astype(np.float64).transpose(1, 0, 2, 3).reshape(1, 4, -1), scale, shift, 1e-5)
        self.check(model, {"y": y.reshape(4, 3, 5, 6).transpose(1, 0, 2, 3)}, [x])

    def test_refusals_name_the_node(self):
        model = writer.Model(x=(1, 2, 4, 4))
        model.add("odd", "NonMaxSuppression", "x")
        with self.assertRaises(pznet.Error) as caught:
            self.check(model, {"odd": np.zeros((1, 2, 4, 4))}, [])
        self.assertRegex(str(caught.exception), r"node 'odd' \(NonMaxSuppression\): has 1 inputs, expected at least 2")
        self.assertEqual(caught.exception.status, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
