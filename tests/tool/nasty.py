"""Names that do something wherever a text of a model is taken for more than a text; and models that are full of them.

Standard library only. A name's number says which it is in a failed test.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "onnx"))
import writer

NAMES = [
    b"plain",
    # C
    b'a*/ int system(const char *); __attribute__((constructor)) void pwned(void); void pwned(void) { if (system("touch pwned")) return; } /*',
    b'"}}; int system(const char *); __attribute__((constructor)) void pwned2(void) { system("touch pwned"); } //',
    b"/*", b"*/", b"//", b"*", b"*\\\n/", b"ends with a backslash\\", b"two\\\\", b'"', b"'", b"\\", b"\\\"", b"?" b"?/", b"?" b"?='?" b"?!",
    b'line\n#include "/etc/passwd"\nint x;\n', b"\r\nint y;", b"\\x41\\u0041\\101", b"\\1", b"1\x017", b"%s%n%d%99999d", b"$", b"$$x$1",
    b'")\n__asm__(".incbin \\"/etc/passwd\\"");', b'.section .text,"ax"\n',
    # terminals
    b"\x1b[2J\x1b]0;title\x07red\x1b[31m", b"\x1b]52;c;dG91Y2ggcHduZWQ=\x07", b"\x08\x08\x08over", b"\x7f\x0c\x0b\t", b"\xc2\x9b31m", b"\x9b31m",
    b"\xc2\x85next line", "‮gnp.exe‬".encode(), "⁦a⁩ ".encode(), "zero​width﻿­".encode(),
    # letters
    b"\xff\xfe\xfa", b"\xed\xa0\x80\xed\xb0\x80", b"\xc0\xaf", b"cut \xe2\x82", b"\xf8\x88\x80\x80\x80", "größe".encode(), "层 1".encode(), "🐟".encode(),
    b"\\xff\\xfe\\xfa", b"\xef\xbf\xbf\xef\xb7\x90",
    # shells, options, paths, response files
    b"$(touch pwned)", b"`touch pwned`", b"; touch pwned #", b"| touch pwned", b"-o", b"--output=pwned", b"@objects.txt", b"-fplugin=./pwned.so",
    b"../../pwned", b"/etc/passwd", b"name=1x2", b"%{pwned}", b"~root", b"*.so",
    # pages, drawings, data
    b"<script>alert(1)</script>", b"</title><img src=x onerror=alert(1)>", b"]]>--><svg/onload=alert(1)>", b"&lt;&#0;", b"a\" onclick=\"alert(1)",
    b'{"file_checksum": "0000000000000000"}', b'", "layer": "other', b"\\u0000\\ud800", b"'); DROP TABLE times; --", b'label="x"];a->b;\\N\\G\\l', b"<u>html</u>",
    b"%0\nconst %x 1 = [1]", b"# comment", b"_", b"none", b"constructor", b"__proto__",
    # sizes
    b" ", b"  both  ", b"x" * 60000 + b"1", b"x" * 60000 + b"2", b"\x1b" * 5000, "层".encode() * 5000, b"y" * 199, b"y" * 200, b"y" * 201,
]
SIZE = 5  # of an image, along both axes


def onnx(names=NAMES):
    """A chain of poolings of 3 x 3, by as many names: its result is the greatest value everywhere. The output has the last name, the input
    that of the one before."""
    model = writer.Model()
    names = [*names[:-2], names[-1]]
    before = NAMES[-2]
    nodes = b""
    for name in names:
        attributes = b"".join(writer.data(5, writer.attribute(n, v)) for n, v in [("kernel_shape", [3, 3]), ("pads", [1, 1, 1, 1])])
        nodes += writer.data(1, writer.data(1, before) + writer.data(2, name) + writer.data(3, name) + writer.data(4, "MaxPool") + attributes)
        before = name
    shape = [1, 1, SIZE, SIZE]
    graph = nodes + writer.data(2, names[0]) + writer.data(11, writer.port(NAMES[-2], shape)) + writer.data(12, writer.port(before, shape))
    return writer.number(1, 8) + writer.data(2, b"\x1b[31m") + writer.data(7, graph) + writer.data(8, writer.data(1, "") + writer.number(2, 17))


def _quoted(name):
    return '"' + "".join(f"\\{byte:03o}" for byte in name) + '"'


def prototxt(names=NAMES):
    """The same as a Caffe prototxt."""
    before = _quoted(names[-2])
    text = f"name: {_quoted(names[1])}\ninput: {before}\ninput_shape {{ dim: 1 dim: 1 dim: {SIZE} dim: {SIZE} }}\n"
    for name in [*names[:-2], names[-1]]:
        text += f'layer {{ name: {_quoted(name)} type: "Pooling" bottom: {before} top: {_quoted(name)} pooling_param {{ kernel_size: 3 stride: 1 pad: 1 }} }}\n'
        before = _quoted(name)
    return text.encode()
