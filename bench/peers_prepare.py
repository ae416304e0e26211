"""Writes one network for all engines, with the same weights: net.onnx, input.npy, and of the U-Nets of models/ net.prototxt,
net.pt and net.caffemodel, of those that come as ONNX files (peers_onnx.py) net.module: how to build it, and its weights; of the fifteen
(peers_neocpu.py) net.neocpu, and of a detector reference.npy: what NumPy keeps of its boxes.

    python3 peers_prepare.py NAME FOLDER SEED [CHANNELS PATCH]

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


def export_onnx(net, shape, path):
    example = torch.rand(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, example, path, input_names=["input"], output_names=["output"], opset_version=17,
                          dynamo=False)


def prepare(name, folder, seed, maps, patch):
    folder.mkdir(parents=True, exist_ok=True)
    if name in generate.NETWORKS:
        return with_input(folder, seed, prepare_unet(name, folder, seed, maps, patch))
    import peers_onnx
    if name in peers_onnx.FULL:
        return with_input(folder, seed, prepare_module(name, folder, seed, maps, patch))
    return prepare_image_network(name, folder, seed, patch)


def with_input(folder, seed, facts):
    x = numpy.random.default_rng(seed).random(facts["input"], dtype=numpy.float32)
    numpy.save(folder / "input.npy", x)
    return facts


def prepare_image_network(name, folder, seed, size):
    import peers_neocpu
    import peers_onnx
    net, shape = peers_neocpu.build(name, seed, size)
    torch.save({"build": (name, seed, size), "weights": net.state_dict()}, folder / "net.neocpu")
    peers_neocpu.export(net, shape, folder / "net.onnx")
    facts = with_input(folder, seed, {"multiply_adds": peers_onnx.multiply_adds(net, torch.rand(shape)),
                                      "parameters": sum(p.numel() for p in net.parameters()), "input": list(shape)})
    if not isinstance(net, peers_neocpu.Detector):
        return facts
    with torch.no_grad():
        found = peers_neocpu.Candidates(net)(torch.from_numpy(numpy.load(folder / "input.npy"))).numpy()[0]
    numpy.save(folder / "reference.npy", peers_neocpu.suppress(found))
    return {**facts, "columns": peers_neocpu.COLUMNS}


def prepare_module(name, folder, seed, maps, patch):
    import peers_onnx
    net, shape = peers_onnx.build(name, seed, maps, patch)
    torch.save({"build": (name, seed, maps, patch), "weights": net.state_dict()}, folder / "net.module")
    export_onnx(net, shape, folder / "net.onnx")
    return {"multiply_adds": peers_onnx.multiply_adds(net, torch.rand(shape)),
            "parameters": sum(p.numel() for p in net.parameters()), "input": list(shape)}


def prepare_unet(name, folder, seed, maps, patch):
    network = generate.build(name, maps, patch)
    (folder / "net.prototxt").write_text(generate.prototxt(network))
    net = torch_nets.initialise(torch_nets.load(folder / "net.prototxt"), seed).eval()
    torch.save(net.state_dict(), folder / "net.pt")
    torch_nets.write_caffemodel(net, folder / "net.caffemodel", name)
    export_onnx(net, net.input_shape, folder / "net.onnx")
    return {"multiply_adds": network.multiply_adds, "parameters": network.parameters, "input": list(net.input_shape)}


if __name__ == "__main__":
    sizes = [generate.numbers(argument) if argument != "-" else None for argument in sys.argv[4:6]] or [None, None]
    print(json.dumps(prepare(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), *sizes)))
