"""Open network files."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _net, arrays
from .arrays import Array
from .results import Results

Path = Union[str, "os.PathLike[str]"]

DTYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.float32,
    "u8": np.uint8,
    "i8": np.int8,
    "u16": np.uint16,
    "i16": np.int16,
    "u32": np.uint32,
    "i32": np.int32,
    "u64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
    "bool": np.bool_,
}
"""Of arrays, by element type: bfloat16, which NumPy lacks, is float32 in arrays and rounded on the way."""


class Port(NamedTuple):
    """An input or output of a network: its name, its shape (N, C, then z, y, x), the dtype of arrays for it, and its element type,
    as ``"f32"`` or ``"u8"``. The dtype is float32 for ``"bf16"``, bfloat16, which NumPy lacks.

    A name is the model's own, any letters. Bytes that are not UTF-8 are written as ``\\xff``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.float32)
    type: str = "f32"

    def __str__(self) -> str:
        return f"{self.shown} {'x'.join(map(str, self.shape))}{'' if self.type == 'f32' else ' ' + self.type}"

    @property
    def shown(self) -> str:
        """The name as a terminal may see it: what is not printable, such as escapes, is escaped; short."""
        name = self.name if len(self.name) <= 200 else self.name[:130] + "..." + self.name[-67:]
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def _port(told: tuple[str, tuple[int, ...], str]) -> Port:
    name, shape, kind = told
    return Port(name, shape, np.dtype(DTYPES[kind]), kind)


class Network:
    """An open network file. Calls run it; one call at a time, others wait.

    A network file is a program: open only what you would run. Same bits for any number of threads. The file is read once, when it is
    opened; what happens to it later changes nothing. Raises `Error` when it is damaged, made for another CPU, or
    not the one that has `digest`, and ValueError when that is no SHA-256. Of a file with several variants the best one that this
    machine has is picked, within `target`, as `load` says.
    """

    def __init__(self, path: Path, threads: int | None = None, *, digest: str | None = None, target: str | None = None) -> None:
        self._net = _net.Net(path, threads or 0, digest, target)
        self._results = Results()
        self.path: str = os.fspath(path)
        self.inputs: list[Port] = list(map(_port, self._net.inputs()))
        self.outputs: list[Port] = list(map(_port, self._net.outputs()))

    @property
    def threads(self) -> int:
        """How many threads run the network."""
        return self._net.threads()

    @property
    def memory(self) -> int:
        """Bytes held for running, without code and weights."""
        return self._net.memory()

    @property
    def digest(self) -> str:
        """The SHA-256 of the file that was opened, in hexadecimal digits."""
        return self._net.digest()

    @property
    def manifest(self) -> dict[str, Any]:
        """What the network file says of itself: model digest, instruction set, plan, memory. Of a file with several variants
        what the picked one says, with "variants", a row for each, and "variant", which of them it is."""
        manifest: dict[str, Any] = json.loads(self._net.manifest())
        return manifest

    @property
    def batch(self) -> int | None:
        """N, where the first dimension of all inputs and outputs is the same; else None."""
        sizes = {p.shape[0] if p.shape else None for p in [*self.inputs, *self.outputs]}
        return sizes.pop() if len(sizes) == 1 else None

    def _take(self, values: Sequence[Any]) -> list[Array]:
        if len(values) != len(self.inputs):
            names = ", ".join(p.shown for p in self.inputs)
            raise ValueError(f"the network has {len(self.inputs)} inputs ({names}), {len(values)} were given")
        taken = list(map(arrays.take, values, (port.shown for port in self.inputs), (port.dtype for port in self.inputs)))
        count = len(taken[0]) if self.batch and taken and taken[0].ndim else 0
        for port, a in zip(self.inputs, taken):
            if a.shape != self._shape(port, count):
                raise ValueError(f"input '{port.shown}' wants shape {port.shape}, not {a.shape}")
        return taken

    @staticmethod
    def _shape(port: Port, count: int) -> tuple[int, ...]:
        """The shape of `count` samples; of the network's own batch where count is 0."""
        return (count, *port.shape[1:]) if count else port.shape

    def _give(self, out: Any, taken: Sequence[Array], count: int) -> list[Array]:
        shapes = [self._shape(p, count) for p in self.outputs]
        if out is None:
            return [self._results.empty(shape, port.dtype) for shape, port in zip(shapes, self.outputs)]
        given = [arrays.writable(o) for o in (out if isinstance(out, (list, tuple)) else [out])]
        if len(given) != len(self.outputs):
            raise ValueError(f"the network has {len(self.outputs)} outputs, out has {len(given)}")
        checked: list[Array] = []
        for port, shape, a in zip(self.outputs, shapes, given):
            if a is None or a.shape != shape or a.dtype != port.dtype or not a.flags.c_contiguous or not a.flags.writeable:
                raise ValueError(f"output '{port.shown}' wants a writeable C-contiguous {port.dtype} array of shape {shape}")
            if any(np.may_share_memory(a, b) for b in [*taken, *checked]):
                raise ValueError(f"output '{port.shown}' shares memory with an input or another output")
            checked.append(a)
        return checked

    def _once(self, taken: Sequence[Array], given: Sequence[Array], runs: int | None = None) -> Any:
        """One run, or `runs` profiled ones."""
        coded = [arrays.to_bfloat16(a) if p.type == "bf16" else a for p, a in zip(self.inputs, taken)]
        made = [np.empty(a.shape, np.uint16) if p.type == "bf16" else a for p, a in zip(self.outputs, given)]
        rows = self._net.run(coded, made) if runs is None else self._net.profile(coded, made, runs)
        for made_one, a in zip(made, given):
            if made_one is not a:
                arrays.from_bfloat16(made_one, a)
        return rows

    def _run(self, taken: Sequence[Array], given: Sequence[Array], count: int) -> None:
        """One run, or as many as `count` samples need. Those that the last run is short of are zeros."""
        size = self.batch or 0
        if count in (0, size):
            self._once(taken, given)
            return
        for start in range(0, count, size):
            part = [a[start : start + size] for a in taken]
            into = [a[start : start + size] for a in given]
            if start + size <= count:
                self._once(part, into)
                continue
            whole = [self._results.empty(p.shape, p.dtype) for p in self.outputs]
            self._once([np.concatenate([a, np.zeros((size - len(a), *a.shape[1:]), a.dtype)]) for a in part], whole)
            for a, b in zip(into, whole):
                a[...] = b[: len(a)]

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Runs the network once, or once for each batch.

        inputs: for each input an array of its shape: NumPy's, a PyTorch tensor on the CPU, or anything that NumPy takes,
        as by DLPack or the buffer protocol. The input's dtype in C order is taken without copying. A float32 input takes numbers of any
        type; a warning says where integers of 32 or 64 bits are not exact in float32. Others take what they hold exactly. Where the network's inputs and
        outputs have the same N, another number of samples is fine: it runs batch after batch.
        out: arrays or tensors to write into (one, or a list), C-contiguous, of the output's dtype; made where not given.
        Returns the output, or a tuple of them where there are several: tensors where a tensor came in, else arrays.
        """
        taken = self._take(inputs)
        count = len(taken[0]) if self.batch and taken else 0
        given = self._give(out, taken, count)
        self._run(taken, given, count)
        if out is not None:
            results = list(out) if isinstance(out, (list, tuple)) else [out]
        else:
            results = list(map(arrays.same_kind(inputs), given))
        return results[0] if len(results) == 1 else tuple(results)

    def profile(self, *inputs: Any, runs: int = 10) -> list[dict[str, Any]]:
        """Runs the network `runs` times; gives a row for each step: layer, op, algorithm, multiply_adds, bytes and
        seconds (the median). Without inputs, on zeros; with inputs, exactly one batch of them."""
        taken = self._take(inputs or [np.zeros(p.shape, p.dtype) for p in self.inputs])
        rows: list[dict[str, Any]] = self._once(taken, self._give(None, taken, 0), runs)
        return rows

    def reset(self) -> None:
        """A network with a state from run to run begins anew. No network that this pznet compiles has one."""
        self._net.reset()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, ports)) for ports in (self.inputs, self.outputs))
        return f"<pznet.Network {self.path}: {inputs} -> {outputs}, {self.threads} threads>"


def load(path: Path, threads: int | None = None, *, digest: str | None = None, target: str | None = None) -> Network:
    """Opens a network file, which is a program: open only what you would run.

    threads: None takes the cores that this process may use. digest: the SHA-256 that the file must have, 64 hexadecimal digits as
    `pznet inspect` and `sha256sum` print them; any other file is refused. target: of a file with several variants (`compile`), which
    may be picked: a target's own, "zen4", or those of an instruction set and less, "avx2"; None: as the environment variable
    PZNET_TARGET says, else any.
    """
    return Network(path, threads, digest=digest, target=target)


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
