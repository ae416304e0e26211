#!/usr/bin/env python3
"""Makes the models of tests/import/data/onnx, and what ONNX Runtime says of them (ONNX's own reference evaluator where that
does not know an operator).

    pip install onnx onnxruntime
    tests/import/make_onnx.py        writes NAME.onnx and NAME.out
    tests/import/make_onnx.py sums   those of the function sums() alone

NAME.out holds the values of all outputs, in order, as 32-bit floats; the inputs are those of pz_graph_random with seed 1 for
the first, 2 for the second. NAME.text, the graph that the importer makes of it, is checked by hand: where it changes,
`test_import_onnx_golden print NAME` prints the new one.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

FOLDER = pathlib.Path(__file__).resolve().parent / "data" / "onnx"


def splitmix(seed, count):
    """pz_graph_random(seed, 1, count)"""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z = z ^ z >> np.uint64(31)
    return ((z >> np.uint64(40)).astype(np.float64) / 2**23 - 1).astype(np.float32)


def evaluate(path, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options).run(None, feed)
    except Exception as error:  # its own classes have no common base
        print(f"{path.name}: not by ONNX Runtime: {error}"[:300])
        return ReferenceEvaluator(str(path)).run(None, feed)


class Model:
    """Nodes, initialisers, inputs and outputs, put together line by line."""

    def __init__(self, name, opset, types={}, **inputs):
        self.types = types
        self.name, self.opset, self.nodes, self.constants, self.outputs, self.count = name, opset, [], [], [], 0
        self.inputs, self.random = inputs, np.random.default_rng(len(name))
        self.rows = 0  # of all outputs, where ONNX has fewer

    def weights(self, *shape, scale=0.5, low=None):
        values = self.random.integers(-8, 9, shape).astype(np.float32) / 8 * scale
        return self.constant(values if low is None else np.abs(values) + low)

    def constant(self, values, dtype=None, name=None):
        name = name or f"k{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def raw(self, tensor):
        self.constants.append(tensor)
        return tensor.name

    def __call__(self, op, *inputs, outputs=1, named=None, **attributes):
        self.count += 1
        results = [f"{op.lower()}{self.count}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), results, name=named or f"{op}{self.count}", **attributes))
        return results if outputs > 1 else results[0]

    def out(self, *names):
        self.outputs += names

    def save(self, check=True):
        infos = [helper.make_tensor_value_info(n, self.types.get(n, T.FLOAT), shape) for n, shape in self.inputs.items()]
        outputs = [helper.make_value_info(n, onnx.TypeProto()) for n in self.outputs]
        graph = helper.make_graph(self.nodes, self.name, infos, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8,
                                  producer_name="make_onnx.py")
        onnx.save(model, FOLDER / f"{self.name}.onnx")
        if self.types:
            return
        shapes = [[1 if isinstance(d, str) else d for d in s] for s in self.inputs.values()]
        feed = {n: splitmix(i + 1, int(np.prod(s))).reshape(s) for i, (n, s) in enumerate(zip(self.inputs, shapes))}
        results = evaluate(FOLDER / f"{self.name}.onnx", feed)
        results = [r if not self.rows else np.concatenate([r, np.full((self.rows - len(r), *r.shape[1:]), -1)]) for r in results]
        values = np.concatenate([np.asarray(r, np.float32).ravel() for r in results])
        values.astype("<f4").tofile(FOLDER / f"{self.name}.out")
        if not np.isfinite(values).all():
            sys.exit(f"{self.name}: not finite")


def convolutions():
    m = Model("convolutions", 17, x=["N", 4, 4, 5, 6])
    a = m("Conv", "x", m.weights(6, 4, 3, 3, 3), m.weights(6), kernel_shape=[3, 3, 3], pads=[1, 0, 1, 1, 1, 0])
    b = m("Conv", "x", m.weights(8, 2, 1, 2, 3), group=2, strides=[1, 2, 1], auto_pad="SAME_UPPER")
    c = m("Conv", "x", m.weights(4, 1, 3, 3, 3), group=4, auto_pad="SAME_LOWER", strides=[2, 2, 2])
    d = m("Conv", "x", m.weights(2, 4, 2, 2, 2), auto_pad="VALID", strides=[2, 1, 1], dilations=[1, 2, 3])
    m.out(a, b, c, d)
    w = m.weights(4, 3, 2, 3, 2)
    m.out(m("ConvTranspose", "x", w, strides=[2, 2, 2]))
    m.out(m("ConvTranspose", "x", w, m.weights(3), strides=[2, 2, 3], pads=[0, 1, 0, 1, 1, 0], output_padding=[1, 0, 2]))
    m.out(m("ConvTranspose", "x", w, strides=[2, 2, 2], output_shape=[8, 10, 11]))
    m.out(m("ConvTranspose", "x", m.weights(4, 1, 2, 2, 4), group=4, auto_pad="SAME_UPPER", strides=[1, 2, 3]))
    m.save()
    m = Model("pools", 19, x=[1, 2, 9, 10])
    m.out(m("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2]))
    m.out(m("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, storage_order=0))
    m.out(m("MaxPool", "x", kernel_shape=[2, 3], dilations=[3, 2]))
    m.out(m("MaxPool", "x", kernel_shape=[3, 2], auto_pad="SAME_LOWER", strides=[2, 3]))
    m.out(m("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    m.out(m("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1))
    m.out(m("GlobalAveragePool", "x"), m("GlobalMaxPool", "x"))
    m.save()


def normalisations():
    m = Model("normalisations", 21, x=[2, 4, 3, 5])
    p, n = m.weights(4), m.weights(4)
    m.out(m("BatchNormalization", "x", p, n, m.weights(4), m.weights(4, low=0.5), epsilon=1e-3, momentum=0.8))
    m.out(m("InstanceNormalization", "x", p, n))
    m.out(m("GroupNormalization", "x", p, n, num_groups=2, epsilon=1e-4))
    m.out(m("LayerNormalization", "x", m.weights(3, 5), m.weights(1, 5), axis=2))
    nhwc = m("Transpose", "x", perm=[0, 2, 3, 1])
    m.out(m("Transpose", m("LayerNormalization", nhwc, p, axis=-1, stash_type=1), perm=[0, 3, 1, 2]))
    m.out(m("LRN", "x", size=3, alpha=0.1, beta=0.5, bias=2.0))
    m.out(m("Softmax", "x", axis=1), m("LogSoftmax", "x"))
    m.save()
    m = Model("group_norm_18", 18, x=[1, 6, 4])
    m.out(m("GroupNormalization", "x", m.weights(3), m.weights(3), num_groups=3))
    m.save()


def functions():
    m = Model("functions", 24, x=[1, 3, 4, 5])
    for op in "Relu Sigmoid HardSwish Mish Softplus Softsign Tanh Abs Exp Erf Round Floor Ceil Sign Neg".split():
        m.out(m(op, "x"))
    m.out(m("LeakyRelu", "x"), m("Elu", "x", alpha=0.5), m("Selu", "x"), m("Celu", "x", alpha=2.0))
    m.out(m("HardSigmoid", "x", alpha=0.3), m("ThresholdedRelu", "x", alpha=0.25), m("Swish", "x"))
    m.out(m("Swish", "x", alpha=1.5), m("Gelu", "x"), m("Gelu", "x", approximate="tanh"))
    positive = m("Add", m("Abs", "x"), m.constant(0.5, np.float32))
    m.out(m("Log", positive), m("Sqrt", positive), m("Reciprocal", positive))
    m.out(m("PRelu", "x", m.weights(3, 1, 1)), m("PRelu", "x", m.constant([0.25], np.float32)), m("PRelu", "x", m.weights(5)))
    low, high = m.constant(-0.5, np.float32), m.constant(0.75, np.float32)
    m.out(m("Clip", "x", low, high), m("Clip", "x", "", high), m("Clip", "x", low), m("Clip", "x"))
    m.out(m("Clip", "x", m.constant(0, np.float32)), m("Clip", "x", high, low))
    m.save()


def arithmetic():
    m = Model("arithmetic", 18, x=[1, 3, 4, 5], y=[3, 1, 5])
    number, maps, row = m.constant(2.5, np.float32), m.weights(1, 3, 1, 1, low=0.5), m.weights(5, low=0.5)
    for op in "Add Sub Mul Div".split():
        m.out(m(op, "x", "y"), m(op, "x", number), m(op, number, "x"), m(op, "x", maps), m(op, maps, "x"), m(op, row, "x"))
    m.out(m("Pow", m("Abs", "x"), number), m("Pow", "x", m.constant(2, np.int64)), m("Pow", number, "y"))
    m.out(m("Max", "x", "y", row), m("Min", "x", "y"), m("Max", "x", number), m("Min", number, "x"), m("Max", "y"))
    m.out(m("Max", "x", m.constant(0, np.float32)), m("Sum", "x", "y", row), m("Mean", "x", "y"), m("Sum", "x"))
    m.out(m("Add", "y", m.weights(2, 3, 4, 1)), m("Mul", "x", "x"))
    m.save()


def moving():
    m = Model("moving", 18, x=[1, 4, 6, 5])
    ints = m.ints
    m.out(m("Concat", "x", m("Relu", "x"), m.weights(1, 1, 6, 5), axis=1), m("Concat", "x", axis=-1))
    m.out(*m("Split", "x", ints(1, 3), axis=1, outputs=2), *m("Split", "x", axis=3, num_outputs=2, outputs=2))
    m.out(m("Slice", "x", ints(1, -4), ints(1000, -1), ints(1, 3)))
    m.out(m("Slice", "x", ints(-1, 4), ints(-2**63, 0), ints(-1, 2), ints(-2, -1)))
    m.out(m("Gather", "x", m.constant(1, np.int64), axis=1), m("Gather", "x", ints(3, 1), axis=2))
    m.out(m("Pad", "x", ints(0, 1, 0, 2, 0, 0, 1, 0), m.constant(0.5, np.float32)))
    m.out(m("Pad", "x", ints(1, 2, 3, 4), "", ints(2, 3), mode="reflect"), m("Pad", "x", ints(0, 0, -1, 2, 0, 0, 2, -1), mode="edge"))
    m.out(m("DepthToSpace", "x", blocksize=2), m("DepthToSpace", "x", blocksize=2, mode="CRD"))
    m.out(m("SpaceToDepth", m("Slice", "x", ints(0), ints(4), ints(3)), blocksize=2))
    m.out(m("Transpose", "x", perm=[0, 2, 3, 1]), m("Transpose", "x"))
    m.out(m("Reshape", "x", ints(0, -1, 5)), m("Flatten", "x", axis=2), m("Unsqueeze", "x", ints(0, -1)))
    m.out(m("Squeeze", m("Unsqueeze", "x", ints(1)), ints(1)), m("Identity", "x"), m("Dropout", "x"))
    m.out(m("Expand", m("Slice", "x", ints(0), ints(1), ints(1)), ints(2, 3, 1, 5)))
    m.out(m("Tile", "x", ints(1, 2, 1, 3)), m("Cast", m("Cast", "x", to=T.DOUBLE), to=T.FLOAT))
    m.save()


def gathering():
    """Indices that are no window: repeated, in any order, of several axes; an adaptive average by parts."""
    m = Model("gathering", 18, x=[2, 3, 5, 4])
    ints = m.ints
    m.out(m("Gather", "x", ints(0, 0, 2, -1), axis=2), m("Gather", "x", m.constant([[3, 0], [1, -2]], np.int64), axis=3))
    m.out(m("GatherND", "x", m.constant([[1, 2], [0, -1], [1, 0]], np.int64)))
    m.out(m("GatherND", "x", m.constant([[[2], [0]], [[1], [1]]], np.int64), batch_dims=1))
    rows, columns = np.array([[0, 1], [1, 2], [3, 4]]), np.array([[0, 1], [1, 2], [2, 3]])
    both = np.stack(np.broadcast_arrays(rows[:, :, None, None], columns), -1)
    spread = m("GatherND", m("Transpose", "x", perm=[2, 3, 0, 1]), m.constant(both, np.int64))
    spread = m("Transpose", spread, perm=[4, 5, 0, 1, 2, 3])
    m.out(m("ReduceMean", spread, ints(-3, -1), keepdims=0), m("ReduceMax", spread, ints(-1)))
    m.out(m("Reshape", "x", m("GatherND", ints(7, 6, 20), m.constant([[1], [2]], np.int64))))
    m.save()


def comparing():
    """Truth values of computed tensors, what is chosen by them, and casts."""
    m = Model("comparing", 18, x=[1, 3, 4, 5], y=[3, 1, 5])
    half, number = m.constant(0.5, np.float32), lambda v: m("Cast", v, to=T.FLOAT)
    rounded = m("Round", m("Mul", "x", m.constant(2, np.float32)))
    less, greater = m("Less", "x", "y"), m("Greater", "x", half)
    m.out(number(less), number(greater), number(m("LessOrEqual", rounded, m.constant(1, np.float32))))
    m.out(number(m("GreaterOrEqual", half, "y")), number(m("Equal", rounded, m.constant([[0], [1], [-1], [2]], np.float32))))
    for op in "And Or Xor".split():
        m.out(number(m(op, less, greater)))
    m.out(m("Where", m("Not", less), "x", m.constant(7, np.float32)), m("Where", m("Cast", rounded, to=T.BOOL), "y", "x"))
    m.out(m("Where", m.constant([True, False, False, True, True]), "x", half))
    m.out(number(m("Cast", m("Mul", "x", m.constant(3, np.float32)), to=T.INT64)))
    low = m("ReduceMin", "y", keepdims=0)
    m.out(m("Clip", "x", low, half), m("Clip", "x", "", m("Neg", low)), m("Clip", "x", half, low))
    m.save()


def resizing():
    m = Model("resizing", 19, x=[1, 2, 4, 5])
    half, sizes = m.constant([1, 1, 0.5, 2.5], np.float32), m.ints(1, 2, 7, 3)
    for mode in "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric":
        m.out(m("Resize", "x", "", "", sizes, mode="linear", coordinate_transformation_mode=mode))
    for how in "round_prefer_floor", "round_prefer_ceil", "floor", "ceil":
        m.out(m("Resize", "x", "", half, mode="nearest", nearest_mode=how))
    m.out(m("Resize", "x", "", "", m.ints(9, 9), mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger"))
    rows = m("Reshape", "x", m.ints(8, 5))
    m.out(m("Resize", rows, "", m.constant([2, 3], np.float32), coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
    m.save()


def products():
    m = Model("products", 18, x=[2, 3, 4])
    flat = m("Flatten", "x")
    m.out(m("Gemm", flat, m.weights(12, 5), m.weights(5), alpha=0.5, beta=2.0), m("Gemm", flat, m.weights(5, 12), transB=1))
    m.out(m("Gemm", flat, m.weights(2, 3), m.weights(12, 1), transA=1, beta=0.5), m("Gemm", flat, m.weights(12, 2), m.weights(1)))
    m.out(m("MatMul", "x", m.weights(4, 6)), m("MatMul", "x", m.weights(4)), m("MatMul", "x", m.weights(1, 1, 4, 2)))
    axes = m.ints(-1, 0)
    for op in "ReduceMean ReduceSum ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare".split():
        m.out(m(op, "x", axes), m(op, "x", keepdims=0))
    m.out(m("ReduceMean", "x", noop_with_empty_axes=1), m("ArgMax", "x", axis=1), m("ArgMin", "x", axis=-1, keepdims=0))
    m.save()


def sums():
    """Cumulative: the axis is an input; of floats, of whole numbers, of more than five dimensions."""
    m = Model("sums", 14, x=[1, 5, 3, 4])
    axis = lambda v, dtype=np.int64: m.constant(v, dtype)
    m.out(m("CumSum", "x", axis(1)), m("CumSum", "x", axis(-1, np.int32), exclusive=1), m("CumSum", "x", m.ints(2), reverse=1))
    m.out(m("CumSum", "x", axis(0), exclusive=1, reverse=1))
    tall = m("Reshape", "x", m.ints(1, 5, 1, 3, 2, 2))
    m.out(m("Reshape", m("CumSum", tall, axis(3)), m.ints(15, 4)))
    label = m("ArgMax", "x", axis=1, keepdims=0)
    m.out(m("CumSum", label, axis(2)), m("CumSum", m("Sub", label, axis(2)), axis(1), reverse=1))
    large = m.constant([[2**62, 2**62, 2**62], [-3, 2**40, 5]], np.int64)
    m.out(m("Cast", m("Mod", m("CumSum", large, axis(1), reverse=1), axis(1000)), to=T.FLOAT))
    m.out(m("Cast", m("Mod", m("CumSum", large, axis(0), exclusive=1), axis(1000)), to=T.FLOAT))
    m.out(m("Mul", m("CumSum", m.weights(3, 4), axis(0)), "x"))
    m.save()


def boxes():
    """Boxes that are kept, and what exporters make of their numbers. Where fewer are kept than there can be, rows of -1 are added to what
    ONNX Runtime says."""
    m = Model("boxes", 17, x=[2, 7, 4], scores=[2, 3, 7])
    nms = lambda most, overlap, *score, **more: m("NonMaxSuppression", "x", "scores", m.ints(most), m.constant([overlap], np.float32),
                                                  *(m.constant([s], np.float32) for s in score), **more)
    rows = nms(4, 0.2, -0.5)
    flat, table = m("Reshape", "x", m.ints(14, 4)), m("Reshape", "scores", m.ints(42))
    image, box = m("Gather", rows, m.ints(0), axis=1), m("Gather", rows, m.constant(2, np.int64), axis=1)
    number = m("Add", m("Mul", m("Squeeze", image, m.ints(1)), m.constant(7, np.int64)), box)
    columns = m("Split", rows, m.ints(1, 1, 1), outputs=3, axis=1)
    entry = m("Add", m("Mul", m("Add", m("Mul", columns[0], m.constant(3, np.int64)), columns[1]), m.constant(7, np.int64)), columns[2])
    picked = [m("Gather", flat, number, axis=0), m("Unsqueeze", m("GatherND", "scores", rows), m.ints(1)), m("Gather", table, entry),
              m("Cast", m("Slice", rows, m.ints(1), m.ints(2), m.ints(1)), to=T.FLOAT)]
    pair = m("Concat", columns[0], columns[2], axis=1)
    near = m("GatherND", "x", pair)
    whole = m("Add", m("Mul", near, m.constant(2, np.float32)), m.constant([1, 2, 3, 4], np.float32))
    m.out(rows, m("Concat", *picked, axis=1), whole, m("Where", m("Less", near, m.constant(0, np.float32)), whole, near))
    m.rows = 2 * 3 * 4
    m.out(m("Sub", number, m.constant(1, np.int64)))
    m.save()
    m = Model("centres", 11, x=[1, 9, 4], scores=[1, 2, 9])
    m.rows = 2 * 9
    m.out(m("NonMaxSuppression", m("Abs", "x"), "scores", m.ints(2**62), center_point_box=1))
    m.save()


def tables():
    """Entries by computed numbers, all of which are there: of a constant, and of a computed value behind an axis of one entry."""
    m = Model("tables", 13, x=[1, 5, 3, 4])
    label = m("ArgMax", "x", axis=1, keepdims=0)
    m.out(m("Gather", m.weights(5, 2), label), m("Gather", "x", label, axis=1), m("Gather", m.ints(3, 1, 4, 1, 5), label))
    m.out(m("GatherND", m.weights(5, 3, 2), m("Unsqueeze", label, m.ints(3))))
    m.save()


def matrices():
    """Several constant matrices on the right side; broadcasting of opset 6."""
    m = Model("matrices", 18, x=[2, 1, 3, 4], y=[4])
    m.out(m("MatMul", "x", m.weights(2, 3, 4, 5)), m("MatMul", "x", m.weights(3, 4, 2)), m("MatMul", "y", m.weights(3, 4, 2)))
    m.save()
    m = Model("opset_6", 6, x=[2, 3, 4], y=[3, 4])
    m.out(m("Add", "x", "y", axis=1, broadcast=1), m("Mul", "x", m.weights(4), axis=-1, broadcast=1), m("Sub", "x", "x"))
    m.save()


def shapes():
    """What exporters make of x.view(x.size(0), -1), interpolate to another's size, F.pad with a list, torch.arange, ..."""
    m = Model("shapes", 17, x=["N", 4, 6, 8], y=[1, 4, 3, 4])
    one, size = m.ints(1), m("Shape", "x")
    batch = m("Gather", size, m.constant(0, np.int64))
    m.out(m("Reshape", "x", m("Concat", m("Unsqueeze", batch, m.ints(0)), m.ints(-1), axis=0)))
    tail = m("Slice", size, m.ints(2), m.ints(4), m.ints(0))
    target = m("Concat", m("Slice", m("Shape", "y"), m.ints(0), m.ints(2)), m("Cast", tail, to=T.INT64), axis=0)
    m.out(m("Resize", "y", m.constant([], np.float32), m.constant([], np.float32), target, mode="linear"))
    pads = m("Concat", m.ints(1, 1, 2, 0), m("ConstantOfShape", m.ints(4), value=helper.make_tensor("v", T.INT64, [1], [0])), axis=0)
    pads = m("Transpose", m("Slice", m("Reshape", pads, m.ints(-1, 2)), m.ints(-1), m.ints(-2**63 + 1), m.ints(0), m.ints(-1)))
    m.out(m("Pad", "x", m("Cast", m("Reshape", pads, m.ints(-1)), to=T.INT64)))
    half = m("Floor", m("Mul", m("Cast", m("Shape", "x", start=2), to=T.FLOAT), m.constant(0.5, np.float32)))
    even = m("Equal", m("Mod", m("Cast", half, to=T.INT64), m.ints(2)), m.ints(0))
    where = m("Where", even, m("Cast", half, to=T.INT64), m("Expand", one, m.ints(2)))
    m.out(m("Slice", "x", m.ints(0, 0), where, m.ints(2, 3)))
    steps = m("Range", m.constant(0, np.int64), m("Div", m("Size", "y"), m.constant(12, np.int64)), m.constant(1, np.int64))
    m.out(m("Mul", "y", m("Unsqueeze", m("Cast", steps, to=T.FLOAT), m.ints(0, 1, 2))))
    less = m("And", m("Less", batch, m.constant(2, np.int64)), m("Not", m("Greater", batch, m.constant(5, np.int64))))
    then = helper.make_graph([helper.make_node("Relu", ["x"], ["inner"])], "then", [], [helper.make_value_info("inner", onnx.TypeProto())])
    other = helper.make_graph([helper.make_node("Hardmax", ["x"], ["never"])], "else", [], [helper.make_value_info("never", onnx.TypeProto())])
    m.out(m("If", less, then_branch=then, else_branch=other))
    weight = m("Transpose", m.weights(2, 2, 1, 4), perm=[3, 2, 0, 1])
    m.out(m("Conv", "x", m("Reshape", m("Mul", weight, m.constant(2, np.float32)), m.ints(1, 4, 2, 2))))
    total = m("ReduceProd", m("Shape", "y"), keepdims=1)
    m.out(m("Reshape", "y", m("Max", total, one)), m("Tile", "y", m("Split", m.ints(1, 2, 1, 1, 7), m.ints(4, 1), outputs=2)[0]))
    m.save()


def constants():
    """Constants of every type and every way of storing them."""
    m = Model("constants", 21, x=[1, 4])
    values = [1.5, -2, 0.25, 6e-8]
    for kind in T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16:
        m.out(m("Add", "x", m("Cast", m.raw(helper.make_tensor(f"typed{kind}", kind, [4], values)), to=T.FLOAT)))
        array = numpy_helper.to_array(helper.make_tensor("", kind, [4], values))
        m.out(m("Add", "x", m("Cast", m.raw(helper.make_tensor(f"raw{kind}", kind, [4], array.tobytes(), raw=True)), to=T.FLOAT)))
    for kind, numbers in [(T.INT8, [-128, 127, 3, -1]), (T.UINT8, [255, 0, 1, 2]), (T.INT16, [-300, 300, 7, 0]),
                          (T.UINT16, [65535, 1, 2, 3]), (T.INT32, [-70000, 5, 6, 7]), (T.UINT32, [4000000, 1, 2, 3]),
                          (T.INT64, [-5, 4, 3, 2]), (T.UINT64, [9, 8, 7, 6]), (T.BOOL, [1, 0, 1, 1]),
                          (T.INT4, [-8, 7, 1, -1]), (T.UINT4, [15, 0, 3, 2])]:
        typed = helper.make_tensor(f"typed{kind}", kind, [4], numbers)
        m.out(m("Add", "x", m("Cast", m.raw(typed), to=T.FLOAT)))
        if kind not in (T.INT4, T.UINT4):
            data = np.asarray(numbers, helper.tensor_dtype_to_np_dtype(kind)).tobytes()
            m.out(m("Add", "x", m("Cast", m.raw(helper.make_tensor(f"raw{kind}", kind, [4], data, raw=True)), to=T.FLOAT)))
    m.out(m("Add", "x", m("Constant", value=numpy_helper.from_array(np.float32([1, 2, 3, 4])))))
    m.out(m("Mul", "x", m("Constant", value_float=1.5)), m("Add", "x", m("Constant", value_floats=[4.0, 3.0, 2.0, 1.0])))
    m.out(m("Reshape", "x", m("Constant", value_ints=[2, 2])))
    m.out(m("Unsqueeze", "x", m("Reshape", m("Constant", value_int=1), m.ints(1))))
    m.out(m("Identity", m.constant([1, 2, 3], np.float32)))
    m.save()


def folding():
    """Constants stay constants through every operator: nothing but constants is left, added to the input at the end."""
    m = Model("folding", 21, x=[1, 1, 1, 1])
    ints, f = m.ints, lambda *v: m.constant(v, np.float32)
    image, kernel, maps = m.weights(2, 3, 5, 6), m.weights(4, 3, 3, 3), m.weights(3)
    positive = m.weights(3, low=0.5)
    kept = [m("Conv", image, kernel, m.weights(4), pads=[1, 0, 1, 2], strides=[2, 1]), m("ConvTranspose", image, m.weights(3, 2, 2, 2))]
    kept += [m("MaxPool", image, kernel_shape=[2, 3], strides=[2, 1]), m("AveragePool", image, kernel_shape=[3, 2], pads=[1, 0, 1, 1])]
    kept += [m("GlobalMaxPool", image), m("GlobalAveragePool", image), m("LRN", image, size=3, alpha=0.1)]
    kept += [m("BatchNormalization", image, maps, maps, maps, positive), m("InstanceNormalization", image, maps, maps)]
    kept += m("BatchNormalization", image, maps, maps, maps, positive, outputs=3, training_mode=1, momentum=0.25, epsilon=1e-3)
    kept += [m("LayerNormalization", image, m.weights(6), m.weights(6)), m("GroupNormalization", image, maps, maps, num_groups=3)]
    for op in "Relu LeakyRelu Elu Selu Celu Sigmoid HardSigmoid HardSwish Mish Softplus Softsign Tanh Gelu Erf Abs Neg Sign Round Floor Ceil Exp".split():
        kept.append(m(op, kernel))
    kept += [m("Sqrt", positive), m("Log", positive), m("Reciprocal", positive), m("PRelu", image, m.weights(3, 1, 1)), m("Mean", maps, positive)]
    kept += [m("Clip", maps, m.constant(-0.1, np.float32), m.constant(0.2, np.float32)), m("Pow", positive, maps), m("Sum", maps, positive, maps)]
    kept += [m("Gemm", m.weights(4, 5), m.weights(5, 2), m.weights(2), alpha=0.5), m("MatMul", image, m.weights(6, 2)), m("MatMul", m.weights(2, 3, 4), m.weights(2, 4, 3))]
    kept += [m("Softmax", image, axis=1), m("LogSoftmax", image), m("ArgMax", image, axis=1), m("ArgMin", image, axis=3, keepdims=0)]
    for op in "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare".split():
        kept.append(m(op, kernel, ints(1, -1), keepdims=0))
    kept += [m("Pad", maps, ints(1, 2), m.constant(0.5, np.float32)), m("Resize", image, "", f(1, 1, 1.5, 2), mode="linear")]
    kept += [m("DepthToSpace", m.weights(1, 4, 2, 3), blocksize=2), m("SpaceToDepth", m("Slice", image, ints(0), ints(4), ints(2)), blocksize=2)]
    kept += [m("DequantizeLinear", m("QuantizeLinear", image, *(q := (m.constant(0.05, np.float32), m.constant(3, np.uint8)))), *q)]
    kept += [m("OneHot", ints(0, -1, 2, 7), m.constant(3, np.int64), f(0.25, 2)), m("CastLike", ints(1, 2), maps)]
    m.out(*kept)
    m.save()


def exact():
    """Integers of 64 bits and doubles as they are; updates scattered into constants."""
    m = Model("exact", 18, x=[1])
    ints, big = m.ints, 2**53
    number = lambda v: m("Cast", v, to=T.FLOAT)
    base, least, most = ints(big), m.constant(0, np.int64), m.constant(2**63 - 1, np.int64)
    large = m("Clip", ints(big + 1, -5, big + 3), least, most)
    m.out(number(m("Sub", large, base)), number(m("Sub", m("Max", large, ints(big + 2)), base)), number(m("Mod", large, ints(10))))
    m.out(number(m("Sub", m("ReduceSum", large, keepdims=0), ints(2 * big))), number(m("Equal", large, base)), number(m("Neg", ints(5, -7))))
    m.out(number(m("Add", m.constant([250, 7], np.uint8), m.constant([10, 1], np.uint8))), number(m("Cast", ints(300, -1), to=T.UINT8)))
    m.out(number(m("Mod", ints(-7, 7, -6), ints(3, -3, 4), fmod=1)), number(m("Mod", ints(-7, 7, -6), ints(3, -3, 4))), number(m("Div", ints(-7, 7), ints(2, -2))))
    m.out(number(m("Sub", m("Pow", ints(3, -3, 2), ints(20, 3, 0)), ints(3**20 - 1, 0, 0))))
    wide = lambda *v: m.constant(v, np.float64)
    m.out(number(m("Mul", m("Sub", wide(1 + 2.0**-40, 3), wide(1, 3)), wide(2.0**40))), number(m("Floor", m("Mul", wide(0.1, 0.7), wide(30, 10)))))
    m.out(number(m("Sqrt", wide(2))), number(m("Clip", wide(1e-30, 5), m.constant(0, np.float64), m.constant(2, np.float64))))
    data, index = m.weights(3, 4), [m.constant(i, np.int64) for i in ([[0], [2], [0]], [[2], [-3], [1]])]
    for how in "none", "add", "mul", "min", "max":
        m.out(m("ScatterND", data, index[how == "none"], m.weights(3, 4), reduction=how))
        m.out(m("ScatterElements", data, m.constant([[0, -1], [3, 1]], np.int64), m.weights(2, 2), axis=1, reduction=how))
    m.out(number(m("ScatterND", ints(1, 2, 3, 4), m.constant([[-1], [1]], np.int64), ints(big, 9))))
    m.out(m("Pad", "x", m("Cast", m("Clip", m.constant([1.0, 2.0], np.float32), m.constant(0, np.float32)), to=T.INT64)))
    m.save()


def labels():
    """Whole numbers that the network computes: arithmetic, comparisons, casts, one-hot."""
    m = Model("labels", 18, x=[1, 5, 3, 4])
    n = lambda v: m.constant(v, np.int64)
    number = lambda v: m("Cast", v, to=T.FLOAT)
    label = m("ArgMax", "x", axis=1, keepdims=0)
    low = m("Sub", label, n(2))
    m.out(label, m("Cast", label, to=T.UINT8), number(m("Add", label, n(1))), low, m("Sub", n(7), label), m("Mul", label, low))
    m.out(m("Mul", label, n([[10], [-3], [100]])), m("Div", m("Mul", label, n(37)), n(7)), m("Div", m("Mul", low, n(37)), n(10)))
    m.out(m("Mod", label, n(3)), m("Mod", low, n(3)), m("Mod", low, n([1, 2, 3, 4])), m("Mod", low, n(3), fmod=1))
    m.out(m("Neg", label), m("Abs", low), m("Sign", low), m("ReduceSum", low), m("Add", label, m("ArgMin", "x", axis=1, keepdims=0)))
    m.out(number(m("Equal", label, n(3))), number(m("Less", label, n(2))), m("Where", m("Equal", label, n(0)), n(255), label))
    m.out(m("Cast", m("Add", m("Cast", label, to=T.INT32), m.constant(300, np.int32)), to=T.UINT8), m("Cast", low, to=T.INT8))
    m.out(m("Cast", low, to=T.UINT8), m("Max", low, n(0)))
    m.out(m("OneHot", label, n(5), m.constant([0, 1], np.int64)), m("OneHot", low, n(3), m.constant([-1.5, 2], np.float32), axis=1))
    clipped = m("Clip", m("Mul", "x", m.constant(300, np.float32)), m.constant(0, np.float32), m.constant(255, np.float32))
    m.out(m("Cast", clipped, to=T.UINT8), m("Mul", m("Pad", label, n([0, 0, 1, 0, 1, 0]), n(9)), n(2)))
    m.save()


def training():
    """Statistics of the batch itself."""
    m = Model("training", 18, x=[2, 3, 4, 5])
    p, n = m.weights(3), m.weights(3)
    m.out(*m("BatchNormalization", "x", p, n, m.weights(3), m.weights(3, low=0.5), outputs=3, training_mode=1, momentum=0.75))
    one = m("Slice", "x", m.ints(0), m.ints(1), m.ints(0))
    m.out(m("BatchNormalization", one, p, n, m.weights(3), m.weights(3, low=0.5), outputs=3, training_mode=1, epsilon=1e-2)[0])
    m.save()


def quantised():
    m = Model("quantised", 19, x=[1, 3, 4, 4])
    s, z = m.constant(0.05, np.float32), m.constant(7, np.uint8)
    q = m("QuantizeLinear", "x", s, z)
    m.out(m("DequantizeLinear", m("MaxPool", q, kernel_shape=[2, 2], strides=[2, 2]), s, z))
    axes = m.constant([0.05, 0.1, 0.25], np.float32), m.constant([0, -3, 5], np.int8)
    m.out(m("DequantizeLinear", m("QuantizeLinear", "x", *axes, axis=1), *axes, axis=1))
    weight = m.constant(m.random.integers(-128, 128, (2, 3, 3, 3)), np.int8)
    scale = m.constant([0.01, 0.02], np.float32), m.constant([0, 1], np.int8)
    bias = m.constant([100, -200], np.int32)
    m.out(m("Conv", "x", m("DequantizeLinear", weight, *scale, axis=0), m("DequantizeLinear", bias, m.constant(0.001, np.float32))))
    m.save()
    m = Model("quantised_blocks", 21, x=[2, 5, 3])
    scale = m.constant(m.random.integers(1, 9, (2, 3, 3)) / 32, np.float32)
    blocks = scale, m.constant(m.random.integers(-9, 9, (2, 3, 3)), np.int8)
    m.out(m("DequantizeLinear", m("QuantizeLinear", "x", *blocks, axis=1, block_size=2), *blocks, axis=1, block_size=2))
    m.save()


def old():
    """What older opsets have as attributes."""
    m = Model("opset_7", 7, x=[1, 4, 6, 5])
    m.out(m("Upsample", "x", scales=[1.0, 1.0, 2.0, 3.0], mode="nearest"), m("Slice", "x", starts=[1, 0], ends=[3, 4], axes=[1, 2]))
    m.out(m("Pad", "x", pads=[0, 0, 1, 2, 0, 0, 3, 4], value=1.5), m("Clip", "x", min=-0.5, max=0.25), m("Softmax", "x"))
    m.out(m("Squeeze", m("Unsqueeze", "x", axes=[0]), axes=[0]), m("ReduceSum", "x", axes=[1], keepdims=0))
    m.out(*m("Split", "x", axis=1, split=[3, 1], outputs=2), m("Dropout", "x", ratio=0.3))
    m.out(m("BatchNormalization", "x", m.weights(4), m.weights(4), m.weights(4), m.weights(4, low=1)))
    m.save()
    m = Model("opset_10", 10, x=[1, 2, 4, 5])
    m.out(m("Resize", "x", m.constant([1, 1, 2, 1.6], np.float32)), m("Slice", "x", m.ints(0), m.ints(2), m.ints(3)))
    m.out(m("Dropout", "x", ratio=0.1), m("Flatten", "x", axis=0))
    m.save()


def types():
    """Inputs and outputs that are not of floats: what is computed is looked at elsewhere (tests/python)."""
    kinds = dict(bytes=T.UINT8, halves=T.FLOAT16, brains=T.BFLOAT16, longs=T.INT64, ints=T.INT32)
    m = Model("types", 18, kinds, bytes=[1, 3, 4, 5], halves=[1, 3, 4, 5], brains=[1, 3, 4, 5], longs=[1, 3, 4, 5], ints=[1, 3, 4, 5])
    cast = lambda v, to: m("Cast", v, to=to)
    total = m("Add", cast("bytes", T.FLOAT), cast("longs", T.FLOAT))
    half = m("Relu", "halves")
    clipped = m("Clip", total, m.constant(-100, np.float32), m.constant(100, np.float32))
    m.out(half, cast("brains", T.FLOAT), cast(total, T.BFLOAT16), cast(clipped, T.INT8), m("ArgMax", total, axis=1))
    m.out(cast(m("ArgMax", total, axis=1), T.UINT8), "bytes")
    third = m("Mul", cast("ints", T.FLOAT), m.constant(1 / 3, np.float32))
    m.out(cast(third, T.INT32), cast(m("ArgMax", third, axis=1), T.INT32), "ints")
    m.save()


def external():
    (FOLDER / "external.bin").unlink(missing_ok=True)
    m = Model("external", 17, x=[1, 2, 3, 3])
    m.out(m("Conv", "x", m.constant(m.random.standard_normal((2, 2, 3, 3)), np.float32, "w"), m.constant([1, 2], np.float32, "b")))
    m.save()
    path = FOLDER / "external.onnx"
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="external.bin", size_threshold=0)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    makers = [convolutions, normalisations, functions, arithmetic, moving, gathering, comparing, resizing, products,
              sums, boxes, tables, matrices, shapes, constants, folding, exact, labels, training, quantised, old, types, external]
    for make in makers:
        if make.__name__ in (sys.argv[1:] or [make.__name__]):
            make()
