"""Writes binary .caffemodel files, and reads those that it wrote: the protobuf wire format of Caffe's NetParameter, by
hand. Standard library and NumPy only.

NetParameter  { string name = 1; repeated LayerParameter layer = 100; }
LayerParameter{ string name = 1; string type = 2; repeated BlobProto blobs = 7; }
BlobProto     { BlobShape shape = 7; repeated float data = 5 [packed]; }
BlobShape     { repeated int64 dim = 1 [packed]; }
"""
import pathlib

import numpy

LENGTH_DELIMITED = 2


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, payload):
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(payload)) + payload


def blob(array):
    shape = field(1, b"".join(varint(d) for d in array.shape))
    return field(7, shape) + field(5, array.astype("<f4").tobytes())


def layer(name, kind, arrays):
    return field(1, name) + field(2, kind) + b"".join(field(7, blob(a)) for a in arrays)


def write(path, name, layers):
    """layers: (name, type, arrays) each."""
    text = field(1, name) + b"".join(field(100, layer(*entry)) for entry in layers)
    pathlib.Path(path).write_bytes(text)


def take_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, payload) of a message whose fields are all length-delimited."""
    at = 0
    while at < len(data):
        key, at = take_varint(data, at)
        if key & 7 != LENGTH_DELIMITED:
            raise ValueError("caffemodel: not written by this module: use pznet to read it")
        length, at = take_varint(data, at)
        yield key >> 3, data[at:at + length]
        at += length


def array_of(data):
    parts = dict(fields(data))
    packed, at, shape = dict(fields(parts[7]))[1], 0, []
    while at < len(packed):
        dim, at = take_varint(packed, at)
        shape.append(dim)
    return numpy.frombuffer(parts[5], "<f4").reshape(shape)


def read(path):
    """{layer name: arrays}"""
    layers = {}
    for number, payload in fields(pathlib.Path(path).read_bytes()):
        if number == 100:
            parts = list(fields(payload))
            layers[parts[0][1].decode()] = [array_of(data) for kind, data in parts if kind == 7]
    return layers
