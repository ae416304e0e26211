"""Networks applied to volumes of any size: files, or arrays that can be sliced."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import arrays
from . import axes as axes_of
from .compiling import progress_left
from .network import DTYPES as ELEMENTS
from .network import Network, Path

Progress = Callable[[str, int, int, float], object]
Triple = Union[int, float, Sequence[int], Sequence[float]]
Box = tuple[int, int, int]  # along z, y and x

# In the order of the C enumerations.
DTYPES = [np.dtype(t) for t in ("f4", "u1", "u2", "i2", "i1", "u4", "i4", "u8", "i8", "f2", "f8", "?")]
CHOICES = {
    "tiling": ["pznet", "monai", "nnunet", "chunkflow"],
    "blend": ["constant", "gaussian", "bump"],
    "normalize": ["auto", "none", "unit", "zscore"],
    "border": ["mirror", "zero"],
    "nan": ["error", "propagate", "zero"],
    "dtype": ["f32", "u8"],
    "sums": ["auto", "float", "half"],
}
GIVEN = {"overlap": 1, "blend": 2, "border": 4, "crop": 8}
MIRROR_ALL = 0xFFFFFFFF


def choose(name: str, value: str | None) -> int:
    if value is None:
        return 0
    if value not in CHOICES[name]:
        raise ValueError(f"{name} {value!r}: expected {', '.join(CHOICES[name][:-1])} or {CHOICES[name][-1]}")
    return CHOICES[name].index(value)


def triple(name: str, value: Any) -> tuple[Any, Any, Any]:
    values = tuple(value) if isinstance(value, (Sequence, np.ndarray)) else (value,) * 3
    if len(values) != 3 or any(isinstance(v, (bool, str)) or not hasattr(v, "__index__") and not isinstance(v, float) for v in values):
        raise ValueError(f"{name} {value!r}: expected a number, or three of them for z, y, x")
    return values


def overlaps(value: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Whole numbers are voxels, floats are parts of the output patch."""
    values = triple("overlap", 0 if value is None else value)
    return (
        tuple(0 if isinstance(v, float) else int(v) for v in values),
        tuple(float(v) if isinstance(v, float) else 0.0 for v in values),
    )


def mirrored(augment: str | Sequence[int] | None) -> int:
    """The bits of the network's spatial axes that are mirrored."""
    if augment is None or augment == "mirror":
        return MIRROR_ALL if augment else 0
    axes: Any = augment
    if isinstance(augment, str):
        head, _, tail = augment.partition(":")
        axes = [int(a) for a in tail.split(",")] if head == "mirror" and tail.replace(",", "").isdecimal() and "" not in tail.split(",") else []
    if not len(axes) or any(a not in (0, 1, 2) for a in axes):
        raise ValueError(f"augment {augment!r}: expected 'mirror', or axes of the network as in 'mirror:0,1' or (0, 1)")
    return sum({1 << int(a) for a in axes})


class Bar:
    """What the command shows: a bar on a terminal, a line every few seconds elsewhere."""

    WIDTH = 24

    def __init__(self) -> None:
        self.shown = 0.0
        self.open = False
        self.voxels = 0.0  # a patch
        self.first: tuple[int, float] | None = None  # patches that were done, and when this run's first one was

    def __call__(self, what: str, done: int, total: int, seconds: float) -> None:
        terminal = sys.stderr.isatty()
        now = time.monotonic()
        if self.shown and done < total and now - self.shown < (0.1 if terminal else 5):
            return
        self.shown = now
        left = progress_left()
        if left is None:
            share, ahead = done / total if total else 0, ""
        else:
            share, ahead = seconds / (seconds + left) if left else 1, f"{self.duration(left)} left"
        filled = int(self.WIDTH * share)
        units = f"{done}/{total} {what}" if what == "patches" else what
        line = f"[{'#' * filled:.<{self.WIDTH}}] {units}{self.rate(what, done, seconds)}  {ahead or self.duration(seconds)}"
        sys.stderr.write(f"\r\033[K{line}" if terminal else f"{line}\n")
        sys.stderr.flush()
        self.open = terminal

    def rate(self, what: str, done: int, seconds: float) -> str:
        """Of the patches of this run: those that it found done do not count."""
        if not self.voxels or what != "patches":
            return ""
        self.first = self.first or (done - 1, seconds)
        worked, took = done - self.first[0] - 1, seconds - self.first[1]
        return f"  {1e-6 * self.voxels * worked / took:.2f} Mvoxels/s" if worked and took > 0 else ""

    @staticmethod
    def duration(seconds: float) -> str:
        s = round(seconds)
        return f"{s // 60}:{s % 60:02}" if s < 3600 else f"{s // 3600}:{s // 60 % 60:02}:{s % 60:02}"

    def close(self) -> None:
        if self.open:
            sys.stderr.write("\n")


def is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def view(value: Any, name: str) -> Any:
    """PyTorch's tensors as arrays over the same memory; the rest as it is."""
    return arrays.tensor_view(value, name) if arrays.is_tensor(value) else value


class Source:
    """A volume of which boxes are read."""

    def __init__(self, volume: Any, letters: str | None = None, at: Any = None) -> None:
        self.volume = view(volume, "volume")
        shape = tuple(int(n) for n in getattr(self.volume, "shape", ()))
        self.axes = axes_of.Axes(shape, letters, at, self.volume)
        self.channels, self.shape = self.axes.channels, self.axes.shape
        self.code = self.dtype_code(np.dtype(self.volume.dtype))

    @staticmethod
    def dtype_code(dtype: np.dtype[Any]) -> int:
        dtype = dtype.newbyteorder("=")
        if dtype in DTYPES:
            return DTYPES.index(dtype)
        raise ValueError(f"the volume is of {dtype}: expected bool, integers or floats of at most 64 bits; convert it, as by .astype('float32')")

    def read(self, start: Box, size: Box, memory: memoryview, strides: Box) -> None:
        dtype = DTYPES[self.code]
        to: npt.NDArray[Any] = np.ndarray((self.channels, *size), dtype, memory, strides=(*strides, dtype.itemsize))
        to[...] = self.axes.box(self.volume, start, size)

    def arguments(self) -> tuple[Any, ...]:
        return (self.read, self.code, self.channels, self.shape, self.axes.step)


class Sink:
    """Where the result goes: an array that takes boxes, made when the plan is known where there is none."""

    def __init__(self, out: Any) -> None:
        self.out = None if out is None else view(out, "out")
        self.given = out

    def plan(self, output: dict[str, Any]) -> None:
        self.channels: int = output["channels"]
        self.shape = tuple(output["shape"])
        self.dtype = np.dtype(ELEMENTS[output["dtype"]])
        wanted = self.shape if self.channels == 1 else (self.channels, *self.shape)
        if self.out is None:
            self.out = np.empty(wanted, self.dtype)
        shape = tuple(int(n) for n in getattr(self.out, "shape", wanted))
        self.stacked = len(shape) == 4
        if shape != wanted and shape != (self.channels, *self.shape):
            raise ValueError(f"out has shape {shape}: expected {wanted}")
        dtype = np.dtype(getattr(self.out, "dtype", self.dtype))
        if dtype != self.dtype and not (dtype.kind == "f" and self.dtype.kind == "f"):
            raise ValueError(f"out is of {dtype}, the result of {self.dtype}: expected the same, or choose with dtype=")

    def write(self, start: Box, size: Box, memory: memoryview, strides: Box) -> None:
        assert self.out is not None
        voxels: npt.NDArray[Any] = np.ndarray((self.channels, *size), self.dtype, memory, strides=(*strides, self.dtype.itemsize))
        box = [slice(at, at + n) for at, n in zip(start, size)]
        while len(box) > 1 and size[len(box) - 1] == self.shape[len(box) - 1]:
            box.pop()
        if self.stacked:
            self.out[(slice(None), *box)] = voxels
        else:
            self.out[tuple(box) if len(box) > 1 else box[0]] = voxels[0]

    def arguments(self) -> tuple[Any, ...]:
        chunks = axes_of.chunks_of(self.out, len(getattr(self.out, "shape", ())))
        return (self.write, tuple(chunks[-3:]) if chunks and len(chunks) >= 3 else (0, 0, 0))


def infer(
    volume: Any,
    net: Network | Path,
    out: Any = None,
    *,
    axes: str | None = None,
    at: str | Mapping[str, int] | None = None,
    tiling: str = "pznet",
    overlap: Triple | None = None,
    blend: str | None = None,
    border: str | None = None,
    crop: int | Sequence[int] | None = None,
    augment: str | Sequence[int] | None = None,
    normalize: str = "auto",
    nan: str = "error",
    dtype: str = "f32",
    argmax: bool = False,
    threshold: float | None = None,
    sigmoid: bool = False,
    softmax: bool = False,
    sums: str = "auto",
    skip_zero: bool = False,
    resume: bool = False,
    overwrite: bool = True,
    update: bool = False,
    memory: int = 0,
    threads: int | None = None,
    progress: bool | Progress = True,
) -> Any:
    """Applies a network to a volume patch by patch, as `pznet infer` does; doc/volumes.md says what the options mean.

    volume: [z, y, x] or [channels, z, y, x]; anything that is sliced, as a NumPy array, np.memmap, h5py dataset, Zarr array or
    PyTorch tensor on the CPU; or the path of a volume. It is read a few planes at a time.
    axes: which axis of the volume is which, the slowest first, as "zyxc": letters t, c, z, y and x; axes of length 1 may be left out.
    Default: as the file says, or the array's own names (xarray, Zarr), or as above. at: one of several time points or channels,
    counted from 0: "t=3", "t=3,c=0" or {"t": 3}.
    net: an open network, or the path of a network file. threads: of a network that is opened here.
    out: takes slices likewise, or a path; default: a new array, [z, y, x] or [channels, z, y, x], of float32 (uint8 with
    argmax, threshold or dtype="u8"; the network's own where it gives integers). Voxel size, unit, origin and affine go from path to path; arrays have none.
    nan: "error", "propagate" or "zero", of not-a-numbers and infinities. sigmoid, softmax (over the channels): of the blended
    values, before they are stored. threshold: 1 where a value is greater, else 0, for each channel.
    tiling: "pznet", "monai", "nnunet" or "chunkflow". overlap: voxels (int) or a part of the output patch (float), or three.
    augment: "mirror", or the network's axes as in "mirror:0,1" or (0, 1). memory: a limit in bytes.
    resume: for paths; goes on from unfinished work, does nothing where out is finished.
    overwrite: False refuses a path that exists.
    update: a dataset of out's name in an HDF5 file that holds others too is replaced.
    progress: True shows a bar, a callable is called with (what, done, total, seconds); `progress_left` says there what is left.
    Returns out. Warns of values that dtype="u8" clipped, of those not finite, and where values of the volume, of 32 or 64 bits,
    are not exact in float32 and are not normalised. Raises what slicing raised, `Error`, ValueError, MemoryError or KeyboardInterrupt.
    """
    from . import _pznet  # with its libraries, which running networks does without

    if argmax and dtype != "f32":
        raise ValueError("argmax and dtype exclude each other: labels are uint8 already")
    if threshold is not None and (argmax or dtype != "f32"):
        raise ValueError("threshold goes without argmax and dtype: it gives 0 and 1, uint8 already")
    if threshold is not None and not math.isfinite(np.float32(threshold)):
        raise ValueError(f"threshold {threshold!r}: expected a number such as 0.5")
    if sigmoid and softmax:
        raise ValueError("sigmoid and softmax exclude each other")
    net = net if isinstance(net, Network) else Network(net, threads)
    given = {"overlap": overlap, "blend": blend, "border": border, "crop": crop}
    voxels, parts = overlaps(overlap)
    source = None if is_path(volume) else Source(volume, axes, at)
    sink = None if is_path(out) else Sink(out)
    bar = Bar() if progress is True else None

    def planned(text: str) -> tuple[int, int]:
        plan = json.loads(text)
        if bar:
            bar.voxels = plan["voxels"] / plan["patches"]
        if sink:
            sink.plan(plan["output"])
        return int(plan["output"]["channels"]), np.dtype(ELEMENTS[plan["output"]["dtype"]]).itemsize

    try:
        options = (
            source.arguments() if source else os.fspath(volume),
            sink.arguments() if sink else os.fspath(out),
            voxels,
            parts,
            tuple(int(v) for v in triple("crop", 0 if crop is None else crop)),
            sum(GIVEN[name] for name, value in given.items() if value is not None),
            mirrored(augment),
            choose("tiling", tiling),
            choose("blend", blend),
            choose("normalize", normalize),
            choose("border", border),
            choose("nan", nan),
            3 if threshold is not None else 2 if argmax else choose("dtype", dtype),
            choose("sums", sums),
            1 if sigmoid else 2 if softmax else 0,
            threshold or 0.0,
            skip_zero,
            resume,
            not overwrite,
            update,
            memory,
            bar or (progress if callable(progress) else None),
            planned,
            None if source else axes,
            None if source else axes_of.text_of(at),
        )
        report = json.loads(_pznet.infer(net._net, options))
    finally:
        if bar:
            bar.close()
    if report["clipped"]:
        warnings.warn(f"{report['clipped']} values outside of 0..1 were clipped by dtype='u8'", stacklevel=2)
    if report["not_finite"]:
        warnings.warn(f"{report['not_finite']} values are not a number or infinite, as nan='propagate' lets pass", stacklevel=2)
    if "rounded" in report:
        warnings.warn(report["rounded"]["text"], stacklevel=2)
    if sink is None or out is not None:
        return out
    result: Any = sink.out
    return arrays.same_kind((volume,))(result) if result.dtype == np.float32 else result
