"""Text to tree. Every error says at which character it stands."""

import re
from dataclasses import dataclass
from typing import Any

from experiments.errors import InvalidError

MAX_LENGTH = 20_000
MAX_DEPTH = 30
MAX_DIGITS = 400

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
      | (?P<mark>[(),\[\]])
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = {"null": None, "none": None, "true": True, "false": False}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class FilterError(InvalidError):
    """A filter that cannot be read, and where."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__("filter", f"{message} (at character {position + 1})")
        self.position = position


@dataclass(frozen=True)
class Name:
    """A field."""

    text: str
    position: int


@dataclass(frozen=True)
class Value:
    """A text, number, true, false, null or a list of them."""

    value: Any
    position: int


@dataclass(frozen=True)
class Call:
    """An operator with its arguments."""

    operator: str
    arguments: tuple["Node", ...]
    position: int


Node = Name | Value | Call


def parse(text: str) -> Call:
    """Read a whole filter; its outermost part is a call."""
    if len(text) > MAX_LENGTH:
        raise FilterError(f"a filter has at most {MAX_LENGTH} characters", MAX_LENGTH)
    reader = _Reader(text)
    node = reader.node(0)
    if reader.kind:
        raise FilterError(f"unexpected {reader.word!r}", reader.start)
    if not isinstance(node, Call):
        raise FilterError("a filter looks like eq(field, value)", 0)
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            rest = self.text[self.end :]
            self.start = self.end + len(rest) - len(rest.lstrip())
            if rest.strip():
                raise FilterError(f"cannot read {rest.strip()[:20]!r}", self.start)
            self.kind, self.word = "", "the end"
            return
        self.kind = match.lastgroup or ""
        self.word = match[self.kind]
        self.start, self.end = match.start(self.kind), match.end()

    def take(self, mark: str) -> None:
        if self.kind != "mark" or self.word != mark:
            raise FilterError(f"expected {mark!r}, found {self.word!r}", self.start)
        self.advance()

    def node(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise FilterError(f"nested deeper than {MAX_DEPTH}", self.start)
        kind, word, start = self.kind, self.word, self.start
        if kind == "mark" and word == "[":
            return Value(self.items("[", "]", depth, values=True), start)
        if kind not in ("string", "number", "name"):
            raise FilterError(f"expected a field, a value or a call, found {word!r}", start)
        self.advance()
        if kind == "string":
            return Value(_unquoted(word), start)
        if kind == "number":
            if len(word) > MAX_DIGITS:
                raise FilterError(f"a number has at most {MAX_DIGITS} characters", start)
            return Value(_number(word), start)
        if self.kind == "mark" and self.word == "(":
            return Call(word.lower(), tuple(self.items("(", ")", depth)), start)
        if word.lower() in _CONSTANTS:
            return Value(_CONSTANTS[word.lower()], start)
        return Name(word, start)

    def items(self, opening: str, closing: str, depth: int, *, values: bool = False) -> list[Any]:
        self.take(opening)
        found: list[Any] = []
        while not (self.kind == "mark" and self.word == closing):
            if found:
                self.take(",")
            node = self.node(depth + 1)
            if values and not isinstance(node, Value):
                raise FilterError("a list holds values only", node.position)
            found.append(node.value if values and isinstance(node, Value) else node)
        self.take(closing)
        return found


def _unquoted(text: str) -> str:
    return re.sub(
        r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL
    )


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
