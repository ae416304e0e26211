"""Writes networks of torchvision as ONNX files, with weights of a seed: threads need no trained ones.

    python3 threads_export.py FOLDER resnet50 vgg16 ...

Started by bench/threads."""
import pathlib
import sys
import warnings

import torch

from peers_neocpu import torchvision_models


def export(folder, name, of):
    torch.manual_seed(1)
    more = {"init_weights": False, "aux_logits": False} if name == "inception_v3" else {}
    net = of.get_model(name, **more).eval()
    side = 299 if name == "inception_v3" else 224
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, torch.rand(1, 3, side, side), folder / f"{name}.onnx", input_names=["input"],
                          output_names=["output"], opset_version=17, dynamo=False)


if __name__ == "__main__":
    models = torchvision_models()
    for each in sys.argv[2:]:
        export(pathlib.Path(sys.argv[1]), each, models)
