"""Images of patients: read with their voxel size and place in space, and labels written beside them in the same.

The readers are those that nnU-Net's plans name, and each is a library of the field: SimpleITK (.nii.gz, .nrrd, .mha, .mhd), nibabel (.nii,
.nii.gz) and tifffile (.tif). Which one reads matters: they give voxel sizes in other roundings, and axes in another order.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

from .. import itk
from ..itk import one_line
from ..places import IMAGES

SUFFIXES = (".nii.gz", ".nii", *IMAGES, ".tif", ".tiff")
ITK = (".nii.gz", ".nii", *IMAGES)


class CaseError(ValueError):
    """An image, a recipe or a folder that is not what it should be, in one line."""


def needs(module: str, package: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise CaseError(f"{what} needs {package}: pip install 'pznet[medical]'") from None


@dataclass
class Image:
    """Channels of one case: [c, z, y, x] of float32; the size of a voxel along z, y, x; and what its writer wants to know."""

    values: npt.NDArray[np.float32]
    spacing: tuple[float, float, float]
    place: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def suffix_of(path: str) -> str:
    """The ending that says what a file is, as ".nii.gz"; "" where it is none of ours."""
    name = os.path.basename(path).lower()
    return next((s for s in SUFFIXES if name.endswith(s)), "")


# What a reader gives: values [z, y, x], the size of a voxel, the place in space.
Read = tuple[Any, tuple[float, float, float], dict[str, Any]]


def read_itk(path: str, orientation: str | None = None) -> Read:
    image = itk.read(path, orientation)
    values, spacing = image.values, [abs(s) for s in image.spacing[::-1]]
    if image.components > 1:
        raise CaseError(f"{path}: has {image.components} values a voxel: expected one; give each channel a file, _0000, _0001, ...")
    if values.ndim == 2:  # as nnU-Net takes pictures
        values, spacing = values[None], [max(spacing) * 999, *spacing]
    elif values.ndim != 3:
        raise CaseError(f"{path}: has {values.ndim} dimensions: expected 3; give each channel a file, _0000, _0001, ...")
    place = {"spacing": image.spacing, "origin": image.origin, "direction": image.direction, "was": image.was}
    return values, tuple(spacing), place  # type: ignore[return-value]


def read_nibabel(path: str, reorient: bool = False) -> Read:
    nibabel = needs("nibabel", "nibabel", f"reading {path}")
    itk.check_whole(path)
    try:
        image = nibabel.load(path)
        place = {"affine": image.affine}
        if len(image.shape) != 3:
            raise CaseError(f"{path}: has {len(image.shape)} dimensions: expected 3; give each channel a file, _0000, _0001, ...")
        if reorient:
            image = image.as_reoriented(nibabel.orientations.io_orientation(image.affine))
            place["reoriented"] = image.affine
        slope, shift = getattr(image.dataobj, "slope", 1), getattr(image.dataobj, "inter", 0)
        scaled = slope != 1 or shift != 0
        values = image.get_fdata(caching="unchanged") if scaled else np.asanyarray(image.dataobj)
        spacing = tuple(float(s) for s in image.header.get_zooms()[::-1])
    except CaseError:
        raise
    except Exception as error:  # a hostile file has many ways
        raise CaseError(f"{path}: cannot be read: {one_line(error)}") from None
    return values.transpose(2, 1, 0), spacing, place  # type: ignore[return-value]


def spacing_beside(path: str, channel_digits: int = 5) -> tuple[float, float, float]:
    """Of TIFF files, which have none: a JSON file of the case's name beside them says it."""
    stem = os.path.splitext(path)[0]
    beside = stem[:-channel_digits] + ".json"
    if not os.path.exists(beside):
        return (1, 1, 1)
    try:
        with open(beside) as file:
            spacing = json.load(file)["spacing"]
        return float(spacing[0]), float(spacing[1]), float(spacing[2])
    except (ValueError, KeyError, TypeError, IndexError, OSError):
        raise CaseError(f'{beside}: expected {{"spacing": [z, y, x]}}, the size of a voxel') from None


def read_tiff(path: str) -> Read:
    tifffile = needs("tifffile", "tifffile", f"reading {path}")
    try:
        values = tifffile.imread(path)
    except Exception as error:
        raise CaseError(f"{path}: cannot be read: {one_line(error)}") from None
    if values.ndim != 3:
        raise CaseError(f"{path}: has {values.ndim} dimensions: expected 3")
    return values, spacing_beside(path), {}


def write_itk(path: str, labels: Any, image: Image) -> None:
    p = image.place
    itk.write_image(path, labels[0] if len(p["spacing"]) == 2 else labels, p["spacing"], p["origin"], p["direction"], p["was"])


def write_nibabel(path: str, labels: Any, image: Image) -> None:
    nibabel = needs("nibabel", "nibabel", f"writing {path}")
    affine = image.place["affine"]
    out = nibabel.Nifti1Image(labels.transpose(2, 1, 0), affine=image.place.get("reoriented", affine))
    if "reoriented" in image.place:
        orientation = nibabel.orientations.io_orientation
        back = nibabel.orientations.ornt_transform(orientation(image.place["reoriented"]), orientation(affine))
        out = out.as_reoriented(back)
    nibabel.save(out, path)


def write_tiff(path: str, labels: Any, image: Image) -> None:
    tifffile = needs("tifffile", "tifffile", f"writing {path}")
    tifffile.imwrite(path, labels, compression="zlib")
    with open(os.path.splitext(path)[0] + ".json", "w") as file:
        json.dump({"spacing": list(image.spacing)}, file)


@dataclass(frozen=True)
class Reader:
    read: Callable[[str], Read]
    write: Callable[[str, Any, Image], None]
    suffixes: tuple[str, ...]


READERS = {
    "SimpleITKIO": Reader(read_itk, write_itk, ITK),
    "SimpleITKIOWithReorient": Reader(lambda path: read_itk(path, "RAS"), write_itk, ITK),
    "NibabelIO": Reader(read_nibabel, write_nibabel, (".nii.gz", ".nii")),
    "NibabelIOWithReorient": Reader(lambda path: read_nibabel(path, True), write_nibabel, (".nii.gz", ".nii")),
    "Tiff3DIO": Reader(read_tiff, write_tiff, (".tif", ".tiff")),
}
"""By the names of nnU-Net's plans."""


def same_place(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(np.allclose(a[name], b[name], rtol=1e-4, atol=1e-4) for name in ("origin", "direction", "affine") if name in a)


def read(paths: Sequence[str], reader: Reader) -> Image:
    """The channels of a case, one file each. Raises `CaseError` where they do not fit together."""
    values: npt.NDArray[np.float32] | None = None
    notes = []
    for i, path in enumerate(paths):
        part, spacing, place = reader.read(path)
        shape = part.shape
        if part.dtype.kind not in "fiub":
            raise CaseError(f"{path}: holds values of {part.dtype}: expected integers or floats")
        if not all(shape):
            raise CaseError(f"{path}: is empty: {' x '.join(map(str, shape))} voxels")
        if not all(math.isfinite(s) and s > 0 for s in spacing):
            raise CaseError(f"{path}: its voxel size is {spacing}: expected three numbers above 0")
        if values is None:
            values = np.empty((len(paths), *shape), np.float32)
            first = shape, spacing, place
        if shape != first[0]:
            raise CaseError(f"{path}: has {' x '.join(map(str, shape))} voxels, {paths[0]} has {' x '.join(map(str, first[0]))}: channels of a case have one size")
        if not np.allclose(spacing, first[1], rtol=1e-5):
            raise CaseError(f"{path}: its voxel size is {spacing}, that of {paths[0]} is {first[1]}: channels of a case have one")
        if not same_place(place, first[2]):
            notes.append(f"{path} and {paths[0]} lie at different places or in different directions; voxels of one index are taken for one place")
        values[i] = part
    assert values is not None
    return Image(values, first[1], first[2], notes)


def write(path: str, labels: Any, image: Image, reader: Reader) -> None:
    """Labels [z, y, x] in the place of their image. The file appears when it is whole."""
    itk.write(path, lambda there: reader.write(there, labels, image))
