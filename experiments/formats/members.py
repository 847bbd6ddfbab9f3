"""JSON objects taken apart without changing a character of their values."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

MAX_DEPTH = 200
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(r"[\[{]|[\]}]")


class BadJson(ValueError):
    """A text that is not the JSON it should be; `end` says where in the text that shows."""

    def __init__(self, reason: str, end: int = 0, column: str = "") -> None:
        super().__init__(reason)
        self.reason, self.end, self.column = reason, end, column


class RefusedObject(BadJson):
    """An object that is not to be stored, though it can be read; `end` is where it ends."""


class _Seen:
    """Collects keys that stand twice in one object, at any depth."""

    def __init__(self) -> None:
        self.repeated: str | None = None

    def pairs(self, pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys) and self.repeated is None:
            self.repeated = next(key for key in keys if keys.count(key) > 1)


def _no_constant(name: str) -> None:
    raise BadJson(f"{name} is not JSON")


def _skip(text: str) -> None:
    """Digits stay in the text; nobody needs the number."""


class Scanner:
    """Finds where JSON values end; numbers are never turned into numbers."""

    def __init__(self) -> None:
        self.seen = _Seen()
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self.seen.pairs,
            parse_float=_skip,
            parse_int=_skip,
            parse_constant=_no_constant,
        )

    def value_end(self, text: str, start: int) -> int:
        """Where the value that begins at `start` ends; raises BadJson."""
        try:
            return self._decoder.raw_decode(text, start)[1]
        except json.JSONDecodeError as error:
            raise BadJson(error.msg, error.pos) from error
        except RecursionError as error:
            raise BadJson("is nested too deeply", start) from error

    def repeated(self) -> str | None:
        """A key met twice since the last question."""
        found, self.seen.repeated = self.seen.repeated, None
        return found

    def members(self, text: str, start: int = 0) -> tuple[dict[str, str], int]:
        """Key and raw value of each member of the object at `start`, and where it ends."""
        found: dict[str, str] = {}
        twice: tuple[str, str] | None = None
        at = space(text, start + 1)
        if text[at : at + 1] == "}":
            return found, at + 1
        while True:
            key, at = self._key(text, at)
            end = self.value_end(text, at)
            inner = self.repeated()
            if key in found or inner is not None:
                twice = twice or (key, key if key in found else str(inner))
            found[key] = text[at:end]
            at = space(text, end)
            if text[at : at + 1] == "}":
                break
            if text[at : at + 1] != ",":
                raise BadJson("Expecting ',' delimiter", at)
            at = space(text, at + 1)
        if twice:
            raise RefusedObject(f"the key “{twice[1]}” stands twice", at + 1, twice[0])
        if at - start > MAX_DEPTH and depth(text[start : at + 1]) > MAX_DEPTH:
            raise RefusedObject("is nested too deeply", at + 1)
        return found, at + 1

    def _key(self, text: str, at: int) -> tuple[str, int]:
        if text[at : at + 1] != '"':
            raise BadJson("Expecting property name enclosed in double quotes", at)
        try:
            key, at = scanstring(text, at + 1, True)
        except json.JSONDecodeError as error:
            raise BadJson(error.msg, error.pos) from error
        at = space(text, at)
        if text[at : at + 1] != ":":
            raise BadJson("Expecting ':' delimiter", at)
        return key, space(text, at + 1)


def space(text: str, at: int) -> int:
    """The first place from `at` on that is not JSON's white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def depth(text: str) -> int:
    """How deep arrays and objects are nested."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return 0
    level = deepest = 0
    for bracket in _BRACKETS.findall(_STRING.sub("", text)):
        level += 1 if bracket in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def check_value(text: str) -> str:
    """The JSON text without white space around it; raises BadJson unless it is one value."""
    scanner = Scanner()
    start = space(text, 0)
    end = scanner.value_end(text, start)
    rest = space(text, end)
    if rest < len(text):
        raise BadJson("Extra data", rest)
    twice = scanner.repeated()
    if twice is not None:
        raise BadJson(f"the key “{twice}” stands twice")
    if depth(text) > MAX_DEPTH:
        raise BadJson("is nested too deeply")
    return text[start:end]
