"""`pznet infer` of cases and recipes: the command hands over its options as JSON, as it does for stores (stores_command.py)."""

from __future__ import annotations

import inspect
import os
import time
from typing import Any

from .. import inferring
from .._net import Error
from ..itk import ImageError
from ..network import Network
from ..stores_command import INPUT, INTERRUPTED, RUN, USAGE, JsonLines, say, size, write_report
from . import bundle, images, nnunet
from .folder import Case, Record, digest, find, suffix_of_images
from .images import CaseError
from .work import ByOptions, ByRecipe

FREE = {"augment", "overlap", "blend", "sums", "nan", "threads", "memory", "overwrite", "resume", "ensemble", "mask", "preview"}  # what a recipe leaves open
APART = ("out", "threads", "progress", "memory", "overwrite", "resume", "ensemble", "mask", "preview", "box")  # not those of each case's run


def defaults() -> dict[str, Any]:
    return {name: p.default for name, p in inspect.signature(inferring.infer).parameters.items() if p.default is not p.empty}


def patch_of(net: Network) -> tuple[int, ...]:
    if len(net.inputs) != 1 or len(net.outputs) != 1 or len(net.inputs[0].shape) not in (4, 5):
        raise CaseError("a recipe wants a network of one input and one output, with two or three axes in space")
    return tuple(net.inputs[0].shape[2:])


def load_recipe(path: str, configuration: str | None, net: Network) -> Any:
    """nnU-Net's plans.json or the folder where it lies; or a MONAI bundle, or its inference.json."""
    if os.path.isdir(path):
        for name in ("plans.json", "configs/inference.json", "inference.json"):
            if os.path.exists(os.path.join(path, name)):
                return load_recipe(os.path.join(path, name), configuration, net)
        raise CaseError(f"{path}: no recipe is there: expected nnU-Net's plans.json, or a MONAI bundle with configs/inference.json")
    patch = patch_of(net)
    channels, heads = net.inputs[0].shape[1], net.outputs[0].shape[1]
    made: Any = bundle.load(path, patch, channels, heads) if bundle.is_one(path) else nnunet.load(path, patch, configuration)
    if channels != made.inputs:
        labels = f" and {made.inputs - made.channels} label{'s' * (made.inputs - made.channels != 1)} of the stage before" if made.segmentation else ""
        raise CaseError(f"{path}: names {made.channels} channel{'s' * (made.channels != 1)}{labels}: the network takes {channels}")
    if heads != made.heads:
        raise CaseError(f"{path}: its labels want {made.heads} channels: the network gives {heads}")
    if net.inputs[0].type not in ("f32", "bf16", "f16"):
        raise CaseError(f"the network takes values of {net.inputs[0].type}: a recipe wants float32")
    return made


def is_whole(box: Any) -> bool:
    return box is None or all(list(range_of) == [0, None] for range_of in box)


def given_of(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given: others than their defaults."""
    plain = defaults()
    return {name: value for name, value in given.items() if name in plain and value != plain[name] and value is not None and not (name == "box" and is_whole(value))}


def options_of(recipe: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Of each case's run: the recipe's, and what it leaves open as it was given."""
    told = given_of(given)
    if recipe:
        for name in told:
            if name not in FREE:
                free = ", ".join(f"--{name}" for name in sorted(FREE - {"overwrite"}))
                raise ValueError(f"--{name.replace('_', '-')}: the recipe says how; beside --recipe there are {free} and --no-overwrite")
    elif "box" in told:
        raise ValueError("--box is of a volume: cases are computed whole")
    options = defaults() | (recipe.options if recipe else {}) | told
    if options["augment"] == "none":
        options["augment"] = None
    runs = inspect.signature(inferring.run).parameters
    return {name: value for name, value in options.items() if name in runs and name not in APART} | {"threads": None, "box": None, "overwrite": True, "resume": False}


class Run:
    """A run of the command."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked, self.quiet = asked, asked["quiet"]
        self.start = time.monotonic()
        self.reports: list[dict[str, Any]] = []
        self.failed = 0
        given = asked["options"]
        others = given["ensemble"] or []
        nets = [Network(asked["network"], given["threads"], digest=asked["digest"]), *(Network(path, given["threads"]) for path in others)]
        for path, net in zip(others, nets[1:]):
            if [(p.shape, p.type) for p in (*net.inputs, *net.outputs)] != [(p.shape, p.type) for p in (*nets[0].inputs, *nets[0].outputs)]:
                raise CaseError(f"{path}: has other inputs or outputs than {asked['network']}: an ensemble's networks have the same")
        self.recipe = load_recipe(asked["recipe"], asked["configuration"], nets[0]) if asked["recipe"] else None
        options = options_of(self.recipe, given)
        previous = asked["previous"]
        if bool(self.recipe and self.recipe.segmentation) != bool(previous):
            raise ValueError("--previous names the labels of a cascade's first stage: " + ("the recipe is no second stage" if previous else "the recipe's configuration wants them"))
        progress = JsonLines() if asked["progress"] == "json" else not self.quiet
        how = (nets, options, progress, self.planned, given["mask"], given["preview"], given["memory"])
        self.work: Any = ByRecipe(*how, self.recipe, nets[0].threads, previous) if self.recipe else ByOptions(*how)
        self.channels = self.recipe.channels if self.recipe else int(nets[0].inputs[0].shape[1])
        self.made_by = {
            "networks": [net.digest for net in nets],
            "recipe": digest(self.recipe.files) + " " + self.recipe.configuration if self.recipe else None,
            "options": options,
            "version": asked["version"],
        } | ({"mask": given["mask"]} if given["mask"] else {})

    def say(self, text: str) -> None:
        if not self.quiet:
            say(text)

    def planned(self, plan: dict[str, Any], case: Case) -> None:
        shape = " x ".join(map(str, plan["input"]["shape"]))
        self.say(f"{case.name}: {shape} voxels for the network, {plan['patches']} patches, peak memory of these about {size(plan['peak_bytes'])}")

    def all(self) -> int:
        known = self.recipe.reader.suffixes if self.recipe else images.SUFFIXES
        suffix = (self.recipe and self.recipe.suffix) or suffix_of_images(self.asked["input"], known)
        cases = find(self.asked["input"], self.asked["output"], suffix, self.channels)
        os.makedirs(os.path.dirname(cases[0].output) or ".", exist_ok=True)
        if self.work.preview and (len(cases) > 1 or self.work.preview.endswith("/")):
            os.makedirs(self.work.preview, exist_ok=True)
        for note in [self.recipe.describe(), *(f"pznet: note: {note}" for note in self.recipe.notes)] if self.recipe else []:
            self.say(note)
        previous = self.asked["previous"]
        for case in cases:
            path = self.work.of_case(previous, case, suffix)
            if path and not os.path.exists(path):
                raise CaseError(f"{path}: the labels of the stage before are missing")
        left = [(case, record) for case in cases for record in [Record(case, self.made_by, self.work.of_case(previous, case, suffix))] if self.wanted(case, record)]
        before = len(cases) - len(left)
        if before:
            self.say(f"{before} of {len(cases)} case{'s' * (len(cases) != 1)} finished before")
        for i, (case, record) in enumerate(left):
            self.say(f"case {before + i + 1} of {len(cases)}: {case.name}{self.ahead(i, len(left))}")
            self.one(case, record)
        return self.end(len(cases), before)

    def wanted(self, case: Case, record: Record) -> bool:
        there = record.finished()
        if there == "":
            self.reports.append({"case": case.name, "output": case.output, "finished_before": True})
            return False
        if there is not None:
            if not self.asked["options"]["overwrite"]:
                raise CaseError(f"{case.output}: exists ({there}), and --no-overwrite keeps it: name another folder")
            self.say(f"{case.output}: is made anew: {there}")
        return True

    def ahead(self, done: int, count: int) -> str:
        if not done or done == self.failed:
            return ""
        each = (time.monotonic() - self.start) / done
        return f", about {inferring.Bar.duration(each * (count - done))} left for all"

    def one(self, case: Case, record: Record) -> None:
        try:
            report = self.work(case)
            record.write()
        except (CaseError, Error, ValueError, MemoryError, OSError, RuntimeError) as error:
            self.failed += 1
            words = str(error) or type(error).__name__
            say(f"pznet: {words}" if any(path in words for path in (*case.paths, case.output)) else f"pznet: {case.paths[0]}: {words}")
            self.reports.append({"case": case.name, "output": case.output, "error": words})
            return
        for note in report["notes"]:
            self.say(f"pznet: note: {note}")
        labels = f", labels {', '.join(map(str, report['labels']))}" if "labels" in report else ""
        self.say(f"{case.output}: {report['patches']} patches in {report['seconds']['total']:.1f} s{labels}")
        self.reports.append(report)

    def report(self) -> dict[str, Any]:
        of = self.recipe
        return {"recipe": of and of.path, "configuration": of and of.configuration, "cases": self.reports, "failed": self.failed, "seconds": time.monotonic() - self.start}

    def end(self, count: int, before: int) -> int:
        if self.asked["json"]:
            write_report(self.asked["json"], self.report())
        if count > 1:
            done = count - before - self.failed
            self.say(f"{done} case{'s' * (done != 1)} in {inferring.Bar.duration(time.monotonic() - self.start)}" + (f", {self.failed} failed" if self.failed else ""))
        return INPUT if self.failed else 0


def main(asked: dict[str, Any]) -> int:
    try:
        return Run(asked).all()
    except KeyboardInterrupt:
        say("pznet: interrupted; the same command goes on with the cases that are not finished")
        return INTERRUPTED
    except (CaseError, Error, ImageError) as error:
        say(f"pznet: {error}")
        return INPUT
    except ValueError as error:
        say(f"pznet: {error}")
        return USAGE
    except (MemoryError, OSError, RuntimeError) as error:
        say(f"pznet: {error or type(error).__name__}")
        return RUN
