"""What templates need beyond Django's own: bars as SVG (no inline style), texts made visible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import template
from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evaluators.statistics.verdict import Verdict
from experiments.models import ComparisonSide, Feedback
from experiments.queries.comparison_table import Row
from experiments.queries.outcome_counts import OutcomeCounts
from experiments.rawjson import dumps, dumps_pretty, loads_exact
from experiments.texts import text_of
from tiebreak.web.address import with_changes

register = template.Library()

CLAMP_CHARACTERS = 600
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@register.filter
def visible(text: object) -> str:
    """Text with control characters, lone surrogates and direction overrides shown as symbols."""
    return _CONTROL.sub(_symbol, "" if text is None else str(text))


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "�"


@register.simple_tag
def clamp(text: str | None) -> SafeString:
    """A few lines of a text; what is cut says how long the whole is."""
    if text is None:
        return SafeString('<span class="muted">–</span>')
    shown = visible(text[:CLAMP_CHARACTERS])
    if len(text) <= CLAMP_CHARACTERS:
        return format_html('<div class="clamp" dir="auto">{}</div>', shown)
    return format_html(
        '<div class="clamp" dir="auto">{}…</div><small class="muted">{} characters</small>',
        shown,
        f"{len(text):,}",
    )


@register.filter
def with_sides(sentence: str, sides: Sequence[ComparisonSide]) -> SafeString:
    """The verdict sentence, with the name it begins with in that side's colour."""
    for css, side in zip("ab", sides, strict=False):
        if sentence.startswith(side.name):
            rest = sentence[len(side.name) :]
            return format_html('<b class="{}">{}</b>{}', css, side.name, rest)
    return format_html("{}", sentence)


@register.simple_tag
def tug(counts: OutcomeCounts, css: str = "bar") -> SafeString:
    """Wins of A, ties, wins of B as one bar; the numbers stand beside it as text."""
    total = counts.judged or 1
    left, rects = 0.0, []
    for name, amount in (("a", counts.a), ("t", counts.ties), ("b", counts.b)):
        width = 100 * amount / total
        rects.append((name, f"{left:.3f}", f"{width:.3f}"))
        left += width
    bars = format_html_join("", '<rect class="{}" x="{}" width="{}" height="10"/>', rects)
    return format_html(
        '<svg class="{}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        "{}</svg>",
        css,
        bars,
    )


@register.simple_tag
def share(verdict: Verdict) -> SafeString:
    """The winner's share with its interval, in short."""
    figure = verdict.figure("decided_rate" if verdict.rule == "decided" else "half_win_rate")
    if figure.value is None or figure.low is None or figure.high is None:
        return format_html("–")
    ends = (figure.low, figure.high)
    rate, low, high = figure.value, min(ends), max(ends)
    if verdict.outcome == "b":
        rate, low, high = 1 - rate, 1 - high, 1 - low
    return format_html(
        '{} <small class="muted">{}–{}</small>',
        f"{100 * rate:.0f}%",
        f"{100 * low:.1f}",
        f"{100 * high:.1f}",
    )


@register.inclusion_tag("comparisons/interval.html")
def interval_axis(verdict: Verdict) -> dict[str, Any]:
    """A's share on an axis from 0 to 100 per cent, with its interval and 50 per cent marked."""
    if verdict.rate is None or verdict.low is None or verdict.high is None:
        return {"known": False}
    low, high, rate = (100 * number for number in (verdict.low, verdict.high, verdict.rate))
    side = "a" if verdict.outcome == "a" else "b" if verdict.outcome == "b" else "t"
    return {
        "known": True,
        "side": side,
        "low": f"{low * 10:.1f}",
        "width": f"{max(4.0, (high - low) * 10):.1f}",
        "rate": f"{rate * 10:.1f}",
        "text": f"{low:.1f}–{high:.1f}%",
        "label": f"A's share {rate:.1f}%, 95% interval {low:.1f} to {high:.1f}%",
    }


@register.filter
def row_link(row: Row, query: QueryDict) -> str:
    """The address of the page with this row's drawer open."""
    return with_changes(query, {"row": row.key})


@register.simple_tag
def without_meta(query: QueryDict, key: str) -> str:
    """The address without the filter on one key of the metadata."""
    return with_changes(query, {}, drop=(f"meta.{key}", "row", "after", "before", "n"))


@register.filter
def chip_text(value: Any) -> str:
    """A metadata value as text: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else dumps(value)


@register.filter
def get(mapping: Mapping[str, Any], key: str) -> Any:
    """The value of a key, None without it."""
    return mapping.get(key)


@register.filter
def last_line(text: str) -> str:
    """The last line of a traceback: the error itself."""
    return text.strip().rpartition("\n")[2][:300]


@register.filter
def score_label(feedback: Feedback) -> str:
    """A score as it was sent, long fractions cut for reading; else the value."""
    if feedback.score_text is not None:
        whole = len(feedback.score_text) <= 8 or feedback.score is None
        return feedback.score_text if whole else f"{feedback.score:.4g}"
    return text_of(feedback.value) or "–"


@register.filter
def comment_text(feedback: Feedback) -> str:
    """The comment, empty without one."""
    return text_of(feedback.comment) or ""


@register.filter
def pretty(payload: str | None) -> str:
    """A JSON text laid out over lines, with its keys in the order sent."""
    return "–" if payload is None else dumps_pretty(loads_exact(payload))


@register.filter
def as_json(value: Any) -> str:
    """A value laid out as JSON; an empty one as the words for it."""
    return visible(dumps_pretty(value)) if value else "defaults"


@register.filter
def duration(seconds: float) -> str:
    """Seconds in words: 45 s, 3 min, 2 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@register.filter
def dollars(money: Decimal) -> str:
    """US dollars for reading: cents, and more digits below one dollar."""
    return f"${money:,.4f}" if 0 < money < 1 else f"${money:,.2f}"
