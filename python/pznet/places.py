"""Which paths are those of stores (stores.py), known without what reads them."""

from __future__ import annotations

import os

SUFFIXES = {".zarr": "zarr3", ".n5": "n5", ".precomputed": "precomputed"}
IMAGES = (".mha", ".mhd", ".nrrd", ".nhdr")
NIFTI = (".nii", ".nii.gz")
SCHEMES = ("s3", "gs", "http", "https", "file")
FILES = {"zarr.json": "zarr3", ".zarray": "zarr", ".zgroup": "zarr", "attributes.json": "n5", "info": "precomputed"}


class Finished(Exception):
    """The result is there already, of the same run."""


def is_store(path: str) -> bool:
    """Whether a path is one of a store: by its scheme, its suffix, or what lies there."""
    if path.split("://", 1)[0] in SCHEMES and "://" in path:
        return True
    if any(part.lower().endswith(tuple(SUFFIXES)) for part in path.split("/")):
        return True
    return os.path.isdir(path) and any(os.path.exists(os.path.join(path, name)) for name in FILES)


def is_image(path: str) -> bool:
    """Whether a path is one of an image that SimpleITK reads and writes (itk.py)."""
    return path.lower().endswith(IMAGES)


def is_case_folder(path: str) -> bool:
    """Whether a path is a folder of cases, whose channels are files called CASE_0000 and so on."""
    return os.path.isdir(path) and not is_store(path) and any("_0000." in name for name in os.listdir(path))
