"""pznet: trained convolutional networks, compiled into small libraries that run fast on CPUs.

    >>> import pznet
    >>> pznet.compile("net.prototxt", "net.so", weights="net.caffemodel")
    >>> net = pznet.load("net.so")
    >>> y = net(x)                     # x: float32, C order, of the shape that net.inputs[0] says
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Mapping, NamedTuple, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _pznet
from ._pznet import Error

__all__ = ["Error", "Network", "PZNet", "Port", "compile", "load"]
__version__: str = _pznet.version()

Path = Union[str, "os.PathLike[str]"]
Array = npt.NDArray[np.float32]
Progress = Callable[[str, int, int, float], object]


class Port(NamedTuple):
    """An input or output of a network: its name, its shape (N, C, then z, y, x) and its dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.float32] = np.dtype(np.float32)

    def __str__(self) -> str:
        return f"{self.name} {'x'.join(map(str, self.shape))}"


class Network:
    """An open network file. Calls run it; one call at a time, others wait.

    Same bits for any number of threads. Raises `Error` when the file is damaged, or made for another CPU.
    """

    def __init__(self, path: Path, threads: int | None = None) -> None:
        self._net = _pznet.Net(path, threads or 0)
        self.path: str = os.fspath(path)
        self.inputs: list[Port] = [Port(*p) for p in self._net.inputs()]
        self.outputs: list[Port] = [Port(*p) for p in self._net.outputs()]

    @property
    def threads(self) -> int:
        """How many threads run the network."""
        return self._net.threads()

    @property
    def memory(self) -> int:
        """Bytes held for running, without code and weights."""
        return self._net.memory()

    @property
    def manifest(self) -> dict[str, Any]:
        """What the network file says of itself: model digest, instruction set, plan, memory."""
        manifest: dict[str, Any] = json.loads(self._net.manifest())
        return manifest

    def _take(self, arrays: Sequence[npt.ArrayLike]) -> list[Array]:
        if len(arrays) != len(self.inputs):
            names = ", ".join(p.name for p in self.inputs)
            raise ValueError(f"the network has {len(self.inputs)} inputs ({names}), {len(arrays)} were given")
        taken = [np.ascontiguousarray(a, dtype=np.float32) for a in arrays]
        for port, a in zip(self.inputs, taken):
            if a.shape != port.shape:
                raise ValueError(f"input '{port.name}' wants shape {port.shape}, not {a.shape}")
        return taken

    def _give(self, out: Any, taken: Sequence[Array]) -> list[Array]:
        if out is None:
            return [np.empty(p.shape, np.float32) for p in self.outputs]
        given = list(out) if isinstance(out, (list, tuple)) else [out]
        if len(given) != len(self.outputs):
            raise ValueError(f"the network has {len(self.outputs)} outputs, out has {len(given)}")
        for i, (port, a) in enumerate(zip(self.outputs, given)):
            wanted = isinstance(a, np.ndarray) and a.shape == port.shape and a.dtype == np.float32
            if not wanted or not a.flags.c_contiguous or not a.flags.writeable:
                raise ValueError(f"output '{port.name}' wants a writeable C-contiguous float32 array of shape {port.shape}")
            if any(np.may_share_memory(a, b) for b in [*taken, *given[:i]]):
                raise ValueError(f"output '{port.name}' shares memory with an input or another output")
        return given

    def __call__(self, *inputs: npt.ArrayLike, out: Any = None) -> Any:
        """Runs the network once.

        inputs: an array for each input, of exactly its shape; C-contiguous float32 is taken without copying.
        out: arrays to write into (one, or a list), C-contiguous float32; made where not given.
        Returns the output, or a tuple of them where there are several.
        """
        taken = self._take(inputs)
        given = self._give(out, taken)
        self._net.run(taken, given)
        return given[0] if len(given) == 1 else tuple(given)

    def profile(self, *inputs: npt.ArrayLike, runs: int = 10) -> list[dict[str, Any]]:
        """Runs the network `runs` times; gives a row for each step: layer, op, algorithm, multiply_adds, bytes and
        seconds (the median). Without inputs, on zeros."""
        taken = self._take(inputs or [np.zeros(p.shape, np.float32) for p in self.inputs])
        return self._net.profile(taken, self._give(None, taken), runs)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, ports)) for ports in (self.inputs, self.outputs))
        return f"<pznet.Network {self.path}: {inputs} -> {outputs}, {self.threads} threads>"


def load(path: Path, threads: int | None = None) -> Network:
    """Opens a network file. threads: None takes the cores that this process may use."""
    return Network(path, threads)


def compile(
    model: Path,
    output: Path,
    *,
    weights: Path | None = None,
    isa: str | None = None,
    cc: str | None = None,
    emit_c: Path | None = None,
    disable: str | Sequence[str] | None = None,
    inputs: Mapping[str, Sequence[int]] | None = None,
    progress: Progress | None = None,
    effort: str | None = None,
    tuning: Path | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Compiles a Caffe network into a network file.

    model: the prototxt. output: the network file to write; it appears whole or not at all.
    weights: a .caffemodel, a .caffemodel.h5, or "init:SEED". isa: "native", "avx512", "avx2", "sse4".
    cc: the C compiler. emit_c: a folder to keep the generated source in. disable: passes to switch off.
    inputs: shapes that replace the model's. progress: called with (what, done, total, seconds).
    effort: how algorithms are chosen, "estimate", "measure" (default: times the likely ones on this machine, once) or
    "exhaustive". tuning: the database of times, or "none". threads: to measure with; None: the cores of this process.
    Returns the manifest with the timings. Raises `Error`, ValueError or MemoryError.
    """
    if disable is not None and not isinstance(disable, str):
        disable = ",".join(disable)
    shapes = [f"{name}=" + "x".join(str(int(d)) for d in shape) for name, shape in (inputs or {}).items()]
    weights_path = None if weights is None else os.fspath(weights)
    emit_path = None if emit_c is None else os.fspath(emit_c)
    tuning_path = None if tuning is None else os.fspath(tuning)
    options = (weights_path, isa, cc, emit_path, disable, shapes, progress, effort, tuning_path, threads or 0)
    summary: dict[str, Any] = json.loads(_pznet.compile(model, output, *options))
    return summary


class PZNet:
    """The class that chunkflow's universal inferencer plug-in calls: one input, one output, five dimensions."""

    def __init__(self, path: Path, threads: int | None = None) -> None:
        self._net = load(path, threads)
        if len(self._net.inputs) != 1 or len(self._net.outputs) != 1:
            raise ValueError(f"{os.fspath(path)}: PZNet wants a network of one input and one output")
        self.in_shape: tuple[int, ...] = self._net.inputs[0].shape
        self.out_shape: tuple[int, ...] = self._net.outputs[0].shape

    def forward(self, array5d: npt.ArrayLike) -> Array:
        """array5d: [batch, channel, z, y, x] of `in_shape`; returns float32 of `out_shape`."""
        out: Array = self._net(array5d)
        return out
