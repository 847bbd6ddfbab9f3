"""What counts as JSON in a reply, one rule for all."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

_BLANKS_AND_BACKTICKS = " \t\r\n`"
_FENCE = "```"
_TAG = re.compile(r"`*(?:json)?\s*", re.I)
_AFTER_VALUE = re.compile(r"\s*(?:```|\Z)")
# Longer whole numbers, and floats beyond the range, are kept exact.
_LONGEST_INT = 4000
# The parser recurses in C; stay well below what its stack bears.
_DEEPEST = 500


class NotJson(ValueError):
    """A text that is not JSON."""


class DuplicateKey(NotJson):
    """A key that stands more than once in an object, where that is not allowed."""


class TooDeep(ValueError):
    """JSON nested deeper than is read."""


def read_json(text: str, controls: bool = True, unique_keys: bool = False) -> Any:
    """The value of a reply that is JSON, or that holds it in a fence; NotJson otherwise.

    `controls` allows raw control characters in texts, as many models write them. With
    `unique_keys` an object that has a key twice is not JSON, else the last one counts.
    """
    decode = _DECODERS[controls, unique_keys]
    trimmed = text.strip(_BLANKS_AND_BACKTICKS)
    try:
        value, end = decode(trimmed, 0)
    except NotJson as error:
        return _fenced(text, decode, error)
    return value if end == len(trimmed) else _fenced(text, decode, NotJson(_extra(trimmed, end)))


def as_json(value: Any, controls: bool = True, unique_keys: bool = False) -> Any:
    """A text as JSON, anything else as it is; NotJson for a text that is not JSON."""
    return read_json(value, controls, unique_keys) if isinstance(value, str) else value


def _fenced(text: str, decode: Callable[[str, int], Any], error: NotJson) -> Any:
    start = text.find(_FENCE)
    while start >= 0:
        tag = _TAG.match(text, start + len(_FENCE))
        begin = tag.end() if tag else start + len(_FENCE)
        try:
            value, end = decode(text, begin)
        except NotJson:
            pass
        else:
            if _AFTER_VALUE.match(text, end):
                return value
        close = text.find(_FENCE, start + len(_FENCE))
        start = text.find(_FENCE, close + len(_FENCE)) if close >= 0 else -1
    raise error


def _extra(text: str, end: int) -> str:
    return f"More text after the value, from character {end} on: {text[end : end + 20]!r}"


def _decoder(strict: bool, unique_keys: bool) -> Callable[[str, int], tuple[Any, int]]:
    pairs = _object_of_unique_keys if unique_keys else None
    quick = json.JSONDecoder(strict=strict, parse_constant=_refuse, object_pairs_hook=pairs)
    exact = json.JSONDecoder(
        strict=strict,
        parse_constant=_refuse,
        parse_float=_float,
        parse_int=_int,
        object_pairs_hook=pairs,
    )

    def decode(text: str, start: int) -> tuple[Any, int]:
        decoder = exact if len(text) > 300 or "e" in text or "E" in text else quick
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise NotJson(str(error)) from None
        except RecursionError:
            raise TooDeep("The JSON is nested too deeply.") from None
        return value, len(text) if text[end:].isspace() else end

    return decode


def _refuse(constant: str) -> Any:
    raise NotJson(f"{constant} is no JSON value.")


def _object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(
            name for name, count in Counter(name for name, _ in pairs).items() if count > 1
        )
        raise DuplicateKey(f"The key {twice!r} stands more than once in an object.")
    return value


def _float(digits: str) -> float | Decimal:
    number = float(digits)
    return number if math.isfinite(number) else Decimal(digits)


def _int(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _LONGEST_INT else Decimal(digits)


_DECODERS = {
    (controls, unique): _decoder(strict=not controls, unique_keys=unique)
    for controls in (True, False)
    for unique in (True, False)
}


def may_be_deep(text: str) -> bool:
    """Whether a text has brackets enough to be nested too deeply."""
    return text.count("[") + text.count("{") > _DEEPEST


def check_depth(value: Any) -> None:
    """TooDeep for a value nested deeper than can be worked with."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise TooDeep(f"The JSON is nested more than {_DEEPEST} levels deep.")
        level = [inner for outer in level for inner in _inside(outer)]


def _inside(value: Any) -> list[Any]:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in held if isinstance(one, (dict, list))]


def mended(text: str) -> Any:
    """The value of a text that was cut off, brackets and texts closed; NotJson if hopeless."""
    trimmed = text.strip(_BLANKS_AND_BACKTICKS)
    start = re.search(r"[\[{\"]|-?\d|true|false|null", trimmed)
    body = trimmed[start.start() :] if start else ""
    for end in range(len(body), max(0, len(body) - 2000), -1):
        try:
            return _DECODERS[True, False](body[:end] + _closers(body[:end]), 0)[0]
        except NotJson:
            continue
    raise NotJson("Nothing in it can be read as JSON.")


def _closers(text: str) -> str:
    stack, in_text, escaped = [], False, False
    for character in text:
        if in_text:
            in_text = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_text = True
        elif character in "[{":
            stack.append("]" if character == "[" else "}")
        elif character in "]}" and stack:
            stack.pop()
    return ('"' if in_text else "") + "".join(reversed(stack))
