"""Writes binary .caffemodel files: the protobuf wire format of Caffe's NetParameter, by hand. Standard library and
NumPy arrays only.

NetParameter  { string name = 1; repeated LayerParameter layer = 100; }
LayerParameter{ string name = 1; string type = 2; repeated BlobProto blobs = 7; }
BlobProto     { BlobShape shape = 7; repeated float data = 5 [packed]; }
BlobShape     { repeated int64 dim = 1 [packed]; }
"""
import pathlib

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
