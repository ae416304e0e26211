"""Memory of results: used again once nobody holds them. A page that is new costs more than what is written to it."""

from __future__ import annotations

import ctypes
import math
import mmap
import weakref
from typing import Any

import numpy as np

from .arrays import Array

LEAST = 1 << 20
"""Bytes from which on memory is kept; the allocator keeps smaller pieces itself."""

KEPT = 2
"""Pieces of one size that wait for the next result at most."""


def _fresh(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:  # a kernel without huge pages
            pass
    return memory


def _give_back(free: list[mmap.mmap], memory: mmap.mmap) -> None:
    if len(free) < KEPT:
        free.append(memory)


class Results:
    """Makes arrays; where one is gone with all views of it, its memory serves the next one of its size."""

    def __init__(self) -> None:
        self._free: dict[int, list[mmap.mmap]] = {}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any] = np.dtype(np.float32)) -> Array:
        """An array in C order, not initialised."""
        count = math.prod(shape)
        size = dtype.itemsize * count
        if size < LEAST:
            return np.empty(shape, dtype)
        free = self._free.setdefault(size, [])
        memory = free.pop() if free else _fresh(size)
        # All that sees the memory holds this object, by the buffer protocol.
        held = (ctypes.c_char * size).from_buffer(memory)
        weakref.finalize(held, _give_back, free, memory).atexit = False
        return np.frombuffer(held, dtype, count).reshape(shape)
