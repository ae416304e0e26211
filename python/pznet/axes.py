"""Which axis of an array is which, as src/formats/axes.h has it for files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Sequence

LETTERS = "tczyx"
NAMES = {"time": "t", "channel": "c", "channels": "c"}


def place_of(at: Any) -> dict[str, int]:
    """One time point or channel of several: "t=3", "t=3,c=0" or {"t": 3}."""
    if at is None:
        return {}
    pairs: Any = at.items() if isinstance(at, Mapping) else [part.partition("=")[::2] for part in str(at).split(",")]
    place: dict[str, int] = {}
    for letter, value in pairs:
        if letter not in ("t", "c") or letter in place or not str(value).isdecimal():
            raise ValueError(f"at {at!r}: expected a time point or a channel, counted from 0, as 't=3', 't=3,c=0' or {{'t': 3}}")
        place[letter] = int(value)
    return place


def text_of(at: Any) -> str | None:
    place = place_of(at)
    return ",".join(f"{letter}={value}" for letter, value in place.items()) or None


def named(volume: Any) -> str | None:
    """The letters that an array has with it, as those of xarray and of Zarr 3; None where they are not known."""
    names = getattr(volume, "dims", None)
    if names is None:
        names = getattr(getattr(volume, "metadata", None), "dimension_names", None)
    return letters_of(names)


def letters_of(names: Any) -> str | None:
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        return None
    letters = "".join(NAMES.get(n.lower(), n.lower()) for n in names)
    good = len(letters) == len(names) == len(set(letters)) and set(letters) <= set(LETTERS) and {"y", "x"} <= set(letters)
    return letters if good else None


def chunks_of(volume: Any, rank: int) -> Sequence[int] | None:
    """The chunk of an array that has equal ones, as those of h5py and Zarr."""
    chunks = getattr(volume, "chunks", None)
    good = isinstance(chunks, (tuple, list)) and len(chunks) == rank and all(isinstance(n, int) and n > 0 for n in chunks)
    return chunks if good else None


class Axes:
    """Where channels, z, y and x are in an array of `shape`."""

    def __init__(self, shape: tuple[int, ...], axes: str | None, at: Any, volume: Any = None) -> None:
        place = place_of(at)
        letters = self.given(shape, axes) if axes is not None else named(volume) or self.by_place(shape)
        self.index: dict[str, int] = {letter: i for i, letter in enumerate(letters) if letter in LETTERS}
        self.rank = len(shape)
        self.fixed = {i: 0 for i in range(self.rank) if letters[i] not in LETTERS}
        for letter in ("t", "c"):
            size = shape[self.index[letter]] if letter in self.index else 1
            if place.get(letter, 0) >= size:
                raise ValueError(f"at {letter}={place[letter]}: the volume of shape {shape} has {size}, counted from 0")
            if letter == "t" and size > 1 and "t" not in place:
                raise ValueError(f"the volume of shape {shape}, {letters}, has {size} time points: choose one, as by at='t=0'")
            if letter in self.index and (letter == "t" or "c" in place):
                self.fixed[self.index.pop(letter)] = place.get(letter, 0)
        self.shape = tuple(shape[self.index[a]] if a in self.index else 1 for a in "zyx")
        self.channels = shape[self.index["c"]] if "c" in self.index else 1
        chunks = chunks_of(volume, self.rank)
        # what is best read at once, along z, y and x; 0 where nothing is known
        self.step = tuple(chunks[self.index[a]] if chunks and a in self.index else 0 for a in "zyx")

    @staticmethod
    def given(shape: tuple[int, ...], axes: str) -> str:
        letters = str(axes).lower()
        if not set(letters) <= set(LETTERS) or len(set(letters)) != len(letters) or not {"y", "x"} <= set(letters):
            raise ValueError(f"axes {axes!r}: expected y, x and others of t, c, z once each, the slowest first, as in 'zyx' or 'zyxc'")
        longer = [i for i, n in enumerate(shape) if n > 1]
        if len(letters) == len(shape):
            return letters
        if len(letters) != len(longer):
            raise ValueError(f"axes {axes!r} name {len(letters)} axes, the volume has shape {shape}")
        names = iter(letters)
        return "".join(next(names) if n > 1 else "." for n in shape)

    @staticmethod
    def by_place(shape: tuple[int, ...]) -> str:
        if len(shape) not in (3, 4):
            raise ValueError(f"the volume has shape {shape}: expected [z, y, x] or [channels, z, y, x], or say what its axes are, as by axes='tczyx'")
        return "czyx"[-len(shape) :]

    def key(self, start: Sequence[int], size: Sequence[int]) -> Any:
        """What an array is sliced with for voxels start .. start + size - 1 along z, y and x."""
        where: list[Any] = [self.fixed.get(i, slice(None)) for i in range(self.rank)]
        for i, a in enumerate("zyx"):
            if a in self.index and (a == "z" or size[i] < self.shape[i]):
                where[self.index[a]] = slice(start[i], start[i] + size[i])
        while len(where) > 1 and where[-1] == slice(None):
            where.pop()
        return tuple(where) if len(where) > 1 else where[0]

    def read(self, volume: Any, start: Sequence[int], size: Sequence[int], to: Any) -> None:
        """Those voxels into an array [channels, z, y, x], by the volume itself where it can."""
        import numpy as np

        letters = [a for a in sorted(self.index, key=lambda a: self.index[a])]  # of what slicing gives
        to = to[tuple(slice(None) if a in self.index else 0 for a in "czyx")]
        kept = [a for a in "czyx" if a in self.index]
        to = to.transpose([kept.index(a) for a in letters])
        if hasattr(volume, "read_into"):
            volume.read_into(self.key(start, size), to)
        else:
            to[...] = np.asarray(volume[self.key(start, size)])
