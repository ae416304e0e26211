"""Writes ONNX models with the standard library and NumPy (onnx.proto3, the fields that networks need)."""

import struct

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11, "bfloat16": 16}


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name, array):
    """TensorProto: dims 1, data_type 2, name 8, raw_data 9."""
    dims = b"".join(number(1, d) for d in array.shape)
    return dims + number(2, TYPES[array.dtype.name]) + data(8, name) + data(9, array.astype(array.dtype.newbyteorder("<")).tobytes())


def attribute(name, value):
    """AttributeProto: name 1, f 2, i 3, s 4, t 5, floats 7, ints 8, type 20."""
    if isinstance(value, float):
        body = varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    elif isinstance(value, int):
        body = number(3, value) + number(20, 2)
    elif isinstance(value, str):
        body = data(4, value) + number(20, 3)
    elif hasattr(value, "dtype"):
        body = data(5, tensor("", value)) + number(20, 4)
    else:
        body = b"".join(number(8, v) for v in value) + number(20, 7)
    return data(1, name) + body


def node(operator, inputs, outputs, **attributes):
    """NodeProto: input 1, output 2, name 3, op_type 4, attribute 5."""
    return (b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs) + data(3, outputs[0])
            + data(4, operator) + b"".join(data(5, attribute(n, v)) for n, v in attributes.items()))


def port(name, shape, type="float32"):
    """ValueInfoProto: name 1, type 2 {tensor_type 1 {elem_type 1, shape 2 {dim 1 {dim_value 1}}}}."""
    dims = b"".join(data(1, number(1, d)) for d in shape)
    return data(1, name) + data(2, data(1, number(1, TYPES[type]) + data(2, dims)))


class Model:
    """Nodes in their order; a result has the name of its node. Arrays among the inputs become constants.
    inputs: shapes by name, or (shape, type)."""

    def __init__(self, **inputs):
        self.nodes, self.constants = [], {}
        self.inputs = {name: given if isinstance(given[0], tuple) else (given, "float32") for name, given in inputs.items()}

    def add(self, name, operator, *inputs, outputs=1, **attributes):
        names = [self.constant(f"{name}.{i}", x) if hasattr(x, "dtype") else x for i, x in enumerate(inputs)]
        results = [name] if outputs == 1 else [f"{name}.out{i}" for i in range(outputs)]
        self.nodes.append(node(operator, names, results, **attributes))
        return results[0] if outputs == 1 else results

    def constant(self, name, array):
        self.constants[name] = array
        return name

    def content(self, outputs, opset=18):
        """ModelProto: ir_version 1, producer_name 2, graph 7 {node 1, name 2, initializer 5, input 11, output 12}, opset_import 8."""
        graph = b"".join(data(1, n) for n in self.nodes) + data(2, "graph")
        graph += b"".join(data(5, tensor(name, array)) for name, array in self.constants.items())
        graph += b"".join(data(11, port(name, *given)) for name, given in self.inputs.items())
        graph += b"".join(data(12, port(name, shape)) for name, shape in outputs.items())
        return number(1, 8) + data(2, "pznet tests") + data(7, graph) + data(8, number(2, opset))
