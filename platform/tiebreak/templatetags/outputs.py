"""Outputs in table and drawer: as text, Markdown or JSON, with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from experiments.queries.comparison_table import Row, Side
from experiments.rawjson import NotJsonError, dumps_pretty, loads_exact
from tiebreak.rendering import Piece, differences, markdown_html
from tiebreak.templatetags.tiebreak import CLAMP_CHARACTERS, clamp, visible

register = template.Library()


@register.simple_tag
def short_output(row: Row, letter: str, view: str, diff: bool) -> SafeString:
    """A few lines of one side's output."""
    ours, theirs = (row.a, row.b) if letter == "a" else (row.b, row.a)
    text = shown_as(ours, view)
    if diff and view != "markdown" and text is not None:
        other = shown_as(theirs, view)
        if other is not None:
            marked = _marked(text[:CLAMP_CHARACTERS], other[:CLAMP_CHARACTERS], letter)
            return _cut(marked, text)
    if view == "markdown" and text is not None:
        return _cut(_safe(markdown_html(visible(text[:CLAMP_CHARACTERS]))), text, "markdown clamp")
    return clamp(text)


@register.simple_tag
def whole_output(row: Row, letter: str, view: str, diff: bool) -> SafeString:
    """All of one side's output."""
    ours, theirs = (row.a, row.b) if letter == "a" else (row.b, row.a)
    text = shown_as(ours, view) or ""
    if view == "markdown":
        return format_html('<div class="markdown">{}</div>', _safe(markdown_html(visible(text))))
    body: SafeString | str = visible(text)
    other = shown_as(theirs, view)
    if diff and other is not None:
        body = _marked(text, other, letter)
    return format_html('<div class="text" dir="auto">{}</div>', body)


def shown_as(side: Side, view: str) -> str | None:
    """The output as text, or laid out where it is JSON and JSON is asked for."""
    if view != "json" or side.raw is None:
        return side.output
    try:
        inner = loads_exact(side.output or "")
    except NotJsonError:
        inner = None
    return dumps_pretty(inner if isinstance(inner, dict | list) else loads_exact(side.raw))


def _marked(text: str, other: str, letter: str) -> SafeString:
    a, b = (text, other) if letter == "a" else (other, text)
    found = differences(a, b)
    if found is None:
        return format_html('<p class="note">Too long to mark what differs.</p>{}', visible(text))
    return _pieces(found[0] if letter == "a" else found[1])


def _pieces(pieces: Sequence[Piece]) -> SafeString:
    return format_html_join(
        "",
        "{}{}{}",
        (
            (
                mark_safe("<mark>") if piece.differs else "",
                visible(piece.text),
                mark_safe("</mark>") if piece.differs else "",
            )
            for piece in pieces
        ),
    )


def _cut(body: SafeString, text: str, css: str = "clamp") -> SafeString:
    if len(text) <= CLAMP_CHARACTERS:
        return format_html('<div class="{}" dir="auto">{}</div>', css, body)
    return format_html(
        '<div class="{}" dir="auto">{}…</div><small class="muted">{} characters</small>',
        css,
        body,
        f"{len(text):,}",
    )


def _safe(cleaned: str) -> SafeString:
    """HTML that `markdown_html` has cleaned."""
    return mark_safe(cleaned)  # noqa: S308
