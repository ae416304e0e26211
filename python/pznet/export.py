"""PyTorch modules to ONNX files. Needs PyTorch; the package without this file does not."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from contextlib import contextmanager
from typing import Any, Iterator

from ._net import Error


def is_module(value: object) -> bool:
    """Whether it is a PyTorch module. PyTorch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """The module in evaluation mode; afterwards each part of it is as it was."""
    was = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in was:
            part.training = training


def to_onnx(module: Any, example: Any, path: str, exporter: str | None = None) -> str:
    """Exports the module, in evaluation mode, for inputs of the example's shape; returns the path.

    example: a tensor, or a tuple of them. exporter: "dynamo" (torch.export; needs the package onnxscript), "torchscript"
    (a trace), or None: dynamo where it is there. Raises `Error` with PyTorch's reason.
    """
    import torch

    if exporter not in (None, "dynamo", "torchscript"):
        raise ValueError(f"exporter '{exporter}' is unknown: expected 'dynamo' or 'torchscript'")
    dynamo = exporter == "dynamo" or (exporter is None and importlib.util.find_spec("onnxscript") is not None)
    inputs = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    options: dict[str, Any] = {"dynamo": True, "verbose": False} if dynamo else {"dynamo": False, "opset_version": 17}
    with evaluating(module), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(module, inputs, path, **options)
        except Exception as error:
            words = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            name = "dynamo" if dynamo else "torchscript"
            raise Error(f"PyTorch's {name} exporter failed for {type(module).__name__}: {words}") from error
    if not os.path.exists(path):
        raise Error(f"PyTorch's exporter wrote nothing for {type(module).__name__}")
    return path
