"""Resampling along axes: images to a network's voxel size, and what it makes of them back.

A resampling of a volume along its axes is one of each axis after the other, so it costs a few products a voxel and axis. Sums are in
double precision. Cubic splines are those of `scipy.ndimage.zoom(..., order=3, mode="nearest", grid_mode=True)`, which
`skimage.transform.resize` and with it nnU-Net use; the filter before is SciPy's. tests/python/test_cases.py holds them to these.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

PAD = 12  # samples that scipy.ndimage adds at each end before it filters: those farther away count 0.27^12 = 1.4e-7 at most


@dataclass(frozen=True)
class Line:
    """The resampling of an axis of n samples to m: of each new sample the old ones that it is made of, and their weights."""

    n: int
    places: npt.NDArray[np.int64]  # [m, taps]; of an axis that is filtered in the axis that is longer by PAD at both ends
    weights: Doubles  # [m, taps]
    filtered: bool = False

    @property
    def m(self) -> int:
        return len(self.places)

    @property
    def reach(self) -> npt.NDArray[np.int64]:
        """Of each new sample the last old one that it needs; of axes that are not filtered."""
        return self.places.max(axis=1)

    def matrix(self) -> Any:
        """As a sparse matrix of SciPy's, [m, n]."""
        from scipy.sparse import csr_matrix

        m, taps = self.places.shape
        shape = (m, self.n + 2 * PAD * self.filtered)
        return csr_matrix((self.weights.ravel(), self.places.ravel(), np.arange(0, m * taps + 1, taps)), shape)


def at(n: int, where: Doubles, order: int) -> Line:
    """Samples at coordinates `where` of n samples, whose values go on beyond both ends. order: 0, the nearest; 1, linear; 3, cubic."""
    if order == 0:
        nearest = np.floor(np.clip(where, 0, n - 1) + 0.5).astype(np.int64)
        return Line(n, np.clip(nearest, 0, n - 1)[:, None], np.ones((len(where), 1)))
    first = np.floor(where)
    t = where - first
    first = first.astype(np.int64)
    if order == 1:
        return Line(n, np.clip(first[:, None] + np.arange(2), 0, n - 1), np.stack([1 - t, t], axis=1))
    if order != 3:
        raise ValueError(f"order {order}: expected 0, 1 or 3")
    weights = np.stack([(1 - t) ** 3, 4 - 3 * t * t * (2 - t), 4 - 3 * (1 - t) ** 2 * (1 + t), t**3], axis=1) / 6
    return Line(n, np.clip(first[:, None] + np.arange(-1, 3) + PAD, 0, n + 2 * PAD - 1), weights, True)


def centred(n: int, m: int, order: int) -> Line | None:
    """n samples to m of the same extent, as images are resized. None: nothing changes."""
    return None if n == m else at(n, (np.arange(m) + 0.5) * (n / m) - 0.5, order)


def along(line: Line | None, values: Any, matrix: Any = None) -> Any:
    """The first axis of [n, k] resampled."""
    if line is None:
        return values
    if line.filtered:
        from scipy.ndimage import spline_filter1d

        padded = np.concatenate([np.repeat(values[:1], PAD, 0), values, np.repeat(values[-1:], PAD, 0)])
        values = spline_filter1d(padded, 3, axis=0, output=np.float64, mode="nearest")
    return (line.matrix() if matrix is None else matrix) @ values


class Plane:
    """Resampling of planes [y, x]."""

    def __init__(self, y: Line | None, x: Line | None) -> None:
        self.y, self.x = y, x
        self.matrix_y, self.matrix_x = (line and line.matrix() for line in (y, x))

    def __call__(self, plane: Any) -> Any:
        values = along(self.y, np.asarray(plane, np.float64), self.matrix_y)
        if self.x is None:
            return values
        return along(self.x, np.ascontiguousarray(values.T), self.matrix_x).T


def each(count: int, work: Callable[[int], object], threads: int) -> None:
    """Calls work(0), ..., work(count - 1), in `threads` threads; what it raises is raised."""
    if threads < 2 or count < 2:
        for i in range(count):
            work(i)
        return
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, i) for i in range(count)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def volume(values: Any, lines: Sequence[Line | None], clip: str | None, threads: int, dtype: Any = np.float32) -> Any:
    """A volume [z, y, x] resampled, as a new one of the dtype.

    lines: of z, y and x. clip: cubic splines overshoot; "volume" keeps results between the least and the greatest value of the volume, "plane"
    each plane [y, x] between its own, before z is resampled; None as they are.
    """
    z, y, x = lines
    n = values.shape[0]
    if all(line is None for line in lines):
        return values.astype(dtype)
    plane = Plane(y, x)
    flat = np.empty((n, y.m if y else values.shape[1], x.m if x else values.shape[2]), dtype)

    def resize_plane(i: int) -> None:
        out = plane(values[i])
        flat[i] = np.clip(out, values[i].min(), values[i].max()) if clip == "plane" else out

    each(n, resize_plane, threads)
    least, most = (values.min(), values.max()) if clip == "volume" else (None, None)
    del values
    if z is None:
        return np.clip(flat, least, most, out=flat) if clip == "volume" else flat
    result = np.empty((z.m, *flat.shape[1:]), dtype)
    matrix, line = z.matrix(), z
    rows = max(1, 2**18 // (n * flat.shape[2]))

    def resize_rows(i: int) -> None:
        part = flat[:, i * rows : (i + 1) * rows]
        out = along(line, part.reshape(n, -1).astype(np.float64), matrix).reshape(line.m, *part.shape[1:])
        result[:, i * rows : (i + 1) * rows] = np.clip(out, least, most) if clip == "volume" else out

    each(math.ceil(flat.shape[1] / rows), resize_rows, threads)
    return result


def reached(wanted: Any, lines: Sequence[Line | None]) -> npt.NDArray[np.uint8]:
    """1 for each of the old samples that one of the wanted new ones [z, y, x] is made of."""
    for axis, line in enumerate(lines):
        if line is None:
            continue
        front = np.moveaxis(wanted, axis, 0)
        some = line.matrix().T @ front.reshape(line.m, -1)
        wanted = np.moveaxis(some.reshape(line.n, *front.shape[1:]), 0, axis)
    return np.ascontiguousarray(wanted > 0).astype(np.uint8)


def bounds(mask: npt.NDArray[np.bool_]) -> tuple[slice, ...]:
    """Of what is set; all where nothing is."""
    box = []
    for axis in range(3):
        some = np.flatnonzero(mask.any(axis=tuple(i for i in range(3) if i != axis)))
        box.append(slice(int(some[0]), int(some[-1]) + 1) if len(some) else slice(0, mask.shape[axis]))
    return tuple(box)
