"""Texts of models as pages show them: Markdown made harmless, and what differs between two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import nh3
from markdown_it import MarkdownIt
from rapidfuzz.distance import Indel

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
