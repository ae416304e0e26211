"""A MONAI bundle's inference as a recipe: the transforms before its network, its sliding window, and the transforms after (monai 1.6.1).

configs/inference.json says them by name. The transforms in PREPARE and FINISH are those of MONAI, axis by axis and type by type; any other is
refused, for its result would not be MONAI's. Axes are MONAI's too: x, y, z as the file has them, so the network's first axis in space is x.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

from . import images, labels, resample
from .checked import Fields, all_of, is_count, is_flag, is_number, is_text, load_json, short
from .images import CaseError, Image
from .resample import Line

Floats = npt.NDArray[np.float32]
ALIKE = 1e-3  # MONAI's AFFINE_TOL: voxel sizes that differ by a smaller part are one
WHAT = "a MONAI bundle's inference.json"


@dataclass
class State:
    """An image on its way to the network, and how labels find back."""

    values: Floats  # [c, x, y, z]
    affine: npt.NDArray[np.float64]
    back: list[Line | None] = field(default_factory=lambda: [None] * 3)
    undo: list[Callable[[Any], Any]] = field(default_factory=list)  # of labels at the image's resolution, the last first
    resampled: bool = False
    nearest: bool = False  # labels are resampled, not probabilities

    def spacing(self) -> npt.NDArray[np.float64]:
        return np.sqrt((self.affine[:3, :3] ** 2).sum(axis=0))


Step = Callable[[State, int], None]
PLAIN = {"LoadImage", "EnsureChannelFirst", "EnsureType", "CastToType", "ToTensor", "ToDevice", "SelectItems", "DeleteItems", "Identity"}


def orientation(of: Fields) -> Step:
    codes = of.get("axcodes", 'three of L or R, P or A, I or S, as "RAS"', lambda v: isinstance(v, str) and len(v) == 3 and {c for pair in ("LR", "PA", "IS") for c in pair if c in v.upper()} == set(v.upper()))

    def step(state: State, _: int) -> None:
        nib = images.needs("nibabel", "nibabel", "turning images")
        if state.resampled:
            raise of.refuse("axcodes", "stands behind Spacingd", "Orientationd before it")
        was = nib.orientations.io_orientation(state.affine)
        wanted = nib.orientations.axcodes2ornt(codes.upper())
        turn = nib.orientations.ornt_transform(was, wanted)
        shape = state.values.shape[1:]
        order, flips = np.argsort(turn[:, 0]).astype(int), turn[:, 1]

        def turned(values: Any, lead: int) -> Any:
            for axis in range(3):
                if flips[axis] < 0:
                    values = np.flip(values, axis + lead)
            return values.transpose(*range(lead), *(int(i) + lead for i in order))

        def back(values: Any) -> Any:
            values = values.transpose(np.argsort(order))
            for axis in range(3):
                if flips[axis] < 0:
                    values = np.flip(values, axis)
            return values

        state.values = turned(state.values, 1)
        state.affine = state.affine @ nib.orientations.inv_ornt_aff(turn, shape)
        state.undo.append(back)

    return step


def sizes_of(of: Fields) -> list[float]:
    """The three voxel sizes of Spacingd."""
    sizes = of.get("pixdim", "one to three voxel sizes", lambda v: is_number(v) or all_of(is_number, 1, 3)(v))
    sizes = list(sizes) if isinstance(sizes, list) else [sizes]
    return [*sizes, *[sizes[-1]] * (3 - len(sizes))]


def spacing(of: Fields) -> Step:
    sizes = sizes_of(of)
    mode = of.get("mode", '"bilinear" or "nearest"', lambda v: v in ("bilinear", "nearest") or v in (["bilinear"], ["nearest"]), "bilinear")
    of.get("padding_mode", '"border"', lambda v: v in ("border", ["border"]), "border")
    for name in ("diagonal", "scale_extent", "recompute_affine"):
        of.get(name, "false", lambda v: v is False, False)
    for name in ("min_pixdim", "max_pixdim"):
        of.get(name, "null", lambda v: v is None, None)
    order = 0 if mode in ("nearest", ["nearest"]) else 1

    def step(state: State, threads: int) -> None:
        if state.resampled:
            raise of.refuse("pixdim", "is of a second Spacingd", "one")
        square = state.affine[:3, :3].T @ state.affine[:3, :3]
        sheared = np.abs(square - np.diag(np.diag(square))).max() > 1e-3 * np.diag(square).max()
        if sheared:
            raise CaseError("its axes are not at right angles, which Spacingd would make them: expected an image whose affine does not shear")
        now = state.spacing()
        wanted = [size if size > 0 else own for size, own in zip(sizes, now)]
        shape = state.values.shape[1:]
        target = [int(round((n - 1) * own / size + 1)) for n, own, size in zip(shape, now, wanted)]
        if max(target) > 2**20 or np.prod(target, dtype=float) > 2**34:
            raise CaseError(f"at voxels of {wanted} it has {' x '.join(map(str, target))} of them: its voxel size, {now}, is hardly right")
        if target != list(shape) or np.abs(np.asarray(wanted) / now - 1).max() > ALIKE:
            steps = np.asarray(wanted) / now
            starts = first_voxel(state.affine, shape, steps, target)
            lines = [line(n, m, start, step, order) for n, m, start, step in zip(shape, target, starts, steps)]
            made = np.empty((len(state.values), *target), np.float32)
            for c, channel in enumerate(state.values):
                made[c] = resample.volume(channel, lines, None, threads)
            state.values = made
            state.back = [line(m, n, -start / step, 1 / step, 0 if state.nearest else order) for n, m, start, step in zip(shape, target, starts, steps)]
        state.resampled = True

    return step


def first_voxel(affine: npt.NDArray[np.float64], shape: Sequence[int], steps: npt.NDArray[np.float64], target: Sequence[int]) -> npt.NDArray[np.float64]:
    """Where the first voxel of the result lies, in voxels of the image: on its first. Or, where an affine is inexact, so that its middle is the image's.

    That is MONAI's compute_shape_offset, whose test of corners does not hold for affines of turned images, which files round to 32 bits.
    """
    corners = np.stack(np.meshgrid(*((0.0, n - 1.0) for n in shape), indexing="ij")).reshape(3, -1)
    cholesky = np.linalg.cholesky(affine[:3, :3].T @ affine[:3, :3]).T
    turned = np.eye(4)
    turned[:3, :3] = affine[:3, :3] @ np.linalg.inv(cholesky) @ np.diag(np.diag(cholesky) * steps)
    there = (np.linalg.solve(turned, affine) @ np.concatenate([corners, np.ones((1, 8))]))[:3]
    if any(np.allclose((there - there[:, i : i + 1]).min(axis=1), 0.0, rtol=1e-3) for i in range(8)):
        return np.zeros(3)
    return np.asarray(shape) / 2 - steps * np.asarray(target) / 2


def line(n: int, m: int, start: float, step: float, order: int) -> Line:
    """m samples, `step` apart, of n. The nearest of a half is the even one, as PyTorch has it."""
    where = np.clip(start + np.arange(m) * step, 0, n - 1)
    return resample.at(n, np.rint(where) if order == 0 else where, order)


def scale_range(of: Fields) -> Step:
    low, high = (of.get(name, "a number", is_number) for name in ("a_min", "a_max"))
    to = [of.get(name, "a number", lambda v: v is None or is_number(v), None) for name in ("b_min", "b_max")]
    clip = of.get("clip", "true or false", is_flag, False)
    if low == high:
        raise of.refuse("a_max", "is a_min", "two values")

    def step(state: State, _: int) -> None:
        values = state.values
        values -= low
        values /= high - low
        if None not in to:
            values *= to[1] - to[0]
            values += to[0]
        if clip:
            np.clip(values, *to, out=values)

    return step


def normalise(of: Fields) -> Step:
    nonzero, each = (of.get(name, "true or false", is_flag, False) for name in ("nonzero", "channel_wise"))
    many = lambda v: v is None or is_number(v) or all_of(is_number, 1, 10000)(v)  # noqa: E731
    given = [of.get(name, "a number, or one a channel", many, None) for name in ("subtrahend", "divisor")]

    def part(values: Floats, take: Any, divide: Any) -> None:
        where = values != 0 if nonzero else np.ones((), bool)
        some = values[where] if nonzero else values
        if not some.size:
            return
        take = some.mean() if take is None else take
        divide = some.std() if divide is None else divide
        divide = 1 if divide == 0 else divide
        if nonzero:
            values[where] = (some - take) / divide
        else:
            values -= take
            values /= divide

    def step(state: State, _: int) -> None:
        if not each:
            if any(isinstance(v, list) for v in given):
                raise of.refuse("subtrahend", "is a list", "a number, or channel_wise true")
            part(state.values, *given)
            return
        for v in given:
            if v is not None and (not isinstance(v, list) or len(v) != len(state.values)):
                raise of.refuse("subtrahend", f"is {short(v)}", f"{len(state.values)} numbers, one a channel")
        for c, channel in enumerate(state.values):
            part(channel, *(None if v is None else v[c] for v in given))

    return step


def scale(of: Fields) -> Step:
    low, high = (of.get(name, "a number", is_number, default) for name, default in (("minv", 0.0), ("maxv", 1.0)))
    of.get("factor", "null", lambda v: v is None, None)
    each = of.get("channel_wise", "true or false", is_flag, False)

    def part(values: Floats) -> None:
        least, most = values.min(), values.max()
        if least == most:
            values *= low
            return
        values -= least
        values /= most - least
        values *= high - low
        values += low

    def step(state: State, _: int) -> None:
        for values in state.values if each else (state.values,):
            part(values)

    return step


def threshold(of: Fields) -> Step:
    limit, fill = of.get("threshold", "a number", is_number), of.get("cval", "a number", is_number, 0.0)
    above = of.get("above", "true or false", is_flag, True)

    def step(state: State, _: int) -> None:
        state.values[(state.values <= limit) if above else (state.values >= limit)] = fill

    return step


def crop_foreground(of: Fields) -> Step:
    of.get("source_key", '"image"', lambda v: v == "image")
    of.get("margin", "0", lambda v: v == 0, 0)
    of.get("k_divisible", "1", lambda v: v == 1, 1)
    of.get("select_fn", "the default, values above 0", lambda v: False, None)
    of.get("channel_indices", "null", lambda v: v is None, None)

    def step(state: State, _: int) -> None:
        inside = (state.values > 0).any(axis=0)
        if not inside.any():
            raise CaseError("has no value above 0, to which CropForegroundd would crop it")
        box = resample.bounds(inside)
        shape = inside.shape
        state.values = state.values[(slice(None), *box)]
        if state.resampled:
            state.back = [inserted(b or resample.at(n, np.arange(n, dtype=float), 0), part) for b, n, part in zip(state.back, shape, box)]
            return

        def back(made: Any) -> Any:
            whole = np.zeros(shape, made.dtype)
            whole[box] = made
            return whole

        state.undo.append(back)

    return step


def inserted(line: Line, part: slice) -> Line:
    """A resampling of a part whose surroundings are 0."""
    inside = (line.places >= part.start) & (line.places < part.stop)
    n = part.stop - part.start
    return Line(n, np.clip(line.places - part.start, 0, n - 1), line.weights * inside)


PREPARE: dict[str, Callable[[Fields], Step]] = {
    "Orientation": orientation,
    "Spacing": spacing,
    "ScaleIntensityRange": scale_range,
    "NormalizeIntensity": normalise,
    "ScaleIntensity": scale,
    "ThresholdIntensity": threshold,
    "CropForeground": crop_foreground,
}
FINISH = ("Activations", "Invert", "AsDiscrete", "KeepLargestConnectedComponent", "SaveImage")


@dataclass
class After:
    """What is done with the network's values."""

    activation: str | None = None  # "softmax" or "sigmoid"
    threshold: float | None = None  # else the greatest channel
    decided: bool = False
    nearest: bool = False  # labels are made first, and then resampled
    inverted: bool = False
    late: bool = False  # the activation stands behind the resampling
    largest: list[int] | None = None


@dataclass
class Recipe:
    """A bundle's inference."""

    path: str
    channels: int
    heads: int
    steps: list[Step]
    names: list[str]
    after: After
    options: dict[str, Any]
    pixdim: list[float] = field(default_factory=lambda: [0.0] * 3)  # voxel sizes of Spacingd; 0: the image's
    suffix: str = ""  # that of the images
    configuration: str = ""
    segmentation: None = None
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reader: images.Reader = images.Reader(lambda path: read_xyz(path), lambda path, made, image: write_xyz(path, made, image), (".nii.gz", ".nii", *images.IMAGES))

    def describe(self) -> str:
        return f"{self.path}: {', '.join(self.names)}"

    def bytes_to_prepare(self, image: Image) -> int:
        """At most: the channels before and after they are resampled, and of one what is between two axes."""
        old = math.prod(image.values.shape[1:])
        grown = math.prod(max(1.0, s / w) if w > 0 else 1.0 for s, w in zip(image.spacing, self.pixdim))
        return int(4 * old * grown * (2 * self.channels + 1))

    @property
    def inputs(self) -> int:
        """Channels of the network."""
        return self.channels

    def prepare(self, image: Image, threads: int, before: None = None) -> Prepared:
        state = State(image.values, np.array(image.place["affine"], np.float64), nearest=self.after.nearest)
        for step in self.steps:
            step(state, threads)
        return Prepared(np.ascontiguousarray(state.values), state.back, state.undo)

    def seen_through(self, prepared: Prepared, mask: Any) -> None:
        """All: a bundle's network runs everywhere."""

    def sink(self, prepared: Prepared, half: bool, threads: int) -> labels.LabelSink:
        a = self.after
        decide = labels.greatest
        if a.threshold is not None:  # MONAI's are greater or equal; of the sigmoid behind resampling, its inverse
            least = math.log(a.threshold / (1 - a.threshold)) if a.late and a.activation else a.threshold
            decide = labels.in_order([1], float(np.nextafter(np.float32(least), np.float32(-np.inf))))
        return labels.LabelSink(prepared.back, decide, self.heads, False, threads)

    def finish(self, prepared: Prepared, sink: labels.LabelSink) -> npt.NDArray[Any]:
        made = sink.finish()
        for back in reversed(prepared.undo):
            made = back(made)
        if self.after.largest is not None:
            made = largest_only(made, self.after.largest)
        return np.ascontiguousarray(made)


@dataclass
class Prepared:
    values: Floats
    back: list[Line | None]
    undo: list[Callable[[Any], Any]]


def largest_only(made: npt.NDArray[Any], which: Sequence[int]) -> npt.NDArray[Any]:
    """Of each of these labels the largest part that hangs together, over corners too."""
    from scipy.ndimage import label

    made = made.copy()
    for value in which or range(1, int(made.max()) + 1):
        parts, count = label(made == value, np.ones((3, 3, 3)))
        if count > 1:
            sizes = np.bincount(parts.ravel())
            made[(parts > 0) & (parts != int(sizes[1:].argmax()) + 1)] = 0
    return made


def read_xyz(path: str) -> images.Read:
    """As MONAI's readers: axes x, y, z, and an affine to right, anterior, superior."""
    if images.suffix_of(path) in (".nii", ".nii.gz"):
        values, size, place = images.read_nibabel(path)
        return values.transpose(2, 1, 0), size[::-1], place  # type: ignore[return-value]
    values, size, place = images.read_itk(path)
    if values.ndim != 3:
        raise CaseError(f"{path}: has {values.ndim} dimensions: expected 3")
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(place["direction"], (3, 3)) * np.asarray(place["spacing"])
    affine[:3, 3] = place["origin"]
    place["affine"] = np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
    return values.transpose(2, 1, 0), size[::-1], place  # type: ignore[return-value]


def write_xyz(path: str, made: Any, image: Image) -> None:
    turned = made.transpose(2, 1, 0)
    images.write_itk(path, turned, image) if "direction" in image.place else images.write_nibabel(path, turned, image)


# Reading configurations. MONAI's are programs in part: what begins with $ is Python. Of these only literal values are taken.


def is_one(path: str) -> bool:
    """Whether a file is a bundle's inference and not plans."""
    if not path.endswith(".json"):
        return False
    config = load_json(path, "a recipe: plans.json of nnU-Net 2, or " + WHAT)
    return "inferer" in config or "preprocessing" in config


class Config:
    """A configuration whose references are looked up."""

    def __init__(self, path: str) -> None:
        self.path, self.values = path, load_json(path, WHAT)

    def look_up(self, reference: str, depth: int) -> Any:
        value: Any = self.values
        for part in re.split(r"::|#", reference):
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (KeyError, ValueError, IndexError, TypeError):
                raise CaseError(f"{self.path}: @{reference} refers to nothing") from None
        return self.resolve(value, depth + 1)

    def resolve(self, value: Any, depth: int = 0) -> Any:
        """References and literals by their values; what is an expression stays as it is."""
        if depth > 30:
            raise CaseError(f"{self.path}: references go round in a circle")
        if isinstance(value, dict):
            return {k: self.resolve(v, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [self.resolve(v, depth + 1) for v in value]
        if isinstance(value, str) and re.fullmatch(r"\$?@[\w#:]+", value):
            return self.look_up(value.lstrip("$@"), depth)
        if isinstance(value, str) and value.startswith("$"):
            try:
                made = ast.literal_eval(value[1:].strip())
                return list(made) if isinstance(made, tuple) else made
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return value
        return value

    def transforms(self, name: str) -> list[tuple[str, Fields]]:
        """The name of each without its d, and its fields."""
        compose = Fields(self.path, "", self.values).inside(name, 'an object with "_target_": "Compose"')
        compose.get("_target_", '"Compose"', lambda v: v in ("Compose", "monai.transforms.Compose"))
        listed = compose.get("transforms", "a list of transforms", lambda v: isinstance(v, list) or is_text(v))
        if is_text(listed):
            listed = self.resolve(listed)
            if not isinstance(listed, list):
                raise compose.refuse("transforms", f"is {short(listed)}", "a list of transforms")
        made = []
        for i, transform in enumerate(listed):
            of = Fields(self.path, f"{name}.transforms[{i}]", transform if isinstance(transform, dict) else {})
            target = of.get("_target_", "the name of a transform", is_text).rsplit(".", 1)[-1]
            if of.values.get("_disabled_") is True:
                continue
            bare = re.sub(r"(d|D|Dict)$", "", target)
            made.append((bare, Fields(self.path, of.name, {k: v if bare == "Invert" else self.resolve(v) for k, v in of.values.items()})))
        return made


def load(path: str, patch: tuple[int, ...], channels: int, heads: int) -> Recipe:
    """The inference of a bundle, for a network of that patch, x, y, z, of so many channels in and out."""
    config = Config(path)
    steps, names, sizes = [], [], [0.0] * 3
    for name, of in config.transforms("preprocessing"):
        if name in PLAIN:
            continue
        if name not in PREPARE:
            raise CaseError(f"{path}: {of.name} is {of.values['_target_']}: expected {', '.join(n + 'd' for n in PREPARE)}, or those that only load and convert")
        steps.append(PREPARE[name](of))
        if name == "Spacing":
            sizes = sizes_of(of)
        names.append(of.values["_target_"].rsplit(".", 1)[-1])
    after = finishing(config)
    options = window(config, patch)
    if after.threshold is not None and heads > 1:
        raise CaseError(f"{path}: AsDiscreted's threshold makes {heads} masks of the network's {heads} channels: expected argmax, or a network of one channel")
    if after.threshold is not None and after.late and (after.activation != "sigmoid" or not 0 < after.threshold < 1):
        raise CaseError(f"{path}: a threshold behind Invertd and Activationsd: expected sigmoid, and a threshold between 0 and 1")
    if after.activation and not after.late and not (after.nearest and after.threshold is None):  # the greatest is so before and after
        options[after.activation] = True
    return Recipe(path, channels, heads, steps, names, after, options, sizes, files=[path])


def window(config: Config, patch: tuple[int, ...]) -> dict[str, Any]:
    """The sliding window as options of infer."""
    inferer = Fields(config.path, "", config.values).inside("inferer", 'an object with "_target_": "SlidingWindowInferer"')
    of = Fields(config.path, inferer.name, config.resolve(inferer.values))
    names = ("SlidingWindowInferer", "SlidingWindowInfererAdapt")
    of.get("_target_", '"SlidingWindowInferer"', lambda v: is_text(v) and v.rsplit(".", 1)[-1] in names)
    roi = of.get("roi_size", "the network's patch", lambda v: is_count(v) or all_of(lambda n: isinstance(n, int), 1, 3)(v))
    roi = roi if isinstance(roi, list) else [roi] * len(patch)
    if tuple(roi) != patch:
        raise of.refuse("roi_size", f"is {roi}", f"the network's patch, {list(patch)}: compile the network for that of the bundle")
    share = lambda v: is_number(v) and 0 <= v < 1  # noqa: E731
    overlap = of.get("overlap", "a part from 0 to below 1", lambda v: share(v) or all_of(share, len(patch), len(patch))(v), 0.25)
    mode = of.get("mode", '"constant" or "gaussian"', lambda v: v in ("constant", "gaussian"), "constant")
    of.get("sigma_scale", "0.125", lambda v: v in (0.125, [0.125]), 0.125)
    padding = of.get("padding_mode", '"constant" or "reflect"', lambda v: v in ("constant", "reflect"), "constant")
    of.get("cval", "0", lambda v: v == 0, 0)
    options: dict[str, Any] = {"tiling": "monai", "blend": mode, "overlap": [float(v) for v in overlap] if isinstance(overlap, list) else float(overlap)}
    if padding == "reflect":
        options["border"] = "mirror"
    return options


def finishing(config: Config) -> After:
    after = After()
    for name, of in config.transforms("postprocessing"):
        if name in PLAIN or name == "SaveImage":
            continue
        if name == "Activations":
            activation(after, of)
        elif name == "Invert":
            of.get("nearest_interp", "true or false", is_flag, True)
            after.inverted = True
            after.nearest = after.decided
            if after.decided != of.values.get("nearest_interp", True):
                said = "labels are interpolated" if after.decided else "probabilities are taken from the nearest voxel"
                raise of.refuse("nearest_interp", f"does not fit: {said}", "true behind AsDiscreted, and false before it")
        elif name == "AsDiscrete":
            discrete(after, of)
        elif name == "KeepLargestConnectedComponent":
            component(after, of)
        else:
            raise CaseError(f"{of.path}: {of.name} is {of.values['_target_']}: expected {', '.join(n + 'd' for n in FINISH)}")
    if not after.decided:
        raise CaseError(f"{config.path}: postprocessing has no AsDiscreted with argmax or threshold: expected one, for labels are written")
    return after


def activation(after: After, of: Fields) -> None:
    if after.decided:
        raise of.refuse("_target_", "stands behind AsDiscreted", "it before")
    chosen = [name for name in ("softmax", "sigmoid") if of.get(name, "true or false", lambda v: v in (True, False, None, [True], [False]), False) in (True, [True])]
    if len(chosen) != 1 or of.values.get("other") is not None:
        raise of.refuse("_target_", "is not one of softmax and sigmoid", "one of them")
    after.activation, after.late = chosen[0], after.inverted


def discrete(after: After, of: Fields) -> None:
    if after.decided:
        raise of.refuse("_target_", "is a second AsDiscreted", "one")
    one = lambda v: v[0] if isinstance(v, list) and len(v) == 1 else v  # noqa: E731
    argmax = one(of.get("argmax", "true or false", lambda v: one(v) in (True, False, None), False))
    limit = one(of.get("threshold", "a number", lambda v: one(v) is None or is_number(one(v)), None))
    of.get("to_onehot", "null", lambda v: one(v) is None, None)
    if bool(argmax) == (limit is not None):
        raise of.refuse("argmax", "and threshold are both there, or neither", "one of them")
    after.threshold = None if argmax else limit
    after.decided = True


def component(after: After, of: Fields) -> None:
    if not (after.decided and after.inverted):
        raise of.refuse("_target_", "stands before Invertd or AsDiscreted", "it behind both")
    of.get("is_onehot", "false or null", lambda v: v in (None, False), None)
    of.get("independent", "true", lambda v: v is True, True)
    of.get("connectivity", "null or 3", lambda v: v in (None, 3), None)
    of.get("num_components", "1", lambda v: v == 1, 1)
    which = of.get("applied_labels", "labels", lambda v: v is None or is_count(v) or all_of(is_count, 1, 1000)(v), None)
    after.largest = [which] if isinstance(which, int) else which or []
