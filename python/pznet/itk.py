"""Volumes that SimpleITK reads and writes, .mha, .mhd, .nrrd and .nhdr, whole in memory (stores.py has the others that are not the C library's)."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import itk_process
from .inferring import Sink, Source
from .places import NIFTI

TURNED = np.diag([-1.0, -1.0, 1.0])  # NIfTI's axes to the right and the front, those of ITK to the left and the back


class ImageError(OSError):
    """An image that cannot be read or written as wanted, in one line."""


def needs_simpleitk(path: str) -> None:
    if not importlib.util.find_spec("SimpleITK"):
        raise ImageError(f"{path}: images of this kind are read and written through SimpleITK: pip install 'pznet[medical]'")


def one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


def check_whole(path: str) -> None:
    """Refuses NIfTI files that are cut or damaged: ITK reads these as zeros. Other formats it checks itself."""
    if not path.lower().endswith(NIFTI):
        return
    packed = path.lower().endswith(".gz")
    try:
        with open(path, "rb") as file:
            start = file.read(2)
            file.seek(0)
            unpack = zlib.decompressobj(31) if packed and start == b"\x1f\x8b" else None
            header, length = b"", 0
            for part in iter(lambda: file.read(2**20), b""):
                while part:
                    made = unpack.decompress(part, 2**22) if unpack else part
                    part = unpack.unconsumed_tail if unpack else b""
                    header += made[: 540 - len(header)]
                    length += len(made)
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror}") from None
    except zlib.error as error:
        raise ImageError(f"{path}: is damaged: {error}") from None
    needed = bytes_of(header)
    if needed is None:
        raise ImageError(f"{path}: is no NIfTI file")
    if length < needed or (unpack and not unpack.eof):
        raise ImageError(f"{path}: ends early: it has {length} bytes, its voxels want {needed}")


def bytes_of(header: bytes) -> int | None:
    """What a NIfTI file has to have, by its header, of version 1 or 2; None where it is none."""
    for order in "<", ">":
        if header[:4] == struct.pack(f"{order}i", 348) and len(header) >= 352:
            dims, bits = struct.unpack_from(f"{order}8h", header, 40), struct.unpack_from(f"{order}h", header, 72)[0]
            start = struct.unpack_from(f"{order}f", header, 108)[0]
        elif header[:4] == struct.pack(f"{order}i", 540) and len(header) >= 540:
            dims, bits = struct.unpack_from(f"{order}8q", header, 16), struct.unpack_from(f"{order}h", header, 14)[0]
            start = struct.unpack_from(f"{order}q", header, 168)[0]
        else:
            continue
        if not 1 <= dims[0] <= 7 or min(dims[1 : dims[0] + 1]) < 1 or bits < 1 or not 0 <= start < 2**40:
            return None
        return int(start) + math.prod(dims[1 : dims[0] + 1]) * bits // 8
    return None


@dataclass
class Voxels:
    """values: [z, y, x] or [y, x], with components behind where they are several. The rest is along x, y, z."""

    values: npt.NDArray[Any]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[float, ...]
    dimensions: int
    components: int
    was: str | None  # the orientation before it was turned


APART = 2**22  # bytes; images of more are read and written by a process of their own, so that SimpleITK is gone before the network runs


def stands_apart(size: int) -> bool:
    return size > APART and "python" in os.path.basename(sys.executable or "").lower()


def process(request: dict[str, Any], fd: int) -> dict[str, Any]:
    """What itk_process.py replies. The modules that it finds are those of this process."""
    start = "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(2)); runpy.run_path(sys.argv.pop(2), run_name='__main__')"
    words = [sys.executable, "-c", start, json.dumps({**request, "fd": fd}), json.dumps(sys.path), os.path.join(os.path.dirname(__file__), "itk_process.py")]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=[fd])
    try:
        reply: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        how = f"by signal {-done.returncode}" if done.returncode < 0 else f"with status {done.returncode}"
        raise RuntimeError(f"the process for it ended {how}") from None
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return reply


def read_apart(path: str, orientation: str | None) -> tuple[Any, dict[str, Any]]:
    fd = os.memfd_create("pznet image")
    try:
        reply = process({"path": path, "orientation": orientation}, fd)
        return itk_process.get(fd, reply.pop("shape"), reply.pop("dtype")), reply
    finally:
        os.close(fd)


def read(path: str, orientation: str | None = None) -> Voxels:
    """An image; what is damaged is refused. orientation: its axes are turned to it, as "RAS", where they are three."""
    needs_simpleitk(path)
    check_whole(path)
    try:
        size = APART + 1 if path.lower().endswith((".mhd", ".nhdr")) else os.path.getsize(path)  # of these the voxels are elsewhere
        values, told = (read_apart if stands_apart(size) else itk_process.read)(path, orientation)
    except RuntimeError as error:
        words = one_line(error)
        if words.startswith("Reason: No such file"):  # what ITK says of files that are there and end early
            words = "it is cut or damaged"
        raise ImageError(f"{path}: cannot be read: {words}") from None
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror}") from None
    return Voxels(values, **{name: tuple(value) if isinstance(value, list) else value for name, value in told.items()})


def write_image(path: str, values: Any, spacing: Any, origin: Any, direction: Any, turned_to: str | None = None) -> None:
    """Voxels [z, y, x], [y, x], or with channels in front [c, z, y, x], in their place: that of the first voxel, and directions, along x, y, z.
    turned_to: the orientation that the file is to have. Raises RuntimeError where SimpleITK does."""
    needs_simpleitk(path)
    place = {"spacing": list(map(float, spacing)), "origin": list(map(float, origin)), "direction": list(map(float, direction)), "was": turned_to}
    if not stands_apart(values.nbytes):
        return itk_process.write(path, values, place)
    fd = os.memfd_create("pznet image")
    try:
        process({"path": path, "place": place, **itk_process.put(fd, values)}, fd)
    finally:
        os.close(fd)


class ImageSource(Source):
    """An image; its values as they are in the file."""

    def __init__(self, path: str, letters: str | None, at: Any, name: str = "volume") -> None:
        image = read(path)
        rank = image.dimensions
        if letters is None:
            letters = {2: "yx", 3: "zyx"}.get(rank, "")
            if not letters:
                raise ImageError(f"{path}: has {rank} dimensions: say what they are, the slowest first, as by --axes czyx")
            letters += "c" if image.components > 1 else ""
        super().__init__(image.values, letters, at, name)
        if rank > 3:
            return
        spacing, origin = image.spacing[::-1], image.origin[::-1]
        self.voxel_size = (*(1.0,) * (3 - rank), *spacing)
        self.unit = "mm"
        self.direction = np.eye(3)
        self.direction[:rank, :rank] = np.reshape(image.direction, (rank, rank))
        self.first = np.array([*image.origin, *(0.0,) * (3 - rank)])
        if np.allclose(self.direction, np.eye(3)):
            self.origin = (*(0.0,) * (3 - rank), *origin)


class ImageSink(Sink):
    """A result that is written when all of it is there."""

    def __init__(self, path: str, source: Source | None, overwrite: bool, resume: bool) -> None:
        super().__init__(None)
        needs_simpleitk(path)  # missed before the work
        self.path, self.source = path, source
        folder = os.path.dirname(path) or "."
        if resume:
            raise ValueError(f"{path}: results of this kind are written at once, and cannot be resumed; leave --resume away")
        if not overwrite and os.path.exists(path):
            raise ImageError(f"{path}: exists")
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            raise ImageError(f"{path}: cannot be written: {folder} is no folder that can be written to")

    def plan(self, plan: dict[str, Any]) -> None:
        super().plan(plan)
        self.geometry = plan["output"]
        self.start = np.array(plan["output"].get("first_voxel", [0, 0, 0])[::-1], float)

    def place(self) -> tuple[Any, Any, Any]:
        """The voxel size, the first voxel's place and the axes' directions, along x, y and z."""
        if isinstance(self.source, ImageSource) and self.source.unit:
            size, direction = np.array(self.source.voxel_size[::-1]), self.source.direction
            return size, self.source.first + direction @ (size * self.start), direction
        if "affine" in self.geometry:
            affine = np.array(self.geometry["affine"])
            size = np.sqrt((affine[:, :3] ** 2).sum(axis=0))
            return size, TURNED @ affine[:, 3], TURNED @ (affine[:, :3] / size)
        return np.array(self.geometry.get("voxel_size", [1, 1, 1])[::-1]), np.array(self.geometry.get("origin", [0, 0, 0])[::-1]), np.eye(3)

    def end(self, report: dict[str, Any]) -> None:
        assert self.out is not None
        values: npt.NDArray[Any] = self.out if self.out.dtype != np.float16 else self.out.astype(np.float32)
        size, origin, direction = self.place()
        write(self.path, lambda path: write_image(path, values, size, origin, direction.ravel()))
        self.out = self.path


def write(path: str, to: Any) -> None:
    """Calls to(a path of that name in a folder of its own), and moves what it made to its place: a file appears when it is whole."""
    here = os.path.dirname(path) or "."
    folder = tempfile.mkdtemp(prefix=".pznet-", dir=here)
    name = os.path.basename(path)
    try:
        to(os.path.join(folder, name))
        for made in sorted(os.listdir(folder), key=lambda made: made == name):  # what a header names, as .raw of .mhd, before it
            os.replace(os.path.join(folder, made), os.path.join(here, made))
    except RuntimeError as error:
        raise ImageError(f"{path}: cannot be written: {one_line(error)}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lost(source: Source | None, sink: Sink | None, out: Any) -> list[str]:
    """Notes on what does not arrive: directions, in formats without them."""
    turned = isinstance(source, ImageSource) and bool(source.unit) and source.origin is None
    if not turned or isinstance(sink, ImageSink) or not isinstance(out, (str, os.PathLike)):
        return []
    return [f"{os.fspath(out)}: the input's axes are turned in space, which this format does not say; .mha, .nrrd and .nii.gz do"]
