"""Texts of models as pages show them: Markdown made harmless, and what differs between two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import nh3
from markdown_it import MarkdownIt
from rapidfuzz.distance import Indel

from experiments.rawjson import dumps

# Pieces of both texts multiplied: beyond it the comparison would take seconds and much memory.
MOST_STEPS = 150_000_000
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
# No images: they would be fetched from wherever a model says.
_TAGS = nh3.ALLOWED_TAGS - {"img", "area", "map"}


def markdown_html(text: str) -> str:
    """Markdown as HTML without scripts, raw HTML, images or addresses other than web and mail."""
    return nh3.clean(
        _MARKDOWN.render(text),
        tags=_TAGS,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


@dataclass(frozen=True)
class Piece:
    """Some of a text, and whether the other text lacks it."""

    text: str
    differs: bool


def differences(a: str, b: str) -> tuple[list[Piece], list[Piece]] | None:
    """Both texts in pieces, by words, of very long ones by lines; None when they are too long."""
    for pattern in (_WORDS, _LINES):
        ours, theirs = pattern.findall(a), pattern.findall(b)
        if len(ours) * len(theirs) <= MOST_STEPS:
            return _compared(ours, theirs)
    return None


def _compared(a: Sequence[str], b: Sequence[str]) -> tuple[list[Piece], list[Piece]]:
    pieces: tuple[list[Piece], list[Piece]] = ([], [])
    for step in Indel.opcodes(a, b):
        for side, words in (
            (pieces[0], a[step.src_start : step.src_end]),
            (pieces[1], b[step.dest_start : step.dest_end]),
        ):
            if words:
                side.append(Piece("".join(words), step.tag != "equal"))
    return pieces


@dataclass(frozen=True)
class Change:
    """A place in a JSON value where another value differs; None: there is nothing."""

    path: str
    before: str | None
    after: str | None


def json_changes(before: Any, after: Any) -> tuple[list[Change], int]:
    """Where two JSON values differ, key by key, and at how many places they are the same.

    The order of keys says nothing, that of lists does.
    """
    ours, theirs = dict(_leaves(before)), dict(_leaves(after))
    paths = [*ours, *(path for path in theirs if path not in ours)]
    changes = [
        Change(path, ours.get(path), theirs.get(path))
        for path in paths
        if ours.get(path) != theirs.get(path)
    ]
    return changes, len(paths) - len(changes)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every value that holds no other, as JSON, with the way to it."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}[{number}]")
    else:
        yield path, value if isinstance(value, str) else dumps(value)
