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
from .places import NIFTI, Finished, is_image, is_store

Progress = Callable[[str, int, int, float], object]
Triple = Union[int, float, Sequence[int], Sequence[float]]
Box = tuple[int, int, int]  # along z, y and x

# In the order of the C enumerations.
DTYPES = [np.dtype(t) for t in ("f4", "u1", "u2", "i2", "i1", "u4", "i4", "u8", "i8", "f2", "f8", "?")]
CHOICES = {
    "tiling": ["pznet", "monai", "nnunet", "chunkflow", "exact"],
    "blend": ["constant", "gaussian", "bump"],
    "normalize": ["auto", "none", "unit", "zscore"],
    "border": ["mirror", "zero"],
    "nan": ["error", "propagate", "zero"],
    "dtype": ["f32", "u8", "u16", "f16"],
    "sums": ["auto", "float", "half"],
}
STORES = {"f32": 0, "u8": 1, "u16": 4, "f16": 5}  # pz_store; 2: argmax, 3: threshold
BYTES = {"f32": 4, "u8": 1, "u16": 2, "f16": 2}
GIVEN = {"overlap": 1, "blend": 2, "border": 4, "crop": 8, "context": 16}
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


def ends_of(part: Any) -> tuple[Any, Any]:
    """Of a range: "100:164", a slice or a pair."""
    if isinstance(part, slice):
        return part.start, part.stop
    first, last = part.split(":") if isinstance(part, str) else part
    return tuple(int(n) if n.strip() else None for n in (first, last)) if isinstance(part, str) else (first, last)  # type: ignore[return-value]


def box_of(value: Any) -> tuple[Box, Box]:
    """ "100:164,2048:4096,:", or three slices or pairs: where it starts, and its size; a size of 0 goes to the end."""
    if value is None:
        return (0, 0, 0), (0, 0, 0)
    expected = ValueError(f"box {value!r}: expected ranges of voxels along z, y and x, as '100:164,2048:4096,:' or three slices")
    try:
        ends = [ends_of(part) for part in (value.split(",") if isinstance(value, str) else value)]
        start = [0 if first is None else first.__index__() for first, _ in ends]
        size = [0 if last is None else last.__index__() - first for (_, last), first in zip(ends, start)]
    except (TypeError, AttributeError, ValueError):
        raise expected from None
    if len(ends) != 3 or any(first < 0 for first in start):
        raise expected
    for name, n, (_, last) in zip("zyx", size, ends):
        if last is not None and n < 1:
            raise ValueError(f"box {value!r} is empty along {name}")
    return tuple(start), tuple(size)  # type: ignore[return-value]


def overlaps(value: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Whole numbers are voxels, floats are parts of the output patch."""
    values = triple("overlap", 0 if value is None else value)
    return (
        tuple(0 if isinstance(v, float) else int(v) for v in values),
        tuple(float(v) if isinstance(v, float) else 0.0 for v in values),
    )


def mirrored(augment: str | Sequence[int] | None) -> int:
    """The bits of the network's spatial axes that are mirrored."""
    if augment is None or augment in ("mirror", "none"):
        return MIRROR_ALL if augment == "mirror" else 0
    axes: Any = augment
    if isinstance(augment, str):
        head, _, tail = augment.partition(":")
        axes = [int(a) for a in tail.split(",")] if head == "mirror" and tail.replace(",", "").isdecimal() and "" not in tail.split(",") else []
    if not len(axes) or any(a not in (0, 1, 2) for a in axes):
        raise ValueError(f"augment {augment!r}: expected 'mirror', 'none', or axes of the network as in 'mirror:0,1' or (0, 1)")
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

    voxel_size: tuple[float, float, float] = (0, 0, 0)  # not known
    unit = ""
    origin: tuple[float, float, float] | None = None
    identity: str | None = None  # for resume

    def __init__(self, volume: Any, letters: str | None = None, at: Any = None, name: str = "volume") -> None:
        self.volume = view(volume, name)
        shape = tuple(int(n) for n in getattr(self.volume, "shape", ()))
        self.axes = axes_of.Axes(shape, letters, at, self.volume)
        self.channels, self.shape = self.axes.channels, self.axes.shape
        self.code = self.dtype_code(np.dtype(self.volume.dtype), name)

    @staticmethod
    def dtype_code(dtype: np.dtype[Any], name: str) -> int:
        dtype = dtype.newbyteorder("=")
        if dtype in DTYPES:
            return DTYPES.index(dtype)
        raise ValueError(f"the {name} is of {dtype}: expected bool, integers or floats of at most 64 bits; convert it, as by .astype('float32')")

    def read(self, start: Box, size: Box, memory: memoryview, strides: Box) -> None:
        dtype = DTYPES[self.code]
        to: npt.NDArray[Any] = np.ndarray((self.channels, *size), dtype, memory, strides=(*strides, dtype.itemsize))
        self.axes.read(self.volume, start, size, to)

    def arguments(self) -> tuple[Any, ...]:
        return (self.read, self.code, self.channels, self.shape, self.axes.step, self.voxel_size, self.unit, self.origin, self.identity)


class StoreSource(Source):
    """A volume in a store."""

    def __init__(self, path: str, letters: str | None, at: Any, threads: int, name: str = "volume") -> None:
        from . import stores  # with tensorstore, where there is one

        array = stores.Array(path, at, threads)
        super().__init__(array, letters or array.letters, array.at, name)
        self.identity = array.identity
        if letters is None:  # else what is said of the axes may be of others
            self.voxel_size, self.unit, self.origin = array.said.geometry()


class Sink:
    """Where the result goes: an array that takes boxes, made when the plan is known where there is none."""

    def __init__(self, out: Any) -> None:
        self.out = None if out is None else view(out, "out")
        self.given = out

    def plan(self, plan: dict[str, Any]) -> None:
        output = plan["output"]
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

    def end(self, report: dict[str, Any]) -> None:
        """All is written."""

    def arguments(self) -> tuple[Any, ...]:
        chunks = axes_of.chunks_of(self.out, len(getattr(self.out, "shape", ())))
        return (self.write, tuple(chunks[-3:]) if chunks and len(chunks) >= 3 else (0, 0, 0), None)


class StoreSink(Sink):
    """A new array in a store, which appears when all is written."""

    def __init__(self, path: str, layout: Mapping[str, Any], element: int, threads: int, overwrite: bool, resume: bool) -> None:
        from . import stores

        how = stores.Layout(path, **layout)
        self.result = stores.Result(path, how, threads, overwrite, resume)
        self.result.check()
        self.step = how.step(element)
        self.out = path

    def plan(self, plan: dict[str, Any]) -> None:
        output = plan["output"]
        self.channels, self.shape = output["channels"], tuple(output["shape"])
        self.dtype = np.dtype(ELEMENTS[output["dtype"]])
        self.result.make(self.channels, self.shape, self.dtype, plan)

    def write(self, start: Box, size: Box, memory: memoryview, strides: Box) -> None:
        self.result.write(start, np.ndarray((self.channels, *size), self.dtype, memory, strides=(*strides, self.dtype.itemsize)))

    def arguments(self) -> tuple[Any, ...]:
        return (self.write, self.step, self.result.job)


def source_of(volume: Any, letters: str | None, at: Any, threads: int, name: str = "volume") -> Source | None:
    """None: a path that is the C library's."""
    if not is_path(volume):
        return Source(volume, letters, at, name)
    path = os.fspath(volume)
    if is_image(path):
        from . import itk  # with SimpleITK

        return itk.ImageSource(path, letters, at, name)
    return StoreSource(path, letters, at, threads, name) if is_store(path) else None


def mask_of(mask: Any, threads: int) -> Any:
    """What the C library reads: None, a path, or a source's arguments."""
    if mask is None:
        return None
    source = source_of(mask, None, None, threads, "mask")
    return source.arguments() if source else os.fspath(mask)


def others_of(ensemble: Sequence[Network | Path] | None, threads: int) -> list[Network]:
    if isinstance(ensemble, (str, bytes, os.PathLike, Network)):
        raise ValueError("ensemble: expected a list of networks, or of paths of network files")
    return [net if isinstance(net, Network) else Network(net, threads) for net in ensemble or ()]


def sink_of(out: Any, layout: dict[str, Any], element: int, threads: int, overwrite: bool, resume: bool, source: Source | None = None) -> Sink | None:
    """Likewise. source: an image's goes to NIfTI with its directions."""
    if isinstance(out, Sink):
        return out
    path = os.fspath(out) if is_path(out) else ""
    if is_image(path) or (path.lower().endswith(NIFTI) and hasattr(source, "direction")):
        from . import itk

        return itk.ImageSink(path, source, overwrite, resume)
    if is_path(out) and is_store(os.fspath(out)):
        return StoreSink(os.fspath(out), layout, element, threads, overwrite, resume)
    given = [name for name, value in layout.items() if value is not None and not (name == "codec" and is_path(out))]
    if given:
        raise ValueError(f"{given[0]}: is of outputs in stores, as out.zarr{', and of .h5 and .tif' * (given[0] == 'codec')}")
    return None if is_path(out) else Sink(out)


def run(
    volume: Any,
    net: Network | Path,
    out: Any,
    *,
    box: Any,
    context: int | Sequence[int] | None,
    axes: str | None,
    at: str | Mapping[str, int] | None,
    tiling: str,
    overlap: Triple | None,
    blend: str | None,
    border: str | None,
    crop: int | Sequence[int] | None,
    augment: str | Sequence[int] | None,
    normalize: str,
    nan: str,
    dtype: str,
    argmax: bool,
    threshold: float | None,
    sigmoid: bool,
    softmax: bool,
    sums: str,
    ensemble: Sequence[Network | Path] | None,
    mask: Any,
    skip_zero: bool,
    resume: bool,
    overwrite: bool,
    update: bool,
    memory: int,
    threads: int | None,
    format: str | None,
    chunks: int | Sequence[int] | str | None,
    shards: int | Sequence[int] | str | None,
    codec: str | None,
    progress: bool | Progress,
    preview: Path | None = None,
    on_plan: Callable[[dict[str, Any]], object] | None = None,
) -> tuple[dict[str, Any], Any]:
    """What `infer` does, with the report of pz_net_infer; on_plan is called with the plan (doc/c-api.md)."""
    from . import _pznet  # with its libraries, which running networks does without

    if argmax and dtype != "f32":
        raise ValueError("argmax and dtype exclude each other: labels are uint8 already")
    if threshold is not None and (argmax or dtype != "f32"):
        raise ValueError("threshold goes without argmax and dtype: it gives 0 and 1, uint8 already")
    if threshold is not None and not math.isfinite(np.float32(threshold)):
        raise ValueError(f"threshold {threshold!r}: expected a number such as 0.5")
    if sigmoid and softmax:
        raise ValueError("sigmoid and softmax exclude each other")
    choose("dtype", dtype)
    net = net if isinstance(net, Network) else Network(net, threads)
    given = {"overlap": overlap, "blend": blend, "border": border, "crop": crop, "context": context}
    start, size = box_of(box)
    voxels, parts = overlaps(overlap)
    others = others_of(ensemble, net.threads)
    source = source_of(volume, axes, at, net.threads)
    layout = {"format": format, "chunks": chunks, "shards": shards, "codec": codec}
    sink = sink_of(out, layout, 1 if argmax or threshold is not None else BYTES[dtype], net.threads, overwrite, resume, source)
    stored = sink if isinstance(sink, StoreSink) else None
    bar = Bar() if progress is True else None

    seen: dict[str, Any] = {}

    def planned(text: str) -> tuple[int, int]:
        plan = json.loads(text)
        seen.update(plan)
        if on_plan:
            on_plan(plan)
        if bar:
            bar.voxels = plan["voxels"] / plan["patches"]
        if sink:
            sink.plan(plan)
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
            3 if threshold is not None else 2 if argmax else STORES[dtype],
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
            start,
            size,
            tuple(int(v) for v in triple("context", 0 if context is None else context)),
            tuple(other._net for other in others),
            mask_of(mask, net.threads),
            None if sink else codec,
            None if preview is None else os.fspath(preview),
        )
        report = json.loads(_pznet.infer(net._net, options))
        if stored:
            stored.result.finish(report["determined_by"])
            report["notes"] = report.get("notes", []) + stored.result.notes
        if sink:
            sink.end(report)
        if hasattr(source, "direction"):
            from . import itk

            report["notes"] = report.get("notes", []) + itk.lost(source, sink, out)
    except Finished:
        assert stored
        stored.result.forget()
        if preview is not None:
            stored.result.notes.append("no preview was made: the result was finished before")
        report = seen | {"notes": seen.get("notes", []) + stored.result.notes, "finished_before": True, "clipped": 0, "not_finite": 0, "patches_run": 0, "voxels_per_second": 0.0, "seconds": {"total": 0.0}}
    except BaseException:
        if stored:
            stored.result.abandon()
        raise
    finally:
        if bar:
            bar.close()
    return report, out if sink is None or out is not None else sink.out



def infer(
    volume: Any,
    net: Network | Path,
    out: Any = None,
    *,
    box: Any = None,
    context: int | Sequence[int] | None = None,
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
    ensemble: Sequence[Network | Path] | None = None,
    mask: Any = None,
    skip_zero: bool = False,
    resume: bool = False,
    overwrite: bool = True,
    update: bool = False,
    memory: int = 0,
    threads: int | None = None,
    format: str | None = None,
    chunks: int | Sequence[int] | str | None = None,
    shards: int | Sequence[int] | str | None = None,
    codec: str | None = None,
    preview: Path | None = None,
    progress: bool | Progress = True,
) -> Any:
    """Applies a network to a volume patch by patch, as `pznet infer` does; doc/volumes.md says what the options mean.

    volume: [z, y, x] or [channels, z, y, x]; anything that is sliced, as a NumPy array, np.memmap, h5py dataset, Zarr array or
    PyTorch tensor on the CPU; or the path of a volume, of a file or a store (Zarr, OME-Zarr, N5, precomputed; s3://, gs://, https://:
    doc/volumes-stores.md). It is read a few planes at a time, each chunk once where memory suffices.
    box: the part of the volume that the result is of, voxels along z, y and x: "100:164,2048:4096,:", or three slices. It has the bits of the
    whole: patches lie as they do there, and what is around it is read. context: voxels around the box that are tiled with it instead, as
    if there were nothing else.
    axes: which axis of the volume is which, the slowest first, as "zyxc": letters t, c, z, y and x; axes of length 1 may be left out.
    Default: as the file says, or the array's own names (xarray, Zarr), or as above. at: one of several time points or channels,
    counted from 0: "t=3", "t=3,c=0" or {"t": 3}.
    net: an open network, or the path of a network file. threads: of a network that is opened here.
    out: takes slices likewise, or a path; default: a new array, [z, y, x] or [channels, z, y, x], of float32 (uint8 with
    argmax, threshold or dtype="u8"; "u16", "f16"; the network's own where it gives integers). Voxel size, unit, origin and affine go from path to path; arrays have none.
    nan: "error", "propagate" or "zero", of not-a-numbers and infinities. sigmoid, softmax (over the channels): of the blended
    values, before they are stored. threshold: 1 where a value is greater, else 0, for each channel.
    tiling: "pznet", "monai", "nnunet" or "chunkflow". overlap: voxels (int) or a part of the output patch (float), or three.
    augment: "mirror", or the network's axes as in "mirror:0,1" or (0, 1). memory: a limit in bytes.
    ensemble: other networks, or paths, of the same ports: the mean of all results is taken patch by patch. mask: a volume of the same size, an
    array or a path as volume is: where it is 0 the result is, and patches that lie outside of it as a whole are not run.
    resume: for paths; goes on from unfinished work, does nothing where out is finished.
    overwrite: False refuses a path that exists.
    update: a dataset of out's name in an HDF5 file that holds others too is replaced.
    format, chunks, shards, codec: of an out in a store: "zarr3" (default), "zarr2", "n5", "precomputed"; voxels along z, y, x; "zstd" (default),
    "zstd:3", "blosc", "gzip", "none". codec of a path of .h5 or .tif: "gzip", "gzip:LEVEL" (1, the default, to 9), "none".
    preview: a path, "out.png", of a picture of the volume's middle plane and the result's beside it.
    progress: True shows a bar, a callable is called with (what, done, total, seconds); `progress_left` says there what is left.
    Returns out. Warns of values that dtype clipped, of those not finite, and where values of the volume, of 32 or 64 bits,
    are not exact in float32 and are not normalised. Raises what slicing raised, `Error`, ValueError, MemoryError or KeyboardInterrupt.
    """
    report, result = run(volume, net, out, box=box, context=context, axes=axes, at=at, tiling=tiling, overlap=overlap, blend=blend, border=border, crop=crop, augment=augment, normalize=normalize, nan=nan, dtype=dtype, argmax=argmax, threshold=threshold, sigmoid=sigmoid, softmax=softmax, sums=sums, ensemble=ensemble, mask=mask, skip_zero=skip_zero, resume=resume, overwrite=overwrite, update=update, memory=memory, threads=threads, format=format, chunks=chunks, shards=shards, codec=codec, preview=preview, progress=progress)
    if report["clipped"]:
        beyond = "beyond 65504" if dtype == "f16" else "outside of 0..1"
        warnings.warn(f"{report['clipped']} values {beyond} were clipped by dtype={dtype!r}", stacklevel=2)
    if report["not_finite"]:
        warnings.warn(f"{report['not_finite']} values are not a number or infinite, as nan='propagate' lets pass", stacklevel=2)
    if "rounded" in report:
        warnings.warn(report["rounded"]["text"], stacklevel=2)
    for note in report.get("notes", []) if is_path(volume) and is_path(out) else []:
        warnings.warn(note, stacklevel=2)
    if out is not None:
        return out
    return arrays.same_kind((volume,))(result) if result.dtype.kind == "f" else result
