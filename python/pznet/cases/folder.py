"""Cases in folders: CASE_0000 and so on are channels, what comes out has the case's name, and what made it is recorded."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

from . import images
from .images import CaseError

RECORDS = ".pznet-cases"  # in the folder of results: of each case what made it


@dataclass(frozen=True)
class Case:
    name: str
    paths: tuple[str, ...]
    output: str


def channels_of(folder: str, suffix: str) -> dict[str, dict[int, str]]:
    """The files of a folder that are called CASE_0000 and so on, by case and channel."""
    pattern = re.compile(r"(.+)_(\d{4})" + re.escape(suffix), re.DOTALL)
    found: dict[str, dict[int, str]] = {}
    for name in sorted(os.listdir(folder)):
        match = pattern.fullmatch(name)
        if match:
            found.setdefault(match[1], {})[int(match[2])] = os.path.join(folder, name)
    return found


def in_folder(folder: str, suffix: str, channels: int) -> dict[str, tuple[str, ...]]:
    found = channels_of(folder, suffix)
    if not found and channels == 1:  # a file each, without numbers
        names = sorted(name for name in os.listdir(folder) if name.endswith(suffix))
        return {name[: -len(suffix)]: (os.path.join(folder, name),) for name in names}
    for case, there in found.items():
        for c in range(channels):
            if c not in there:
                path = os.path.join(folder, f"{case}_{c:04}{suffix}")
                raise CaseError(f"{folder}: case {case} lacks channel {c} of {channels}: expected {path}")
        if len(there) > channels:
            raise CaseError(f"{there[max(there)]}: case {case} has {len(there)} channels: expected {channels}")
    return {case: tuple(there[c] for c in range(channels)) for case, there in found.items()}


def single(path: str, suffix: str, channels: int) -> tuple[str, tuple[str, ...]]:
    """Of a file: its case, and its channels beside it where it is called CASE_0000."""
    stem = path[: -len(suffix)]
    numbered = re.fullmatch(r"(.+)_0000", stem, re.DOTALL)
    if channels == 1:
        return os.path.basename(numbered[1] if numbered else stem), (path,)
    if not numbered:
        raise CaseError(f"{path}: is one channel of {channels}: expected the first, CASE_0000{suffix}, with the others beside it")
    paths = tuple(f"{numbered[1]}_{c:04}{suffix}" for c in range(channels))
    for c, p in enumerate(paths):
        if not os.path.exists(p):
            raise CaseError(f"{path}: lacks channel {c} of {channels}: expected {p}")
    return os.path.basename(numbered[1]), paths


def suffix_of_images(source: str, known: Sequence[str]) -> str:
    """Of a file, or of the files of a folder, which have one: a recipe that does not say which takes any that is known."""
    try:
        names = sorted(os.listdir(source)) if os.path.isdir(source) else [source]
    except OSError as error:
        raise CaseError(f"{source}: {error.strerror}") from None
    found = sorted({s for s in map(images.suffix_of, names) if s in known})
    if len(found) > 1:
        raise CaseError(f"{source}: holds images that end in {' and in '.join(found)}: expected one kind")
    if not found:
        raise CaseError(f"{source}: expected images that end in {', '.join(known)}")
    return found[0]


def find(source: str, output: str, suffix: str, channels: int) -> list[Case]:
    """The cases of a folder, or the one of a file; and where their results go."""
    if os.path.isdir(source):
        if images.suffix_of(output) and not os.path.isdir(output):
            raise CaseError(f"{output}: the input is a folder, and so is its output: expected the name of a folder")
        found = in_folder(source, suffix, channels)
        if not found:
            raise CaseError(f"{source}: no case is there: expected files called CASE_0000{suffix}" + (f" to CASE_{channels - 1:04}{suffix}" if channels > 1 else ""))
        return [Case(name, paths, os.path.join(output, name + suffix)) for name, paths in found.items()]
    if not os.path.exists(source):
        raise CaseError(f"{source}: no such file or folder")
    if not source.endswith(suffix):
        raise CaseError(f"{source}: the images end in {suffix}")
    name, paths = single(source, suffix, channels)
    if os.path.isdir(output) or output.endswith("/"):
        return [Case(name, paths, os.path.join(output, name + suffix))]
    if not output.endswith(suffix):
        raise CaseError(f"{output}: results are written as images are: expected a name that ends in {suffix}")
    return [Case(name, paths, output)]


def digest(paths: Iterable[str]) -> str:
    made = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            for part in iter(lambda: file.read(2**20), b""):
                made.update(part)
    return made.hexdigest()


def identity(path: str) -> list[Any]:
    there = os.stat(path)
    return [os.path.basename(path), there.st_size, there.st_mtime_ns]


class Record:
    """What made the result of a case, in a file of its own, so that several processes may work in one folder."""

    def __init__(self, case: Case, made_by: dict[str, Any], previous: str | None = None) -> None:
        self.case = case
        self.path = os.path.join(os.path.dirname(case.output) or ".", RECORDS, os.path.basename(case.output) + ".json")
        self.wanted = {**made_by, "inputs": [identity(path) for path in (*case.paths, *([previous] if previous else []))]}

    def differs(self) -> str | None:
        """None: the result is there and is of this network, this recipe, these options and images. Else what is not."""
        try:
            with open(self.path) as file:
                told = json.load(file)
        except (OSError, ValueError):
            return "what made it is not known"
        if not isinstance(told, dict) or told.pop("output", None) != identity(self.case.output):
            return "it was changed since"
        changed = [name for name in self.wanted if told.get(name) != json.loads(json.dumps(self.wanted[name]))]
        return f"of other {' and '.join(changed)}" if changed else None

    def finished(self) -> str | None:
        """None: there is none; "": the case is finished; else why what is there is made anew."""
        if not os.path.exists(self.case.output):
            return None
        return self.differs() or ""

    def write(self) -> None:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        part = f"{self.path}.{os.getpid()}"
        with open(part, "w") as file:
            json.dump({**self.wanted, "output": identity(self.case.output)}, file, indent=1)
        os.replace(part, self.path)
