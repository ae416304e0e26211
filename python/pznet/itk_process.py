"""What SimpleITK does with one file: in this process, or as a process of its own (itk.py).

As a program: its argument is JSON, a request; the last line of what it prints is JSON, the reply. Voxels lie in the file whose descriptor the request names.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys
from typing import Any

import numpy as np


def read(path: str, orientation: str | None) -> tuple[Any, dict[str, Any]]:
    """Voxels [z, y, x], [y, x], with components behind where there are several; and spacing, origin and direction along x, y, z. orientation: axes are
    turned to it, as "RAS"; `was` says what they were. Raises RuntimeError where SimpleITK does."""
    import SimpleITK as sitk

    image, was = sitk.ReadImage(path), None
    if orientation and image.GetDimension() == 3:
        was = sitk.DICOMOrientImageFilter_GetOrientationFromDirectionCosines(image.GetDirection())
        image = sitk.DICOMOrient(image, orientation)
    place = {"spacing": image.GetSpacing(), "origin": image.GetOrigin(), "direction": image.GetDirection(), "was": was}
    return sitk.GetArrayFromImage(image), {**place, "dimensions": image.GetDimension(), "components": image.GetNumberOfComponentsPerPixel()}


def write(path: str, values: Any, place: dict[str, Any]) -> None:
    """Voxels [z, y, x], [y, x], or with channels in front [c, z, y, x], compressed; axes are turned to `was`, unless that is None."""
    import SimpleITK as sitk

    image = sitk.GetImageFromArray(np.moveaxis(values, 0, -1) if values.ndim == 4 else values, isVector=values.ndim == 4)
    image.SetSpacing([float(s) for s in place["spacing"]])
    image.SetOrigin([float(o) for o in place["origin"]])
    image.SetDirection([float(d) for d in place["direction"]])
    sitk.WriteImage(sitk.DICOMOrient(image, place["was"]) if place["was"] else image, path, useCompression=True)


def put(fd: int, values: Any) -> dict[str, Any]:
    """Values into a file; what `get` wants to know of them."""
    os.ftruncate(fd, values.nbytes)
    with mmap.mmap(fd, values.nbytes) as memory:
        there: Any = np.ndarray(values.shape, values.dtype, memory)
        there[...] = values
        del there
    return {"shape": values.shape, "dtype": values.dtype.str}


def get(fd: int, shape: Any, dtype: str) -> Any:
    return np.ndarray(shape, dtype, mmap.mmap(fd, 0, prot=mmap.PROT_READ))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    path, fd = request["path"], request["fd"]
    if "place" in request:
        write(path, get(fd, request["shape"], request["dtype"]), request["place"])
        return {}
    values, told = read(path, request["orientation"])
    return told | put(fd, values)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits ends this process
    try:
        reply = answer(json.loads(sys.argv[1]))
    except Exception as error:
        reply = {"error": str(error) or type(error).__name__}
    print(f"\n{json.dumps(reply)}")


if __name__ == "__main__":
    main()
