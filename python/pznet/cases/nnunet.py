"""nnU-Net's plans as a recipe: what nnUNetv2_predict does before and after its network (nnunetv2 2.8.1; Isensee et al., Nature Methods 2021).

Images are transposed, cropped to what is not zero, normalised, resampled to the plans' voxel size; the network runs in nnU-Net's own tiling; its
values are resampled back, decided, and put in the place that was cropped. Orders of steps and types are nnU-Net's, so labels are.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

from . import images, labels, resample
from .checked import Fields, all_of, is_count, is_flag, is_number, is_text, load_json
from .images import CaseError, Image
from .resample import Line

ANISOTROPIC = 3  # nnU-Net's ANISO_THRESHOLD: how much longer voxels are along one axis, for that axis to be resampled by itself
Floats = npt.NDArray[np.float32]
Normalise = Callable[[Floats, "npt.NDArray[np.bool_] | None", dict[str, float]], Floats]


def z_score(image: Floats, mask: npt.NDArray[np.bool_] | None, _: dict[str, float]) -> Floats:
    if mask is None:
        mean, deviation = image.mean(), image.std()
        image = image - mean
        image /= max(deviation, 1e-8)
        return image
    inside = image[mask]
    mean, deviation = inside.mean(), inside.std()
    image = image.copy()
    image[mask] = (inside - mean) / max(deviation, 1e-8)
    return image


def ct(image: Floats, _: npt.NDArray[np.bool_] | None, found: dict[str, float]) -> Floats:
    image = np.clip(image, found["percentile_00_5"], found["percentile_99_5"])
    image -= found["mean"]
    image /= max(found["std"], 1e-8)
    return image


def to_0_1(image: Floats, _: npt.NDArray[np.bool_] | None, __: dict[str, float]) -> Floats:
    image = image - image.min()
    image /= np.clip(image.max(), a_min=1e-8, a_max=None)
    return image


def rgb(image: Floats, _: npt.NDArray[np.bool_] | None, __: dict[str, float]) -> Floats:
    if image.min() < 0 or image.max() > 255:
        raise CaseError("RGBTo01Normalization wants values from 0 to 255: these images are no RGB images")
    return image / np.float32(255)


SCHEMES: dict[str, Normalise] = {
    "ZScoreNormalization": z_score,
    "CTNormalization": ct,
    "NoNormalization": lambda image, _, __: image,
    "RescaleTo01Normalization": to_0_1,
    "RGBTo01Normalization": rgb,
}


@dataclass(frozen=True)
class Resampling:
    """How volumes are resampled, as the plans say; half: what comes out is of the type that went in."""

    order: int
    order_z: int
    separate_z: bool | None  # None: where voxels are much longer along one axis
    threshold: float
    clip: bool
    half: bool

    def lines(self, shape: Sequence[int], target: Sequence[int], spacing: Sequence[float], wanted: Sequence[float]) -> tuple[list[Line | None], int | None]:
        """Of each axis; and the axis that is resampled by itself."""
        axis = self.axis(spacing, wanted)
        return [resample.centred(n, m, self.order_z if i == axis else self.order) for i, (n, m) in enumerate(zip(shape, target))], axis

    def axis(self, spacing: Sequence[float], wanted: Sequence[float]) -> int | None:
        if self.separate_z is False:
            return None
        for tried in (spacing,) if self.separate_z else (spacing, wanted):
            if self.separate_z or max(tried) / min(tried) > self.threshold:
                longest = [i for i, s in enumerate(tried) if max(tried) / s == 1]
                return longest[0] if len(longest) == 1 else None
        return None

    def apply(self, values: Floats, target: Sequence[int], spacing: Sequence[float], wanted: Sequence[float], threads: int) -> Floats:
        lines, axis = self.lines(values.shape, target, spacing, wanted)
        if axis is None:
            return resample.volume(values, lines, "volume" if self.clip else None, threads)
        front = across(axis)
        made = resample.volume(values.transpose(front), [lines[i] for i in front], "plane" if self.clip else None, threads)
        return made.transpose(np.argsort(front))


def across(axis: int) -> list[int]:
    """The order of axes in which planes lie across that one."""
    return [axis, *(i for i in range(3) if i != axis)]


def labels_resampled(how: Resampling, seg: npt.NDArray[Any], target: Sequence[int], spacing: Sequence[float], wanted: Sequence[float], threads: int) -> npt.NDArray[Any]:
    """Labels at another voxel size: each by itself, linearly, and the greatest wins; of equals the one that is nearest (batchgenerators 0.25.5)."""
    lines, axis = how.lines(seg.shape, target, spacing, wanted)
    front = across(axis or 0)
    turned, along = seg.transpose(front), [lines[i] for i in front]
    within = along if axis is None else [None, *along[1:]]
    nearest = taken(turned, [line and resample.centred(line.n, line.m, 0) for line in within])
    made, best = np.empty(nearest.shape, seg.dtype), np.full(nearest.shape, -1.0)
    for label in np.unique(seg):
        score = resample.volume((turned == label).astype(np.float64), within, "volume", threads, np.float64)
        wins = (score > best) | ((score == best) & (nearest == label))
        made[wins] = label
        np.maximum(best, score, out=best)
    if axis is not None:
        made = taken(made, [along[0], None, None])
    return made.transpose(np.argsort(front))


def taken(values: npt.NDArray[Any], lines: Sequence[Line | None]) -> npt.NDArray[Any]:
    """Resampled by lines of one tap."""
    for axis, line in enumerate(lines):
        if line is not None:
            values = np.take(values, line.places[:, 0], axis)
    return values


@dataclass
class Prepared:
    """What a network runs on, [c, z, y, x], and how its labels find back."""

    values: Floats
    back: list[Line | None]
    cropped: tuple[slice, ...]
    whole: tuple[int, ...]


@dataclass
class Recipe:
    """Plans, one configuration of them, and the dataset's labels."""

    path: str
    configuration: str
    channels: int
    suffix: str
    reader: images.Reader
    forward: list[int]
    spacing: list[float]
    schemes: list[str]
    masked: list[bool]
    found: list[dict[str, float]]
    data: Resampling
    probabilities: Resampling
    segmentation: Resampling | None  # of the second stage of a cascade: how the labels of the first are resampled
    foreground: list[int]  # labels, each of which such a network takes as a channel
    regions: list[int] | None  # the label of each channel, in the order in which they are put
    heads: int
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=lambda: {"tiling": "nnunet", "augment": "mirror"})

    @property
    def inputs(self) -> int:
        """Channels of the network."""
        return self.channels + (len(self.foreground) if self.segmentation else 0)

    def describe(self) -> str:
        size = " x ".join(f"{s:g}" for s in self.spacing)
        return f"{self.path}: {self.configuration}, voxels of {size}, {', '.join(sorted(set(self.schemes)))}, {self.heads} {'regions' if self.regions else 'classes'}"

    def sizes(self, image: Image) -> tuple[list[float], list[float]]:
        """Of a voxel of the image, in the network's order of axes, and what they become; two dimensions leave the first."""
        spacing = [image.spacing[i] for i in self.forward]
        return spacing, [*spacing[: 3 - len(self.spacing)], *self.spacing]

    def bytes_to_prepare(self, image: Image) -> int:
        """At most: the result, and of a channel copies and what is between two axes."""
        old = math.prod(image.values.shape[1:])
        spacing, wanted = self.sizes(image)
        new = math.prod(n * max(1, s / w) for n, s, w in zip([image.values.shape[1 + i] for i in self.forward], spacing, wanted))
        return int(4 * (self.inputs * new + 2 * old + new) + old + (16 * new + 10 * old if self.segmentation else 0))

    def prepare(self, image: Image, threads: int, before: npt.NDArray[Any] | None = None) -> Prepared:
        """before: the labels of the first stage [z, y, x], where this is the second."""
        values = image.values.transpose(0, *(i + 1 for i in self.forward))
        spacing, wanted = self.sizes(image)
        whole = values.shape[1:]
        mask = values[0] != 0
        for channel in values[1:]:
            mask |= channel != 0
        box = resample.bounds(mask)
        values = values[(slice(None), *box)]
        inside = filled(mask[box]) if any(self.masked) or self.segmentation else None
        del mask
        seg = None
        if self.segmentation:
            assert before is not None and inside is not None
            seg = before.transpose(self.forward)[box].astype(np.int16)
            seg[(seg == 0) & ~inside] = -1
            inside = seg >= 0  # as nnU-Net: what has a label is inside
        target = [int(round(s / w * n)) for s, w, n in zip(spacing, wanted, values.shape[1:])]
        if not all(target):
            raise CaseError(f"the image has {' x '.join(map(str, values.shape[1:]))} voxels of {shown(spacing)}: at {shown(wanted)} nothing is left of it")
        if math.prod(target) > 2**34:
            raise CaseError(f"at voxels of {shown(wanted)} the image has {' x '.join(map(str, target))} of them: its voxel size, {shown(spacing)}, is hardly right")
        made = np.empty((self.inputs, *target), np.float32)
        for c in range(self.channels):
            channel = SCHEMES[self.schemes[c]](values[c], inside if self.masked[c] else None, self.found[c])
            made[c] = self.data.apply(channel, target, spacing, wanted, threads)
        if self.segmentation:
            seg = labels_resampled(self.segmentation, seg, target, spacing, wanted, threads)
            for i, label in enumerate(self.foreground):
                made[self.channels + i] = seg == label
        back, _ = self.probabilities.lines(target, values.shape[1:], wanted, spacing)
        return Prepared(made, back, box, whole)

    def seen_through(self, prepared: Prepared, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
        """Where the network's values count for what is inside of a mask of the image."""
        made = mask.transpose(self.forward)[prepared.cropped].astype(np.float32)
        return resample.reached(made, prepared.back)

    def sink(self, prepared: Prepared, half: bool, threads: int) -> labels.LabelSink:
        """half: the sums are of half precision, as nnU-Net's are."""
        decide = labels.in_order(self.regions) if self.regions else labels.greatest
        half = half and (self.probabilities.half or all(line is None for line in prepared.back))
        return labels.LabelSink(prepared.back, decide, self.heads, half, threads)

    def finish(self, prepared: Prepared, sink: labels.LabelSink) -> npt.NDArray[Any]:
        made = sink.finish()
        result = np.zeros(prepared.whole, np.uint16 if made.max() >= 255 else np.uint8)
        result[prepared.cropped] = made
        return result.transpose(np.argsort(self.forward))


def shown(spacing: Sequence[float]) -> str:
    return " x ".join(f"{s:.4g}" for s in spacing)


def filled(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    from scipy.ndimage import binary_fill_holes

    made: npt.NDArray[np.bool_] = binary_fill_holes(mask)
    return made


# Reading plans. What is not as expected is refused with the file and the field.


def configuration_of(plans: Fields, name: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """With what it inherits."""
    all_there = plans.inside("configurations", "an object with 3d_fullres or others")
    if name not in all_there.values:
        raise CaseError(f"{plans.path}: has no configuration {name}: expected one of {', '.join(all_there.values)}")
    if name in seen:
        raise CaseError(f"{plans.path}: configurations.{name} inherits from itself")
    own: dict[str, Any] = dict(all_there.inside(name, "an object").values)
    parent = own.get("inherits_from")
    if parent is None:
        return own
    if not isinstance(parent, str):
        raise CaseError(f"{plans.path}: configurations.{name}.inherits_from: expected the name of a configuration")
    return {**configuration_of(plans, parent, (*seen, name)), **own}


def chosen(plans: Fields, asked: str | None, patch: tuple[int, ...]) -> str:
    """The configuration of the network: the one that was named, else the one that has its patch."""
    if asked:
        return asked
    there = plans.inside("configurations", "an object with 3d_fullres or others").values
    fitting = [name for name in there if tuple(configuration_of(plans, name).get("patch_size", ())) == patch and not configuration_of(plans, name).get("previous_stage")]
    if len(fitting) == 1:
        return fitting[0]
    sizes = "; ".join(f"{name} {'x'.join(map(str, configuration_of(plans, name).get('patch_size', '?')))}" for name in there)
    size = "x".join(map(str, patch))
    if fitting:
        raise CaseError(f"{plans.path}: {' and '.join(fitting)} have the network's patch of {size}: choose one with --configuration")
    raise CaseError(f"{plans.path}: no configuration has the network's patch of {size}: it has {sizes}; compile the network for the patch of its plans")


def segmentation(fields: Fields) -> Resampling | None:
    """Of the second stage of a cascade."""
    if not fields.values.get("previous_stage"):
        return None
    fields.get("resampling_fn_seg", '"resample_data_or_seg_to_shape"', lambda v: v == "resample_data_or_seg_to_shape")
    kwargs = Fields(fields.path, f"{fields.name}.resampling_fn_seg_kwargs", fields.get("resampling_fn_seg_kwargs", "an object", lambda v: isinstance(v, dict)))
    kwargs.get("is_seg", "true", lambda v: v is True)
    kwargs.get("order", "1", lambda v: v == 1)
    kwargs.get("order_z", "0", lambda v: v == 0, 0)
    return Resampling(1, 0, *apart(kwargs, False), True, False)


def apart(kwargs: Fields, default: bool | None) -> tuple[bool | None, float]:
    """Whether an axis of long voxels is resampled by itself, and how much longer they are then."""
    separate = kwargs.get("force_separate_z", "null, true or false", lambda v: v is None or isinstance(v, bool), default)
    return separate, kwargs.get("separate_z_anisotropy_threshold", "a number", is_number, ANISOTROPIC)


def resampling(fields: Fields, what: str) -> Resampling:
    name = fields.get(f"resampling_fn_{what}", "the name of a function of nnU-Net", is_text, "resample_data_or_seg_to_shape")
    given = fields.get(f"resampling_fn_{what}_kwargs", "an object", lambda v: isinstance(v, dict), {})
    kwargs = Fields(fields.path, f"{fields.name}.resampling_fn_{what}_kwargs", given)
    kwargs.get("is_seg", "false", lambda v: v is False, False)
    torch = name == "resample_torch_fornnunet"
    separate, threshold = apart(kwargs, None if torch else False)
    if torch:
        kwargs.get("mode", '"linear"', lambda v: v == "linear", "linear")
        kwargs.get("aniso_axis_mode", '"nearest-exact"', lambda v: v == "nearest-exact", "nearest-exact")
        return Resampling(1, 0, separate, threshold, False, False)
    if name != "resample_data_or_seg_to_shape":
        raise CaseError(f"{fields.path}: {fields.name}.resampling_fn_{what} is {name}: expected resample_data_or_seg_to_shape or resample_torch_fornnunet")
    orders = (0, 1, 3) if what == "data" else (0, 1)
    expected = "0, 1 or 3" if what == "data" else "0 or 1"
    order = Fields(fields.path, kwargs.name, {"order": 3, **given}).get("order", expected, lambda v: is_count(v) and v in orders)
    order_z = kwargs.get("order_z", expected, lambda v: is_count(v) and v in orders, 0)
    return Resampling(order, order_z, separate, threshold, True, True)


def labels_of(dataset: Fields) -> tuple[list[int] | None, int, list[int]]:
    """Of regions the label of each in its order, else None; how many channels the network gives; and all labels but the background."""
    there = dataset.inside("labels", 'an object with "background": 0 and others').values
    good = lambda v: is_count(v) and v < 65535 or isinstance(v, list) and v and all(is_count(i) and i < 65535 for i in v)  # noqa: E731
    for name, value in there.items():
        if not good(value):
            raise CaseError(f"{dataset.path}: labels.{name} is {json.dumps(value)[:80]}: expected a label, or for regions a list of them")
    if there.get("background") != 0:
        raise CaseError(f"{dataset.path}: labels.background: expected 0")
    sets = {name: sorted(set(value)) if isinstance(value, list) else [value] for name, value in there.items() if name != "ignore"}
    every = sorted({v for values in sets.values() for v in values})
    foreground = [v for v in every if v]
    if not any(isinstance(v, list) and len(v) > 1 for v in there.values()):
        return None, len(every), foreground
    count = sum(values != [0] for values in sets.values())
    order = dataset.get("regions_class_order", f"{count} labels, one a region", all_of(is_count, count, count))
    return order, count, foreground


def load(path: str, patch: tuple[int, ...], configuration: str | None = None) -> Recipe:
    """Plans (or the folder where they lie), for a network of that patch: z, y, x, or y, x. dataset.json lies beside them, as nnU-Net has it."""
    if path.endswith(".pkl"):
        raise CaseError(f"{path}: plans of nnU-Net 1, which are not read: expected plans.json of nnU-Net 2 (nnUNetv2)")
    plans = Fields(path, "", load_json(path, "plans.json of nnU-Net 2"))
    beside = os.path.join(os.path.dirname(path) or ".", "dataset.json")
    dataset = Fields(beside, "", load_json(beside, "dataset.json of nnU-Net, which says channels and labels and lies beside plans.json"))
    name = chosen(plans, configuration, patch)
    c = Fields(path, f"configurations.{name}", configuration_of(plans, name))
    own = tuple(c.get("patch_size", "two or three sizes", all_of(lambda v: is_count(v) and v > 0, 2, 3)))
    if own != patch:
        raise CaseError(f"{path}: {c.name}.patch_size is {'x'.join(map(str, own))}, the network's {'x'.join(map(str, patch))}: compile the network for the patch of its plans")
    c.get("preprocessor_name", '"DefaultPreprocessor"', lambda v: v == "DefaultPreprocessor", "DefaultPreprocessor")
    reader = dataset.values.get("overwrite_image_reader_writer", "None")
    reader = plans.get("image_reader_writer", "one of " + ", ".join(images.READERS), lambda v: v in images.READERS) if reader not in images.READERS else reader
    suffix = dataset.get("file_ending", f"one of {', '.join(images.READERS[reader].suffixes)}, which {reader} reads", lambda v: v in images.READERS[reader].suffixes)
    names = dataset.get("channel_names" if "channel_names" in dataset.values else "modality", 'an object as {"0": "CT"}', lambda v: isinstance(v, dict) and 0 < len(v) < 10000)
    channels = len(names)
    schemes = c.get("normalization_schemes", f"{channels} of {', '.join(SCHEMES)}: one a channel", all_of(lambda v: v in SCHEMES, channels, channels))
    masked = c.get("use_mask_for_norm", f"{channels} times true or false", all_of(is_flag, channels, channels))
    key = next((k for k in ("foreground_intensity_properties_per_channel", "foreground_intensity_properties_by_modality") if k in plans.values), "foreground_intensity_properties_per_channel")
    found = [intensities(plans, key, i, scheme) for i, scheme in enumerate(schemes)]
    regions, heads, foreground = labels_of(dataset)
    forward = plans.get("transpose_forward", "an order of 0, 1 and 2", lambda v: isinstance(v, list) and sorted(map(str, v)) == ["0", "1", "2"])
    spacing = c.get("spacing", f"{len(own)} sizes of a voxel", all_of(lambda v: is_number(v) and v > 0, len(own), len(own)))
    recipe = Recipe(path, name, channels, suffix, images.READERS[reader], forward, spacing, schemes, masked, found,
                    resampling(c, "data"), resampling(c, "probabilities"), segmentation(c), foreground, regions, heads, [path, beside])
    recipe.notes.append("mirrored along all axes, as nnU-Net's trainer has it; --augment none, or mirror:0,1, for a trainer that does not")
    return recipe


def intensities(plans: Fields, key: str, channel: int, scheme: str) -> dict[str, float]:
    """Of the foreground in training; CT images are clipped and normalised by them."""
    if scheme != "CTNormalization":
        return {}
    of = plans.inside(key, "an object with intensities of each channel").inside(str(channel), "an object with mean, std and percentiles")
    return {name: of.get(name, "a number", is_number) for name in ("mean", "std", "percentile_00_5", "percentile_99_5")}
