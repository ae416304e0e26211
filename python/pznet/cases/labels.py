"""Labels of what a network makes, at the resolution of the image, plane by plane: its values are never in memory whole."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..inferring import Box, Sink
from .images import CaseError
from .resample import Line, Plane, each

Values = npt.NDArray[np.floating[Any]]
Channels = Callable[[int], Values]  # the plane [y, x] of a channel
Decide = Callable[[Channels, int], npt.NDArray[Any]]  # such planes and how many -> labels [y, x]


def greatest(plane: Channels, channels: int) -> npt.NDArray[Any]:
    """The first of the greatest."""
    best = plane(0)
    labels = np.zeros(best.shape, np.uint8 if channels <= 256 else np.uint16)
    for c in range(1, channels):
        values = plane(c)
        greater = values > best
        labels[greater] = c
        np.copyto(best, values, where=greater)
    return labels


def in_order(values: Sequence[int], threshold: float = 0) -> Decide:
    """The value of the last channel that is above the threshold; 0 where none is."""

    def decide(plane: Channels, channels: int) -> npt.NDArray[Any]:
        labels: npt.NDArray[Any] | None = None
        for c in range(channels):
            above = plane(c) > threshold
            if labels is None:
                labels = np.zeros(above.shape, np.uint8 if max(values) < 256 else np.uint16)
            labels[above] = values[c]
        assert labels is not None
        return labels

    return decide


class LabelSink(Sink):
    """Takes a network's values in planes along z, and has the labels of the image's planes as soon as the planes around them are there.

    lines: from the network's resolution to the image's, along z, y, x; none of them filtered. half: values are float16, and are rounded to it
    again when they are resampled, as nnU-Net has them. Of an ensemble's `networks` all run one after the other, with `before` counted up.
    """

    def __init__(self, lines: Sequence[Line | None], decide: Decide, channels: int, half: bool, threads: int) -> None:
        super().__init__(None)
        self.lines, self.decide, self.wanted, self.threads = lines, decide, channels, threads
        self.resample = Plane(lines[1], lines[2])
        self.type = np.float16 if half else np.float32
        self.whole: Values | None = None
        self.networks, self.before = 1, 0  # all of an ensemble; those that ran
        self.total: Values | None = None  # the sum of theirs

    def plan(self, plan: dict[str, Any]) -> None:
        self.channels, self.shape = plan["output"]["channels"], tuple(plan["output"]["shape"])
        if self.channels != self.wanted:
            raise CaseError(f"the network gives {self.channels} channels: the recipe's labels are {self.wanted}")
        self.dtype = np.dtype(np.float32)
        for line, n in zip(self.lines, self.shape):
            assert line is None or line.n == n
        self.target = tuple(line.m if line else n for line, n in zip(self.lines, self.shape))
        z = self.lines[0]
        self.places = z.places if z else np.arange(self.shape[0])[:, None]
        self.weights = z.weights if z else np.ones((self.shape[0], 1))
        self.ends = self.places.max(axis=1) + 1
        self.planes: dict[int, Values] = {}
        self.have = self.made = 0
        self.labels: npt.NDArray[Any] | None = None
        if self.networks > 1 and self.total is None:
            self.total = np.zeros((self.channels, *self.shape), self.type)

    def write(self, start: Box, size: Box, memory: memoryview, strides: Box) -> None:
        part: npt.NDArray[Any] = np.ndarray((self.channels, *size), self.dtype, memory, strides=(*strides, self.dtype.itemsize))
        if self.total is not None:  # sums in the order of the networks, and then the mean, as nnU-Net makes it
            box = (slice(None), *(slice(a, a + n) for a, n in zip(start, size)))
            self.total[box] += part.astype(self.type)
            if self.before + 1 < self.networks:
                return
            part = self.total[box] / self.type(self.networks)
        if size[1:] != self.shape[1:] or start[0] != self.have or self.whole is not None:
            self.keep(start, size, part)
            return
        for i in range(size[0]):
            self.planes[start[0] + i] = part[:, i].astype(self.type)
        self.have = start[0] + size[0]
        self.advance()

    def keep(self, start: Box, size: Box, part: npt.NDArray[Any]) -> None:
        """Blocks that are no whole planes: all is kept, and labels come at the end."""
        if self.whole is None:
            self.whole = np.empty((self.channels, *self.shape), self.type)
            for i, plane in self.planes.items():
                self.whole[:, i] = plane
        self.whole[(slice(None), *(slice(a, a + n) for a, n in zip(start, size)))] = part

    def advance(self) -> None:
        """Makes the planes of labels whose values are there, and forgets values that no later one needs."""
        last = int(np.searchsorted(self.ends, self.have, side="right"))
        first, self.made = self.made, max(self.made, last)
        each(self.made - first, lambda i: self.make(first + i), self.threads)
        needed = int(self.places[self.made].min()) if self.made < len(self.places) else self.have
        for i in [i for i in self.planes if i < needed]:
            del self.planes[i]

    def make(self, at: int) -> None:
        def plane(channel: int) -> Values:
            taps = [(weight, self.planes[int(i)][channel]) for weight, i in zip(self.weights[at], self.places[at]) if weight]
            if all(line is None for line in self.lines):
                return taps[0][1].astype(self.type)
            values = sum((weight * part.astype(np.float64) for weight, part in taps), np.float64(0))
            return np.ascontiguousarray(self.resample(values)).astype(self.type)

        made = self.decide(plane, self.channels)
        if self.labels is None:
            self.labels = np.empty(self.target, made.dtype)
        self.labels[at] = made

    def finish(self) -> npt.NDArray[Any]:
        """The labels [z, y, x]."""
        if self.whole is not None:
            self.planes = {i: self.whole[:, i] for i in range(self.shape[0])}
            self.have = self.shape[0]
            self.advance()
        assert self.labels is not None and self.made == len(self.places)
        return self.labels

    def arguments(self) -> tuple[Any, ...]:
        return (self.write, (0, 0, 0), None)
