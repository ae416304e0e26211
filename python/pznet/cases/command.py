"""`pznet infer` of cases and recipes: the command hands over its options as JSON, as it does for stores (stores_command.py)."""

from __future__ import annotations

import inspect
import os
import time
from typing import Any

from .. import inferring
from .._net import Error
from ..network import Network
from ..stores_command import INPUT, INTERRUPTED, RUN, JsonLines, say, size, write_report
from . import bundle, nnunet
from .folder import Case, Record, Work, digest, find, suffix_of_images
from .images import CaseError

FREE = {"augment", "overlap", "blend", "sums", "nan", "threads", "memory", "overwrite", "resume", "ensemble", "mask"}  # what a recipe leaves open


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
    if channels != made.channels:
        raise CaseError(f"{path}: names {made.channels} channel{'s' * (made.channels != 1)}: the network takes {channels}")
    if heads != made.heads:
        raise CaseError(f"{path}: its labels want {made.heads} channels: the network gives {heads}")
    if net.inputs[0].type not in ("f32", "bf16", "f16"):
        raise CaseError(f"the network takes values of {net.inputs[0].type}: a recipe wants float32")
    return made


def options_of(recipe: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Of inferring.run: the recipe's, and what it leaves open as it was given."""
    plain = defaults()
    for name, value in given.items():
        if name not in FREE and value not in (plain.get(name), None, False) and not (name == "box" and all(v == [0, None] for v in value)):
            raise CaseError(f"--{name.replace('_', '-')}: the recipe says how; with --recipe there are --{', --'.join(sorted(FREE - {'overwrite'}))} and --no-overwrite")
    options = {name: plain[name] for name in inspect.signature(inferring.run).parameters if name in plain}
    options.update(recipe.options)
    for name in ("overlap", "blend", "sums", "nan", "threads"):
        if given.get(name) not in (plain[name], None):
            options[name] = given[name]
    if given.get("augment"):
        options["augment"] = None if given["augment"] == "none" else given["augment"]
    for name in ("out", "progress", "memory", "mask", "overwrite", "resume"):
        options.pop(name, None)
    return {**options, "overwrite": True, "resume": False, "ensemble": None}


class Run:
    """A run of the command."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked, self.quiet = asked, asked["quiet"]
        self.start = time.monotonic()
        self.reports: list[dict[str, Any]] = []
        self.failed = 0
        given = asked["options"]
        ensemble = given["ensemble"] or []
        self.nets = [Network(asked["network"], given["threads"], digest=asked["digest"]), *(Network(path, given["threads"]) for path in ensemble)]
        for path, net in zip(ensemble, self.nets[1:]):
            if net.inputs != self.nets[0].inputs or [p.shape for p in net.outputs] != [p.shape for p in self.nets[0].outputs]:
                raise CaseError(f"{path}: has other inputs or outputs than {asked['network']}: an ensemble's networks have the same")
        self.recipe = load_recipe(asked["recipe"], asked.get("configuration"), self.nets[0])
        options = options_of(self.recipe, given)
        progress = JsonLines() if asked["progress"] == "json" else not self.quiet
        self.work = Work(self.recipe, self.nets, options, self.nets[0].threads, progress, self.planned, mask=given["mask"], memory=given["memory"])
        self.made_by = {
            "networks": [digest([path]) for path in (asked["network"], *ensemble)],
            "recipe": digest(self.recipe.files),
            "options": {**options, "configuration": self.recipe.configuration, "version": asked["version"]},
        }
        self.made_by["options"].pop("threads")
        if given["mask"]:
            self.made_by["mask"] = given["mask"]

    def say(self, text: str) -> None:
        if not self.quiet:
            say(text)

    def planned(self, plan: dict[str, Any], case: Case) -> None:
        shape = " x ".join(map(str, plan["input"]["shape"]))
        self.say(f"{case.name}: {shape} voxels for the network, {plan['patches']} patches, peak memory about {size(plan['peak_bytes'])}")

    def all(self) -> int:
        self.recipe.suffix = self.recipe.suffix or suffix_of_images(self.asked["input"], self.recipe.reader.suffixes)
        cases = find(self.asked["input"], self.asked["output"], self.recipe.suffix, self.recipe.channels)
        os.makedirs(os.path.dirname(cases[0].output) or ".", exist_ok=True)
        self.say(self.recipe.describe())
        for note in self.recipe.notes:
            self.say(f"pznet: note: {note}")
        left = [(case, record) for case in cases for record in [Record(case, self.made_by)] if self.wanted(case, record)]
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
                raise CaseError(f"{case.output}: exists, {there}; --no-overwrite keeps it: name another folder")
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
        except (CaseError, Error, ValueError, MemoryError, OSError) as error:
            self.failed += 1
            say(f"pznet: {case.name}: {error or type(error).__name__}")
            self.reports.append({"case": case.name, "output": case.output, "error": str(error)})
            return
        for note in report["notes"]:
            self.say(f"pznet: note: {note}")
        self.say(f"{case.output}: {report['patches']} patches in {report['seconds']['total']:.1f} s, labels {', '.join(map(str, report['labels']))}")
        self.reports.append(report)

    def end(self, count: int, before: int) -> int:
        if self.asked["json"]:
            write_report(self.asked["json"], {"recipe": self.recipe.path, "configuration": self.recipe.configuration, "cases": self.reports,
                                              "failed": self.failed, "seconds": time.monotonic() - self.start})
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
    except (CaseError, Error, ValueError) as error:
        say(f"pznet: {error}")
        return INPUT
    except (MemoryError, OSError, RuntimeError) as error:
        say(f"pznet: {error or type(error).__name__}")
        return RUN
