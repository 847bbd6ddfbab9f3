"""Outputs in table and drawer: as text, Markdown or JSON, with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from experiments.queries.comparison_table import Row, Side
from experiments.rawjson import NotJsonError, dumps_pretty, loads_exact
from tiebreak.conversations import Message, conversation_in
from tiebreak.rendering import Piece, differences, markdown_html
from tiebreak.templatetags.tiebreak import CLAMP_CHARACTERS, clamp, visible

register = template.Library()

# Ways to show an output in which nothing can be marked.
UNMARKED = ("markdown", "chat")
MOST_MESSAGES = 6


@register.simple_tag
def example_text(text: str | None, view: str, *, whole: bool = False) -> SafeString:
    """An example's input or reference: a conversation where that is asked for, else its text."""
    chat = conversation_in(text) if view == "chat" else None
    if chat:
        return _chat(chat, whole=whole)
    if whole:
        return format_html('<div class="text" dir="auto">{}</div>', visible(text))
    return clamp(text)


@register.simple_tag
def short_output(row: Row, letter: str, view: str, diff: bool) -> SafeString:
    """A few lines of one side's output."""
    return _output(row, letter, view, diff, whole=False)


@register.simple_tag
def whole_output(row: Row, letter: str, view: str, diff: bool) -> SafeString:
    """All of one side's output."""
    return _output(row, letter, view, diff, whole=True)


def _output(row: Row, letter: str, view: str, diff: bool, *, whole: bool) -> SafeString:
    ours, theirs = (row.a, row.b) if letter == "a" else (row.b, row.a)
    other = shown_as(theirs, view)
    if diff and view not in UNMARKED and other is not None:
        return marked_text(shown_as(ours, view) or "", other, second=letter == "b", whole=whole)
    return plain_output(ours, view, whole=whole)


def plain_output(side: Side, view: str, *, whole: bool) -> SafeString:
    """An output as text, Markdown, JSON or a conversation, all of it or a few lines."""
    text = shown_as(side, view)
    chat = conversation_in(side.raw or side.output) if view == "chat" else None
    if chat:
        return _chat(chat, whole=whole)
    if not whole and view != "markdown":
        return clamp(text)
    text = text or ""
    if view != "markdown":
        return format_html('<div class="text" dir="auto">{}</div>', visible(text))
    if whole:
        return format_html('<div class="markdown">{}</div>', _safe(markdown_html(visible(text))))
    return _cut(_safe(markdown_html(visible(text[:CLAMP_CHARACTERS]))), text, "markdown clamp")


def _chat(messages: Sequence[Message], *, whole: bool) -> SafeString:
    """Who said what, in order; a long one keeps its end, for that is the answer."""
    shown = messages if whole else messages[-MOST_MESSAGES:]
    before = len(messages) - len(shown)
    told = format_html('<small class="muted">{} earlier messages</small>', before) if before else ""
    items = format_html_join("", "{}", ((_said(one, whole=whole),) for one in shown))
    return format_html('{}<ol class="chat">{}</ol>', told, items)


def _said(message: Message, *, whole: bool) -> SafeString:
    text = message.text if whole else message.text[:CLAMP_CHARACTERS]
    cut = "…" if len(text) < len(message.text) else ""
    calls = format_html_join(
        "",
        '<div class="tool-call"><small class="muted">calls</small> <code>{}</code>'
        "<pre>{}</pre></div>",
        ((visible(one.name), visible(one.arguments)) for one in message.calls),
    )
    body = (
        format_html('<div class="text" dir="auto">{}{}</div>', visible(text), cut) if text else ""
    )
    name = format_html(" {}", visible(message.name)) if message.name else ""
    return format_html("<li><b>{}</b>{}{}{}</li>", visible(message.role), name, body, calls)


def marked_text(text: str, other: str, *, second: bool, whole: bool) -> SafeString:
    """A text in which is marked what another does not say; `second` if it stands right of it."""
    if whole:
        return format_html('<div class="text" dir="auto">{}</div>', _marked(text, other, second))
    short = _marked(text[:CLAMP_CHARACTERS], other[:CLAMP_CHARACTERS], second)
    return _cut(short, text)


def shown_as(side: Side, view: str) -> str | None:
    """The output as text, or laid out where it is JSON and JSON is asked for."""
    if view != "json" or side.raw is None:
        return side.output
    try:
        inner = loads_exact(side.output or "")
    except NotJsonError:
        inner = None
    return dumps_pretty(inner if isinstance(inner, dict | list) else loads_exact(side.raw))


def _marked(text: str, other: str, second: bool) -> SafeString:
    found = differences(other, text) if second else differences(text, other)
    if found is None:
        return format_html('<p class="note">Too long to mark what differs.</p>{}', visible(text))
    return _pieces(found[1] if second else found[0])


def _pieces(pieces: Sequence[Piece]) -> SafeString:
    """What differs in marks, and blanks between two marks in theirs."""
    marked = [piece.differs for piece in pieces]
    for place in range(1, len(pieces) - 1):
        between = pieces[place - 1].differs and pieces[place + 1].differs
        marked[place] |= between and pieces[place].text == " "
    parts = groupby(zip(marked, pieces, strict=True), key=lambda one: one[0])
    return format_html_join(
        "",
        "{}{}{}",
        (
            (
                mark_safe("<mark>") if differs else "",
                visible("".join(piece.text for _, piece in group)),
                mark_safe("</mark>") if differs else "",
            )
            for differs, group in parts
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
