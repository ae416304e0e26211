#!/usr/bin/env python3
"""The picture of doc/volumes-exact.md: a seam of overlapping patches, the same place by exact tiles, and how far they differ; where that is farthest.

    doc/pictures/seams.py                     # writes doc/pictures/seams.png
    doc/pictures/seams.py --output /tmp/seams.png --build build

Compiles the membrane network of examples/ for its own patches and for exact tiles, and applies both to a synthetic stack of ours (examples/membrane/synthetic_em).
Prints the greatest difference of the two, and where it is. Wants NumPy and tifffile.
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIZE, OVERLAP = (16, 320, 320), "4,32,32"
SIDE, TIMES = 96, 2  # voxels shown, and pixels of each
GREY, GAP, DARKEST = 32, 6, 0.5  # shades; pixels between the pictures; the difference that is black


def png(path, image):
    """An image of bytes, grey."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = np.zeros((image.shape[0], image.shape[1] + 1), np.uint8)
    rows[:, 1:] = image
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def grey(values):
    return (np.clip(values, 0, 1) * (GREY - 1)).round().astype(np.uint8) * (255 // (GREY - 1))


def results(build, folder):
    import tifffile
    command, model, stack = build / "pznet", ROOT / "examples/membrane/membrane", folder / "stack.tif"

    def run(*words):
        done = subprocess.run([str(w) for w in words])
        if done.returncode:
            sys.exit(done.returncode)  # the command has said why

    run(build / "examples/membrane/synthetic_em", stack, "--size", ",".join(map(str, SIZE)))
    for name, tiles, overlap in (("patches", [], ["--overlap", OVERLAP]), ("exact", ["--tiling", "exact", "--patch", "8,160,160"], [])):
        net = folder / f"{name}.so"
        run(command, "compile", f"{model}.prototxt", "--weights", f"{model}.caffemodel", "-o", net, "--effort", "estimate", *tiles)
        run(command, "infer", net, stack, folder / f"{name}.tif", "-q", *overlap)
        yield tifffile.imread(folder / f"{name}.tif").reshape(SIZE).astype(np.float64)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).with_suffix(".png"))
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder of the command")
    options = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        patches, exact = results(options.build, pathlib.Path(folder))
    difference = np.abs(patches - exact)
    at = np.unravel_index(difference.argmax(), SIZE)
    begin = [min(max(i - SIDE // 2, 0), n - SIDE) for i, n in zip(at[1:], SIZE[1:])]
    part = (at[0], *(slice(i, i + SIDE) for i in begin))
    print(f"the greatest difference is {difference.max():.2f}, at z, y, x = {', '.join(map(str, at))}; shown from y, x = {begin[0]}, {begin[1]} on")
    shown = [grey(image[part]).repeat(TIMES, 0).repeat(TIMES, 1) for image in (patches, exact, 1 - difference / DARKEST)]
    gap = np.full((shown[0].shape[0], GAP), 255, np.uint8)
    png(options.output, np.hstack([shown[0], gap, shown[1], gap, shown[2]]))
    print(f"{options.output}: {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
