"""JSON files of recipes: every field is checked as it is read, and what is not as expected is refused with the file and the field."""

from __future__ import annotations

import json
import math
from typing import Any, Callable

from .images import CaseError

MOST = 2**26  # bytes


def load_json(path: str, what: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            text = file.read(MOST + 1)
        if len(text) > MOST:
            raise CaseError(f"{path}: is larger than 64 MB: expected {what}")
        made = json.loads(text)
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}: expected {what}") from None
    except json.JSONDecodeError as error:
        raise CaseError(f"{path}:{error.lineno}:{error.colno}: is no JSON: {error.msg}; expected {what}") from None
    except (UnicodeDecodeError, RecursionError):
        raise CaseError(f"{path}: is no JSON: expected {what}") from None
    if not isinstance(made, dict):
        raise CaseError(f"{path}: expected {what}, an object")
    return made


def short(value: Any) -> str:
    said = json.dumps(value)
    return said if len(said) <= 80 else said[:77] + "..."


class Fields:
    """The fields of an object of a file."""

    def __init__(self, path: str, name: str, values: dict[str, Any]) -> None:
        self.path, self.name, self.values = path, name, values

    def where(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def refuse(self, key: str, said: str, expected: str) -> CaseError:
        return CaseError(f"{self.path}: {self.where(key)} {said}: expected {expected}")

    def get(self, key: str, expected: str, good: Callable[[Any], bool], default: Any = ...) -> Any:
        if key not in self.values:
            if default is not ...:
                return default
            raise self.refuse(key, "is missing", expected)
        value = self.values[key]
        if not good(value):
            raise self.refuse(key, f"is {short(value)}", expected)
        return value

    def inside(self, key: str, expected: str) -> Fields:
        return Fields(self.path, self.where(key), self.get(key, expected, lambda v: isinstance(v, dict)))


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def all_of(good: Callable[[Any], bool], least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and least <= len(value) <= most and all(good(v) for v in value)
