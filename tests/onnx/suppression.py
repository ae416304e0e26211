#!/usr/bin/env python3
"""NonMaxSuppression beside ONNX Runtime, on random boxes, to the bit; a minute or less.

    pip install onnx onnxruntime
    tests/onnx/suppression.py [--inputs 200]

Network files are compiled for a few shapes and settings; each gets many inputs: boxes of whole coordinates with corners in any order, boxes
twice, boxes without an area, few different scores, no box above the threshold, overlaps at the bound. What ONNX Runtime gives has to be the
first rows of the network file's result, and -1 the others.
"""
import argparse
import itertools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import package  # noqa: E402

# images, classes, boxes, boxes of a class at most, overlap, score (None: absent), middles and sizes
CASES = [(1, 1, 40, 40, 0.5, 0.25, False), (2, 3, 17, 5, 0.25, None, False), (1, 20, 108, 10, 0.45, 0.01, False),
         (1, 4, 33, 100, 0.0, 0.0, True), (3, 2, 24, 1, 1.0, None, True), (1, 2, 9, 9, 1 / 3, 0.9, False), (1, 1, 1, 1, 0.5, 0.5, True)]


def model_of(case):
    import numpy
    from onnx import TensorProto, helper, numpy_helper
    images, classes, boxes, most, overlap, score, middles = case
    constants = {"most": numpy.int64([most]), "overlap": numpy.float32([overlap])}
    if score is not None:
        constants["score"] = numpy.float32([score])
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", *constants], ["kept"], center_point_box=int(middles))
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "suppression", [info("boxes", TensorProto.FLOAT, [images, boxes, 4]),
                                                      info("scores", TensorProto.FLOAT, [images, classes, boxes])],
                              [info("kept", TensorProto.INT64, ["n", 3])],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8).SerializeToString()


def random_inputs(case, random):
    import numpy
    images, classes, n, *_, middles = case
    whole = random.random() < 0.6
    boxes = (random.integers(0, 9, (images, n, 4)) if whole else random.uniform(0, 10, (images, n, 4))).astype(numpy.float32)
    for image, i in itertools.product(range(images), range(1, n)):
        kind = random.integers(0, 8)
        if kind == 0:
            boxes[image, i] = boxes[image, i - 1]
        elif kind == 1:
            boxes[image, i, 2] = 0 if middles else boxes[image, i, 0]
        elif kind == 2 and middles:
            boxes[image, i, 3] *= -1
    scores = (random.integers(0, 6, (images, classes, n)) / 5 if random.random() < 0.6 else random.random((images, classes, n)))
    return boxes, (scores * random.choice([1, 1, 1, 0])).astype(numpy.float32)


def check(case, inputs, pznet, folder):
    """The number of inputs whose results differ."""
    import numpy
    import onnxruntime
    content, wrong = model_of(case), 0
    path = pathlib.Path(folder, "model.onnx")
    path.write_bytes(content)
    net = pznet.compile(path, effort="estimate", threads=1)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(7)
    rows = 0
    for _ in range(inputs):
        boxes, scores = random_inputs(case, random)
        expected, found = session.run(None, {"boxes": boxes, "scores": scores})[0], net(boxes, scores)
        rows += len(expected)
        wrong += not (numpy.array_equal(found[:len(expected)], expected) and (found[len(expected):] == -1).all())
    print(f"{case}: {inputs} inputs, {rows} rows, {wrong} differ", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=200, help="of each network file (default 200)")
    package.add_option(parser)
    options = parser.parse_args()
    pznet = package.load(options.build)
    with tempfile.TemporaryDirectory(prefix="pznet-suppression-") as folder:
        wrong = sum(check(case, options.inputs, pznet, folder) for case in CASES)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
