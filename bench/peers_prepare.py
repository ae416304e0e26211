"""Writes one network for all engines, with the same weights: net.prototxt, net.pt, net.caffemodel, net.onnx, input.npy.

    python3 peers_prepare.py NAME FOLDER SEED [MAPS PATCH]

Started by bench/peers as a process of its own, so that bench/peers itself needs the standard library only.
"""
import json
import pathlib
import sys
import warnings

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import generate  # noqa: E402
import torch_nets  # noqa: E402


def export_onnx(net, path):
    example = torch.rand(net.input_shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, example, path, input_names=["input"], output_names=["output"], opset_version=17,
                          dynamo=False)


def prepare(name, folder, seed, maps, patch):
    folder.mkdir(parents=True, exist_ok=True)
    network = generate.build(name, maps, patch)
    (folder / "net.prototxt").write_text(generate.prototxt(network))
    net = torch_nets.initialise(torch_nets.load(folder / "net.prototxt"), seed).eval()
    torch.save(net.state_dict(), folder / "net.pt")
    torch_nets.write_caffemodel(net, folder / "net.caffemodel", name)
    export_onnx(net, folder / "net.onnx")
    x = numpy.random.default_rng(seed).random(net.input_shape, dtype=numpy.float32)
    numpy.save(folder / "input.npy", x)
    return {"multiply_adds": network.multiply_adds, "parameters": network.parameters, "input": list(net.input_shape)}


if __name__ == "__main__":
    sizes = [generate.numbers(argument) if argument != "-" else None for argument in sys.argv[4:6]] or [None, None]
    print(json.dumps(prepare(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), *sizes)))
