#!/usr/bin/env python3
"""accuracy_norm.py OUTPUT.onnx: a network whose instance norm takes the mean of its input out again, for bench_accuracy (doc/accuracy.md)."""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

random = np.random.default_rng(1)


def weights(name: str, *shape: int) -> onnx.TensorProto:
    values = random.uniform(-1, 1, shape) / np.sqrt(np.prod(shape[1:]))
    return numpy_helper.from_array(values.astype(np.float32), name)


def port(name: str, *shape: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


constants = [
    weights("w", 16, 1, 3, 3, 3),
    weights("v", 2, 16, 1, 1, 1),
    numpy_helper.from_array(np.ones(16, np.float32), "one"),
    numpy_helper.from_array(np.zeros(16, np.float32), "zero"),
]
nodes = [
    helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3, 3]),
    helper.make_node("InstanceNormalization", ["a", "one", "zero"], ["b"]),
    helper.make_node("Relu", ["b"], ["c"]),
    helper.make_node("Conv", ["c", "v"], ["y"]),
]
graph = helper.make_graph(nodes, "norm", [port("x", 1, 1, 8, 20, 20)], [port("y", 1, 2, 6, 18, 18)], constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(model, sys.argv[1])
