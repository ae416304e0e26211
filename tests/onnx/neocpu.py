#!/usr/bin/env python3
"""The fifteen networks of NeoCPU's paper (bench/peers_neocpu.py) from ONNX, at full size, beside PyTorch; SSD's detections beside ONNX
Runtime and beside what NumPy keeps of PyTorch's boxes.

    pip install torch torchvision onnx onnxruntime
    tests/onnx/neocpu.py                                all of them, with --effort estimate
    tests/onnx/neocpu.py --only resnet18,ssd --small    those whose names contain one of these, of small images

The relative L2 distance may be 1e-5. Where two boxes overlap to within rounding of the bound, or have scores that differ by rounding alone, the
engines decide differently: a detection that has no like in the other's list is told, and one in a hundred may be such.
"""
import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import package  # noqa: E402

BOUND, ALONE = 1e-5, 0.01
SMALL = {"vgg": (224, 224), "inception": (96, 96), "": (64, 64)}


def distance(found, expected):
    import numpy
    if found.shape != expected.shape:
        return float("inf")
    wide = expected.astype(numpy.float64)
    return float(numpy.linalg.norm(found - wide) / max(numpy.linalg.norm(wide), 1e-300))


def like(found, expected):
    """(the part of detections without a like, relative L2 distance of the others): of the same class, and the nearest."""
    import numpy
    pairs, alone = [], 0
    for row in expected:
        same = found[found[:, 0] == row[0]]
        near = same[numpy.abs(same - row).max(1).argmin()] if len(same) else None
        if near is None or numpy.abs(near - row).max() > 1e-3 * max(1, numpy.abs(row).max()):
            alone += 1
        else:
            pairs.append((near, row))
    both = numpy.array(pairs).reshape(-1, 2, expected.shape[1])
    extra = abs(len(found) - len(expected))
    return max(alone, extra) / max(len(expected), 1), distance(both[:, 0], both[:, 1])


def check_detector(y, path, net, x, networks):
    """A line, and whether all is well."""
    import onnxruntime
    import torch
    rows = y[y[:, 0] >= 0]
    with torch.no_grad():
        numpys = networks.suppress(networks.Candidates(net)(torch.from_numpy(x)).numpy()[0])
    others = {"ONNX Runtime": onnxruntime.InferenceSession(str(path)).run(None, {"input": x})[0], "NumPy": numpys}
    found = {name: like(rows, other) for name, other in others.items()}
    text = "; ".join(f"{name}: {len(others[name])} detections, {100 * a:.1f}% without a like, {d:.1e}" for name, (a, d) in found.items())
    return f"{len(rows)} detections; {text}", (y[len(rows):] == -1).all() and all(a <= ALONE and d <= BOUND for a, d in found.values())


def check(name, small, folder, pznet, networks):
    import numpy
    import torch
    size = next(s for part, s in SMALL.items() if part in name) if small else None
    net, shape = networks.build(name, 1, size)
    path = pathlib.Path(folder, name + ".onnx")
    networks.export(net, shape, path)
    x = numpy.random.default_rng(1).random(shape, dtype=numpy.float32)
    start = time.monotonic()
    y = pznet.compile(path, effort="estimate")(x)
    seconds = time.monotonic() - start
    if isinstance(net, networks.Detector):
        text, good = check_detector(y, path, net, x, networks)
    else:
        with torch.no_grad():
            far = distance(y, net(torch.from_numpy(x)).numpy())
        text, good = f"{far:.1e}", far <= BOUND
    print(f"{name} {'x'.join(map(str, shape))}: {text}{'' if good else ' WRONG'} (compiled and run in {seconds:.0f} s)", flush=True)
    path.unlink()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="networks whose names contain one of these")
    parser.add_argument("--small", action="store_true", help="small images")
    package.add_option(parser)
    options = parser.parse_args()
    pznet = package.load(options.build)
    sys.path.insert(0, str(package.ROOT / "bench"))
    import peers_neocpu as networks
    names = [n for n in networks.FULL if not options.only or any(part in n for part in options.only.split(","))]
    with tempfile.TemporaryDirectory(prefix="pznet-neocpu-") as folder:
        good = [check(name, options.small, folder, pznet, networks) for name in names]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
