"""What is done to a case: by a recipe, or as `infer` does it to a volume."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np

from .. import inferring, itk
from ..network import Network
from . import images
from .folder import Case
from .images import CaseError, Image

Told = Callable[[dict[str, Any], Case], None]


@dataclass
class Work:
    """nets: of an ensemble all. options: of inferring.run. mask: a file, or a folder with one of each case's name. preview: a picture, or their folder."""

    nets: Sequence[Network]
    options: dict[str, Any]
    progress: Any
    planned: Told
    mask: str | None
    preview: str | None
    memory: int

    def of_case(self, path: str | None, case: Case, suffix: str = "") -> str | None:
        """The file of a case where a folder is named."""
        return os.path.join(path, case.name + suffix) if path and os.path.isdir(path) else path


@dataclass
class ByRecipe(Work):
    """Labels, in the place of the image. recipe: see nnunet.Recipe and bundle.Recipe."""

    recipe: Any
    threads: int
    previous: str | None  # of a cascade's second stage: the labels of the first, a file or a folder with one of each case's name

    def __call__(self, case: Case) -> dict[str, Any]:
        """Reads, computes and writes a case; returns its report."""
        times = [time.monotonic()]
        image = images.read(case.paths, self.recipe.reader)
        mask = self.beside(self.mask, "mask has", case, image)
        before = self.beside(self.previous, "labels of the stage before have", case, image)
        seen, shape = image.values[0] if self.preview else None, image.values.shape[1:]
        times.append(time.monotonic())
        self.check_memory(image)
        prepared = self.recipe.prepare(image, self.threads, before)
        del before
        image.values = np.empty((0, 0, 0, 0), np.float32)  # not a part, which would keep all of it
        times.append(time.monotonic())
        report, sink = self.run(case, prepared, None if mask is None else self.recipe.seen_through(prepared, mask != 0))
        times.append(time.monotonic())
        made = self.recipe.finish(prepared, sink)
        if mask is not None:
            made = np.where(mask != 0, made, made.dtype.type(0))
        images.write(case.output, made, image, self.recipe.reader)
        if seen is not None:
            self.draw(case, seen, made)
        times.append(time.monotonic())
        parts = dict(zip(("read", "prepare", "network", "write"), (b - a for a, b in zip(times, times[1:]))))
        labels = {int(i): int(n) for i, n in enumerate(np.bincount(made.ravel())) if n}
        return {"case": case.name, "inputs": list(case.paths), "output": case.output, "shape": list(shape), "spacing": list(image.spacing),
                "patches": report["patches"], "labels": labels, "notes": image.notes, "seconds": {**parts, "total": times[-1] - times[0]}}

    def beside(self, there: str | None, what: str, case: Case, image: Image) -> Any:
        """A volume [z, y, x] of the image's size, a file or that of the case's name in a folder; None where there is none."""
        path = self.of_case(there, case, images.suffix_of(case.output))
        if path is None:
            return None
        made = images.read([path], self.recipe.reader)
        if made.values.shape[1:] != image.values.shape[1:]:
            sizes = [" x ".join(map(str, i.values.shape[1:])) for i in (made, image)]
            raise CaseError(f"{path}: the {what} {sizes[0]} voxels: the image has {sizes[1]}")
        return made.values[0]

    def check_memory(self, image: Image) -> None:
        """What preparing takes is known before it is taken: copies of a channel, before and after it is resampled."""
        if not self.memory:
            return
        needed = held() + self.recipe.bytes_to_prepare(image)
        if needed > self.memory:
            raise CaseError(f"preparing it takes about {needed / 1e9:.2f} GB: --memory allows {self.memory / 1e9:.2f}")

    def run(self, case: Case, prepared: Any, mask: Any) -> tuple[dict[str, Any], Any]:
        sink = self.recipe.sink(prepared, self.options["sums"] != "float", self.threads)
        sink.networks = len(self.nets)
        reports = []
        memory = 0
        if self.memory:
            memory = max(1, self.memory - held())
        for i, net in enumerate(self.nets):
            sink.before = i
            told = (lambda plan: self.planned(plan, case)) if i == 0 else None
            report, _ = inferring.run(prepared.values, net, sink, on_plan=told, progress=self.progress, memory=memory, mask=mask, ensemble=None,
                                      preview=None, **self.options)
            reports.append(report)
        return reports[0], sink

    def draw(self, case: Case, seen: Any, made: Any) -> None:
        """The plane that has the most labels."""
        from .. import _pznet

        plane = int(np.argmax((made != 0).sum(axis=(1, 2)))) if made.any() else len(made) // 2
        path = self.of_case(self.preview, case, ".png")
        _pznet.preview(path, np.ascontiguousarray(seen[plane]), np.ascontiguousarray(made[plane]), True)


class Stack(itk.ImageSource):
    """The channels of a case as one volume, in the place of the first."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths[0], None, None)
        parts = [self.volume, *(itk.ImageSource(path, None, None).volume for path in paths[1:])]
        for path, part in zip(paths, parts):
            if part.shape != parts[0].shape or part.dtype != parts[0].dtype:
                raise CaseError(f"{path}: has {part.shape} voxels of {part.dtype}, {paths[0]} {parts[0].shape} of {parts[0].dtype}: channels of a case are alike")
        geometry = self.voxel_size, self.unit, self.origin
        inferring.Source.__init__(self, np.stack(parts), "c" + "zyx"[-parts[0].ndim :], None)
        self.voxel_size, self.unit, self.origin = geometry


@dataclass
class ByOptions(Work):
    """The network's values, or what the options of infer make of them."""

    def __call__(self, case: Case) -> dict[str, Any]:
        start = time.monotonic()
        source: Any = case.paths[0] if len(case.paths) == 1 else Stack(case.paths)
        report, _ = inferring.run(source, self.nets[0], case.output, on_plan=lambda plan: self.planned(plan, case), progress=self.progress, memory=self.memory,
                                  ensemble=self.nets[1:], mask=self.of_case(self.mask, case, images.suffix_of(case.output)),
                                  preview=self.of_case(self.preview, case, ".png"), **self.options)
        return {"case": case.name, "inputs": list(case.paths), "output": case.output, "patches": report["patches"], "notes": report.get("notes", []),
                "clipped": report["clipped"], "not_finite": report["not_finite"], "seconds": {"total": time.monotonic() - start}}


def held() -> int:
    """Bytes of memory that this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

