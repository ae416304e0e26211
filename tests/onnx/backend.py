#!/usr/bin/env python3
"""The ONNX backend tests (the data of the `onnx` package) through pznet.

    tests/onnx/backend.py                      all of it, a few minutes; --jobs processes side by side
    tests/onnx/backend.py --only conv,resize   tests whose names contain one of these
    tests/onnx/backend.py --kinds light        the networks of onnx/backend/test/data/light
    tests/onnx/backend.py --again              those that did not pass the last time

A network file has inputs and outputs of fixed shape, and its weights inside. So a test's inputs of integers and truth
values (shapes, axes) become constants of the model; where pznet refuses the model then, or nothing is left, all inputs but the
first do (weights, slopes, bounds, zero points). What is left is given in the type that the network file
has for it. Results are compared as numbers with the test's tolerances, whatever their type.
A test is *not supported* where compiling refuses the model with a line that says why; anything else that is not the
expected result (a crash, a failure of the C compiler, other numbers) is *failed*, and the exit status then 1.

The networks of `light` have one value for all weights, so that all their classes get the same number, of up to 4e12, before the
softmax, which then tells whether the sums of all classes have the same rounding. Where they have not, the network is compared
without its softmax, with ONNX Runtime (`pip install onnxruntime`).
"""
import argparse
import collections
import json
import pathlib
import re
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import forked  # noqa: E402
import package  # noqa: E402

OPERATORS = set("""
Conv ConvTranspose MaxPool AveragePool GlobalAveragePool GlobalMaxPool BatchNormalization InstanceNormalization
GroupNormalization LayerNormalization Relu LeakyRelu PRelu Elu Selu Sigmoid HardSigmoid HardSwish Mish Softplus Tanh Gelu Clip
Softmax LogSoftmax ArgMax Add Sub Mul Div Max Min Pow Sqrt Exp Neg Abs Sum Mean Concat Split Slice Pad Resize Upsample
DepthToSpace SpaceToDepth Transpose Reshape Flatten Squeeze Unsqueeze Identity Dropout Gemm MatMul ReduceMean ReduceSum
ReduceMax Cast Tile Expand QuantizeLinear DequantizeLinear OneHot ScatterND ScatterElements Mod CumSum NonMaxSuppression""".split())
# What tests of these operators use besides: their functions' bodies, and constants
HELPERS = set("""
Constant ConstantOfShape Shape Size Gather CastLike Where Range Floor Ceil Log Erf Reciprocal Equal Less Greater Not And Or
ReduceSumSquare ReduceProd Round Sign""".split())
INTEGERS = ["int4", "uint4", "int2", "uint2"]  # that NumPy does not know as such
KINDS = {"node": "node", "light": "real", "converted": "pytorch-converted", "operator": "pytorch-operator", "simple": "simple"}
SHOWN = {"passed": "passed", "constants": "passed, parameters constant", "refused": "not supported", "failed": "failed"}


# ---------------------------------------------------------------- the tests

class Test:
    """name, operator (of the table's row), model, data_sets [(inputs, outputs)], rtol, atol."""

    def __init__(self, kind, case):
        self.kind, self.name, self.rtol, self.atol = kind, case.name, case.rtol, case.atol
        read = node_data if case.model is not None else light_data if kind == "light" else stored_data
        self.model, self.data_sets = read(case)
        self.types = {node.op_type for node in self.model.graph.node}
        self.operator = self.row()

    def row(self):
        """The operator a node test is for; of one that its function's body replaces, the one in its name."""
        if self.kind != "node":
            return f"({self.kind})"
        if "_expanded" not in self.name and len(self.model.graph.node) == 1:
            return self.model.graph.node[0].op_type
        words = self.name.removeprefix("test_").replace("_", "")
        return max((o for o in OPERATORS | HELPERS if words.startswith(o.lower())), key=len, default="?")

    def wanted(self):
        return self.operator in OPERATORS or self.kind == "light" or (
            self.kind != "node" and bool(self.types & OPERATORS) and self.types <= OPERATORS | HELPERS)


def node_data(case):
    """Values of types that NumPy lacks come as messages."""
    import onnx
    from onnx import numpy_helper
    plain = lambda v: numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v
    return case.model, [tuple([plain(v) for v in values] for values in both) for both in case.data_sets]


def stored_data(case):
    import onnx
    from onnx import numpy_helper
    folder, sets = pathlib.Path(case.model_dir), []
    for data in sorted(folder.glob("test_data_set_*")):
        tensors = []
        for what in "input", "output":
            files = [data / f"{what}_{i}.pb" for i in range(len(list(data.glob(f"{what}_*.pb"))))]
            tensors.append([numpy_helper.to_array(onnx.load_tensor(str(f))) for f in files])
        sets.append(tensors)
    return onnx.load(str(folder / "model.onnx")), sets


def light_data(case):
    """As the package's own runner makes it: the input counts from 0 to 1, the result lies beside the model."""
    import numpy
    import onnx
    from onnx import numpy_helper
    path = pathlib.Path(onnx.__file__).parents[1] / case.url
    model = onnx.load(str(path))
    known = {i.name for i in model.graph.initializer}
    shapes = [[d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input if i.name not in known]
    inputs = [(numpy.arange(numpy.prod(s)).reshape(s) / numpy.prod(s)).astype(numpy.float32) for s in shapes]
    output = numpy_helper.to_array(onnx.load_tensor(str(path.with_name(path.stem + "_output_0.pb"))))
    return model, [(inputs, [output])]


def without_softmax(test, inputs):
    """The test's model up to its last softmax, and what ONNX Runtime gives there."""
    import onnx
    import onnxruntime
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    last = model.graph.node.pop()
    if last.op_type != "Softmax":
        raise ValueError("the last node is no softmax")
    del model.graph.output[1:]
    model.graph.output[0].name = last.input[0]
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    known = {i.name for i in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in known]
    return model, session.run(None, dict(zip(names, inputs)))


def load_tests(kinds):
    from onnx.backend.test.loader import load_model_tests
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = {kind: load_model_tests(kind=KINDS[kind]) for kind in kinds}
    return [test for kind, found in cases.items() for case in found for test in try_test(kind, case)]


def try_test(kind, case):
    """The test, where it is one of pznet's operators."""
    if kind == "node" and not {n.op_type for n in case.model.graph.node} & OPERATORS:
        return []
    try:
        test = Test(kind, case)
    except (TypeError, ValueError):  # data that are no tensors: sequences
        return []
    return [test] if test.wanted() else []


# ---------------------------------------------------------------- one test

def with_constants(test, inputs, chosen):
    """The model's bytes, with the chosen inputs {name: value} as constants, and the names and values of the others."""
    import numpy
    import onnx
    from onnx import numpy_helper
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    graph = model.graph
    known = {i.name for i in graph.initializer}
    names = [i.name for i in graph.input if i.name not in known]
    left = {name: value for name, value in zip(names, inputs) if name not in chosen}
    rest = [i for i in graph.input if i.name not in chosen]
    del graph.input[:]
    graph.input.extend(rest)
    for name, value in chosen.items():
        graph.initializer.append(numpy_helper.from_array(numpy.asarray(value), name))
    return model.SerializeToString(), left


def ways(test, inputs):
    """(state when it passes, inputs that become constants)."""
    import numpy
    known = {i.name for i in test.model.graph.initializer}
    names = [i.name for i in test.model.graph.input if i.name not in known]
    named = dict(zip(names, inputs))
    whole = {n: v for n, v in named.items() if numpy.asarray(v).dtype.kind in "biu" or numpy.asarray(v).dtype.name in INTEGERS}
    first = {n: v for n, v in named.items() if n != names[0]}
    if len(whole) < len(named) or not named:
        yield "passed", whole
    if named and first != whole:
        yield "constants" if first else "passed", first


def differences(test, found, expected):
    """What is wrong with the results; None where nothing is."""
    import numpy
    if len(found) != len(expected):
        return f"{len(found)} results, {len(expected)} expected"
    for i, (a, b) in enumerate(zip(found, expected)):
        b = numpy.asarray(b)
        if test.operator == "NonMaxSuppression" and (a[len(b):] == -1).all():
            a = a[:len(b)]  # rows that are left
        if a.shape != b.shape:
            return f"result {i} has shape {a.shape}, expected {b.shape}"
        wide = b.astype(numpy.float64)
        rtol = max(test.rtol, 2**-6) if b.dtype.name == "bfloat16" else test.rtol  # as in the package's own runner
        if not numpy.allclose(a, wide, rtol=rtol, atol=test.atol, equal_nan=True):
            worst = numpy.nanmax(numpy.abs(numpy.where(numpy.isfinite(wide), a - wide, 0)), initial=0)
            return f"result {i} differs: by {worst:.2g}, of values up to {numpy.nanmax(numpy.abs(wide), initial=0):.2g}"
    return None


def attempt(test, pznet, folder, inputs, outputs, chosen):
    """(state, detail) of one way; state None: passed."""
    import numpy
    content, left = with_constants(test, inputs, chosen)
    path = pathlib.Path(folder, "model.onnx")
    path.write_bytes(content)
    try:
        net = pznet.compile(path, effort="estimate", tuning="none", threads=1)
    except pznet.Error as error:
        return ("refused" if error.status == 3 else "failed"), str(error).replace(str(path), "model.onnx")
    unknown = [p.name for p in net.inputs if p.name not in left]
    if unknown:
        return "failed", f"the network has an input '{unknown[0]}', the model has none"
    with numpy.errstate(over="ignore"):
        given = [numpy.asarray(left[p.name]).astype(p.dtype) for p in net.inputs]
    if any(numpy.isinf(g).any() and not numpy.isinf(numpy.asarray(left[p.name])).any() for p, g in zip(net.inputs, given)):
        return "refused", "inputs are beyond the range of float32"
    results = net(*given)
    wrong = differences(test, results if isinstance(results, tuple) else (results,), outputs)
    return ("failed", wrong) if wrong else (None, "")


def run_test(test):
    """In a process of its own."""
    result = run_data_sets(test)
    if test.kind == "light" and result["state"] == "failed" and result["detail"].startswith("result 0 differs"):
        inputs = test.data_sets[0][0]
        test.model, outputs = without_softmax(test, inputs)
        test.data_sets = [(inputs, outputs)]
        result = run_data_sets(test)
        result["detail"] = f"without its softmax; {result['detail']}"
    return result


def run_data_sets(test):
    """Every data set has to pass, each with its own constants."""
    import pznet
    result = {"state": "passed", "detail": ""}
    for inputs, outputs in test.data_sets:
        for passed, chosen in ways(test, inputs):
            with tempfile.TemporaryDirectory(prefix="pznet-backend-") as folder:
                try:
                    state, detail = attempt(test, pznet, folder, inputs, outputs, chosen)
                except Exception as error:
                    state, detail = "failed", f"{type(error).__name__}: {error}"
            result = {"state": state or passed, "detail": detail.splitlines()[0][:400] if detail else ""}
            if state != "refused":
                break
        if state:
            break
    return result


# ---------------------------------------------------------------- the table

def table(rows):
    """Markdown: a line for each operator, then why the others are not supported."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[row["operator"]][row["state"]] += 1
        counts["all"][row["state"]] += 1
    order = sorted(counts, key=lambda name: (name == "all", name.startswith("("), name.lower()))
    lines = ["| operator | " + " | ".join(SHOWN.values()) + " |", "| --- " * (1 + len(SHOWN)) + "|"]
    lines += [f"| {name} | " + " | ".join(str(counts[name][s]) for s in SHOWN) + " |" for name in order]
    for state in "failed", "refused":
        found = [r for r in rows if r["state"] == state]
        if found:
            lines += ["", f"{SHOWN[state].capitalize()}:", ""] + reasons(found)
    return "\n".join(lines) + "\n"


def reasons(rows):
    """One line for each reason, without the place it is about, with the tests that it stopped."""
    groups = collections.defaultdict(list)
    for row in rows:
        text = re.sub(r"^\S*model\.onnx(:[^ ]*)?:? ", "", row["detail"])
        text = re.sub(r"of type u?int\d+", "of integers", re.sub(r"data type \d+", "data type ...", text))
        groups[re.sub(r"'[^']*'", "'...'", text)].append(row["name"].removeprefix("test_"))
    return [f"- {text}: {', '.join(sorted(names)[:6])}{f' and {len(names) - 6} more' if len(names) > 6 else ''}"
            for text, names in sorted(groups.items(), key=lambda g: -len(g[1]))]


def page(rows):
    import onnx
    return (f"# The ONNX backend tests\n\n{len(rows)} tests of onnx {onnx.__version__}, {time.strftime('%Y-%m-%d')}. "
            "`tests/onnx/backend.py --write doc/onnx-backend.md` makes this page.\n\nA network file has its weights inside. "
            "So where pznet refuses a test's model, its inputs but the first become constants:\n*passed, parameters "
            "constant*. *Not supported* is a model that is refused with a line that says why.\nThe beginning of the script "
            f"says more.\n\n{table(rows)}")


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    package.add_option(parser)
    parser.add_argument("--only", default="", help="tests whose names contain one of these words, comma-separated")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {','.join(KINDS)} (default: all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600, help="seconds for a test (default 600)")
    parser.add_argument("--again", action="store_true", help="those that --json says did not pass; its others are kept")
    parser.add_argument("--json", type=pathlib.Path, help="results, one row a test (default: BUILD/onnx-backend.json)")
    parser.add_argument("--write", type=pathlib.Path, help="the table as Markdown")
    options = parser.parse_args(words)
    options.json = options.json or options.build / "onnx-backend.json"
    unknown = set(options.kinds.split(",")) - set(KINDS)
    if unknown:
        parser.error(f"--kinds {','.join(unknown)}: expected some of {','.join(KINDS)}")
    return options


def main(words=None):
    options = options_of(words)
    package.load(options.build)
    tests = {t.name: t for t in load_tests(options.kinds.split(","))}
    if options.only:
        tests = {n: t for n, t in tests.items() if any(word in n for word in options.only.split(","))}
    rows = {}
    if options.again:
        rows = {r["name"]: r for r in json.loads(options.json.read_text())}
        tests = {n: t for n, t in tests.items() if rows.get(n, {}).get("state") not in ("passed", "constants")}
    for done, (name, result) in enumerate(forked.run(run_test, tests, options.jobs, options.limit), 1):
        if "crash" in result:
            result = {"state": "failed", "detail": result["crash"]}
        rows[name] = {"name": name, "operator": tests[name].operator, **result}
        if result["state"] == "failed":
            forked.progress(f"{name}: failed: {result['detail']}")
        if done % 50 == 0 or done == len(tests):
            forked.progress(f"{done} of {len(tests)}")
        options.json.write_text(json.dumps(list(rows.values()), indent=1) + "\n")
    text = table(list(rows.values()))
    print(text)
    if options.write:
        options.write.write_text(page(list(rows.values())))
    return any(r["state"] == "failed" for r in rows.values())


if __name__ == "__main__":
    sys.exit(main())
