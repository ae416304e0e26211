"""Models to network files: Caffe's, ONNX files, PyTorch modules."""

from __future__ import annotations

import json
import os
import pathlib
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, TypedDict, overload

from . import export
from ._net import Error
from .network import Network, Path, load

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

Progress = Callable[[str, int, int, float], object]


class Options(TypedDict, total=False):
    """The keywords of `compile`, described there."""

    weights: Path | None
    target: str | Sequence[str] | None
    isa: str | None
    cc: str | None
    emit_c: Path | None
    disable: str | Sequence[str] | None
    precision: str | None
    max_error: float | None
    inputs: Mapping[str, Sequence[int]] | None
    input_types: Mapping[str, str] | str | None
    output_types: Mapping[str, str] | str | None
    progress: Progress | None
    effort: str | None
    budget: float | None
    tuning: Path | None
    cache: Path | None
    threads: int | None
    tiling: str | None
    patch: Sequence[int] | str | None
    volume: Sequence[int] | None
    memory: int | None


def _types(wanted: Mapping[str, str] | str | None) -> list[str]:
    if wanted is None or isinstance(wanted, str):
        return [wanted] if wanted else []
    return [f"{name}={type}" for name, type in wanted.items()]


def network_file(model: Path, output: Path, options: Options) -> dict[str, Any]:
    """A model file to a network file. Returns the manifest with the timings."""
    from . import _pznet  # with its libraries, which running networks does without

    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        raise TypeError(f"compile has no option {', '.join(sorted(unknown))}")
    disable = options.get("disable")
    if disable is not None and not isinstance(disable, str):
        disable = ",".join(disable)
    target = options.get("target")
    if target is not None and not isinstance(target, str):
        target = ",".join(target)
    shapes = [f"{name}=" + "x".join(str(int(d)) for d in shape) for name, shape in (options.get("inputs") or {}).items()]
    patch, volume = (n if n is None or isinstance(n, str) else ",".join(str(int(i)) for i in n) for n in (options.get("patch"), options.get("volume")))
    paths = (options.get("weights"), options.get("emit_c"), options.get("tuning"), options.get("cache"))
    weights, emit_c, tuning, cache = (p if p is None else os.fspath(p) for p in paths)
    summary: dict[str, Any] = json.loads(
        _pznet.compile(model, output, weights, options.get("isa"), options.get("cc"), emit_c, disable, shapes,
                       options.get("progress"), options.get("effort"), tuning, options.get("threads") or 0,
                       options.get("precision"), options.get("max_error") or 0.0,
                       target, _types(options.get("input_types")), _types(options.get("output_types")), cache, options.get("budget"),
                       options.get("tiling"), patch, volume, options.get("memory") or 0)
    )
    return summary


def opened(model: Path, folder: str, options: Options) -> Network:
    """The model, compiled into the folder and opened; the open network needs the file no more."""
    path = os.path.join(folder, pathlib.Path(model).stem + ".so")
    network_file(model, path, options)
    return load(path, options.get("threads"))


@overload
def compile(model: Path, output: Path, **options: Unpack[Options]) -> dict[str, Any]: ...
@overload
def compile(model: Path, **options: Unpack[Options]) -> Network: ...
@overload
def compile(
    model: torch.nn.Module, example: Any, output: Path, *, exporter: str | None = None, **options: Unpack[Options]
) -> dict[str, Any]: ...
@overload
def compile(model: torch.nn.Module, example: Any, *, exporter: str | None = None, **options: Unpack[Options]) -> Network: ...


def compile(
    model: Any, second: Any = None, output: Path | None = None, *, exporter: str | None = None, **options: Unpack[Options]
) -> dict[str, Any] | Network:
    """Compiles a network: compile("net.onnx", "net.so"), compile("net.onnx"), compile(module, example, ...).

    model: an ONNX file, a Caffe prototxt, or a PyTorch module, which is exported into a temporary ONNX file first.
    second: of a file, where to write the network file; of a module, an example input (or a tuple of them), whose shape
    the network will have. output: the network file to write; it appears whole or not at all. Without one the network is
    compiled into a temporary file and comes back open.
    exporter: PyTorch's, "dynamo" (the package onnxscript is needed) or "torchscript"; None: the first that is there.

    options, all of them keywords:
    weights: a .caffemodel, a .caffemodel.h5, or "init:SEED". target: the core to plan and compile for, such as
    "zen4", "sapphire-rapids" or "x86-64-v3"; None: this machine. Several, as ["haswell", "zen4"] or "haswell,zen4", make one file with
    a variant for each, of which `load` picks. isa: coarser, "amx", "avx512", "avx2", "sse4" or "neon" of this machine, or "all": a file with a
    variant for each of those of x86.
    cc: the C compiler. emit_c: a folder to keep the generated source in. disable: passes to switch off.
    precision: "exact" for the rounding of direct sums alone. max_error: what fast convolutions may add, 1e-5 unless given.
    inputs: shapes that replace the model's, by name (of ONNX also "#2", the second). progress: called with (what, done, total, seconds);
    `progress_left` says there what is left.
    input_types and output_types: element types by name, such as {"x": "u8"}, or one for all: "f32", "f16", "bf16", "u8", "i8",
    "u16", "i16", "i32"; None: those of an ONNX model, or "f32".
    effort: how algorithms are chosen, "estimate", "measure" (times the likely ones on this machine, once) or "exhaustive";
    None: as "measure", within a budget. budget: seconds that measuring may take, what is worth most first; 0: nothing is measured; None: 10
    where effort is None, else any. tuning: the database of times, or "none". cache: the folder of kernels that were
    compiled before, or "none". threads: that layers are cut for and timed with; None: the
    cores of this process. memory: bytes that weights and a run may take together.
    tiling: "exact" for a network file for exact tiles, which `infer` applies so that each voxel is as the evaluation of the whole volume
    has it. patch: of such a file, the voxels of the result that a run makes, multiples of the total stride, or "auto": as many as fit into
    `memory`, or with volume those that take the least arithmetic for it. volume: the size of the volumes: along y and x a run makes all of it where the patch is
    no smaller.
    Returns the manifest with the timings, or the open network. Raises `Error`, ValueError or MemoryError.
    """
    module = export.is_module(model)
    if module and second is None:
        raise ValueError(f"compile wants an example input beside {type(model).__name__}: its shape is the network's")
    if not module and second is not None:
        if output is not None:
            raise ValueError("compile was given two outputs; an example input belongs to a PyTorch module only")
        output = second
    import tempfile  # here: what only runs networks goes without it, 0.9 MiB

    with tempfile.TemporaryDirectory(prefix="pznet-") as folder:
        if module:
            model = export.to_onnx(model, second, os.path.join(folder, f"{type(model).__name__}.onnx"), exporter)
        try:
            return opened(model, folder, options) if output is None else network_file(model, output, options)
        except Error as error:
            error.args = (str(error).replace(folder + os.sep, ""),)  # which is gone when the message is read
            raise


def progress_left() -> float | None:
    """Within a callable that was given as `progress`: seconds that all of the work will still take; None where that is not known yet,
    as before a tenth of them have passed."""
    from . import _pznet

    return _pznet.progress_left()


def tune(
    network: Path,
    *,
    budget: float | None = None,
    effort: str | None = None,
    tuning: Path | None = None,
    cc: str | None = None,
    cache: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    target: str | None = None,
) -> dict[str, Any]:
    """Measures what is not known yet of a network file's algorithms on this machine, as `pznet tune NET.so` does.

    Every later `compile` of its model, with any weights, chooses by that. What is measured is kept at once: Ctrl-C loses nothing.
    budget: seconds after which no new measuring begins; None: until all is measured. effort: "measure" (default) or "exhaustive".
    tuning: the database of times; None: the default one. cc: the C compiler that the network is compiled with. cache: the folder of
    compiled kernels, or "none". threads: to time with; None: as the network was compiled for.
    progress: called with (what, done, total, seconds). target: of a file with several variants, which is tuned, as `load` has it.
    Returns what was found: "problems" that are worth measuring, "left" of them, "measured" now, "noisy" of these; "faster", how many
    of the "layers" have a faster candidate than the file, and "saved", what that is of the layers' time (doc/tuning.md).
    """
    from . import _pznet  # with its libraries, which running networks does without

    if budget is not None and not budget > 0:
        raise ValueError(f"budget {budget!r}: expected a number of seconds above 0, or None")
    paths = [p if p is None else os.fspath(p) for p in (tuning, cache)]
    report = _pznet.tune(network, budget or 0.0, effort, paths[0], cc, paths[1], threads or 0, progress, target)
    found: dict[str, Any] = json.loads(report)
    return found


def tune_fit(tuning: Path | None = None, *, stale: bool = False) -> dict[str, Any]:
    """Fits the cost model to what the tuning database has of this CPU, as `pznet tune --fit` does; compiling with that database goes by it.

    tuning: the database of times; None: the default one. stale: measurements of other versions' algorithms count too.
    Returns how near expected costs are before and behind the fit, as `pznet tune --fit --json` prints it (doc/cost-model.md). Raises
    `Error` where the database has too few measurements of this CPU.
    """
    from . import _pznet

    found: dict[str, Any] = json.loads(_pznet.tune_fit(None if tuning is None else os.fspath(tuning), stale))
    return found
