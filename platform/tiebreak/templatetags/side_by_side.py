"""Outputs beside each other: each against the baseline or the reference, words or JSON by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from experiments.queries.comparison_table import Side
from experiments.queries.side_by_side_rows import Cell, Line
from experiments.rawjson import NotJsonError, loads_exact
from tiebreak.rendering import Change, json_changes
from tiebreak.templatetags.outputs import UNMARKED, marked_text, plain_output, shown_as
from tiebreak.templatetags.tiebreak import CLAMP_CHARACTERS, visible
from tiebreak.web.address import with_changes

register = template.Library()

MOST_CHANGES = 8
ALL_CHANGES = 300
SIGNS = {"better": "▲", "worse": "▼", "same": "="}


@register.simple_tag
def beside(
    cell: Cell, cells: Sequence[Cell], line: Line, view: str, diff: str, *, whole: bool = False
) -> SafeString:
    """One experiment's output; with a `diff`, what differs from `base` or `ref` is marked."""
    if cell.side.lack:
        return format_html('<p class="lack">{}</p>', visible(cell.side.lack))
    other = _other(cell, cells, line, diff)
    plain = plain_output(cell.side, view, whole=whole)
    if other is None or other.output is None or view in UNMARKED:
        return plain
    ours, theirs = _json(cell.side.output), _json(other.output)
    if ours is None or theirs is None:
        text, against = shown_as(cell.side, view) or "", shown_as(other, view) or ""
        return marked_text(text, against, second=cell is not cells[0], whole=whole)
    if diff == "base" and cell is cells[0]:
        return plain
    return _by_key(*json_changes(theirs, ours), plain, whole=whole)


def _other(cell: Cell, cells: Sequence[Cell], line: Line, diff: str) -> Side | None:
    """What a cell is held against. The baseline is marked only where there is one other."""
    if diff == "ref":
        return Side(None, line.reference, "")
    if diff != "base":
        return None
    if cell is not cells[0]:
        return cells[0].side
    return cells[1].side if len(cells) == 2 else None


def _json(text: str | None) -> Any:
    """The object or list that a text is, else None."""
    try:
        value = loads_exact(text or "")
    except NotJsonError:
        return None
    return value if isinstance(value, dict | list) else None


def _by_key(changes: Sequence[Change], same: int, plain: SafeString, *, whole: bool) -> SafeString:
    """The keys that differ, as before → after; all of the output where nothing does."""
    if not changes:
        return format_html('{}<small class="muted">the same</small>', plain)
    most = ALL_CHANGES if whole else MOST_CHANGES
    rows = format_html_join("", "<dt>{}</dt><dd>{}{}</dd>", (_row(one) for one in changes[:most]))
    more = len(changes) - most
    told = f"{same:,} place{'s' if same != 1 else ''} the same"
    if more > 0:
        told = f"{more:,} more differ · {told}"
    return format_html(
        '<dl class="by-key" dir="auto">{}</dl><small class="muted">{}</small>{}',
        rows,
        told,
        format_html("<details><summary>All of it</summary>{}</details>", plain) if whole else "",
    )


def _row(change: Change) -> tuple[str, SafeString, SafeString]:
    before, after = change.before, change.after
    return (
        visible(change.path or "(all)"),
        format_html("<del>{}</del> ", _short(before)) if before is not None else SafeString(""),
        format_html("<ins>{}</ins>", _short(after)) if after is not None else SafeString(""),
    )


def _short(text: str) -> str:
    cut = text[:CLAMP_CHARACTERS]
    return visible(cut if len(text) == len(cut) else f"{cut}…")


@register.simple_tag
def way_sign(way: str) -> SafeString:
    """The sign of better, worse and same; the word stands beside it."""
    return format_html('<span class="way {}" aria-hidden="true">{}</span>', way, SIGNS[way])


@register.simple_tag
def way_mark(way: str) -> SafeString:
    """The same behind a score, with its word; nothing where there is nothing to hold it against."""
    if not way:
        return SafeString("")
    return format_html(' <span class="way {}">{} {}</span>', way, SIGNS[way], way)


@register.filter
def line_link(line: Line, query: QueryDict) -> str:
    """The address of the page with this example's drawer open."""
    return with_changes(query, {"row": line.key})


@register.filter
def at(rows: Sequence[Any], place: int) -> Any:
    """The row at a place."""
    return rows[place]
