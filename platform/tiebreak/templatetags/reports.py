"""How the numbers of reports are written; the rounding itself is the statistics' own."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evaluators.statistics.figures import Figure
from evaluators.statistics.wording import interval_text, p_text, percent_text
from experiments.queries.judging_parts import Running
from experiments.queries.leaderboard import Board, System

register = template.Library()


@register.filter
def percent(share: float | None) -> str:
    """A share in 0..1 as 47.4%."""
    return percent_text(share)


@register.filter
def p_value(number: float | None) -> str:
    """A p-value with two digits."""
    return p_text(number)


@register.filter
def interval(row: object) -> str:
    """The two ends of whatever has a `low` and a `high`."""
    return interval_text(getattr(row, "low", None), getattr(row, "high", None))


@register.filter
def with_interval(figure: Figure) -> SafeString:
    """A figure's text, followed by its interval where it has one."""
    if figure.low is None or figure.high is None:
        return format_html("{}", figure.text)
    ends = interval_text(figure.low, figure.high)
    return format_html('{} <span class="muted interval">{}</span>', figure.text, ends)


@register.filter
def inputs_text(inputs: Mapping[str, Any]) -> str:
    """What an operation was given: "wins = 19, n = 24"."""
    return ", ".join(f"{name} = {_input_text(value)}" for name, value in inputs.items())


def _input_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({', '.join(f'{count:,} × {one}' for one, count in value.items())})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@register.filter
def decimals(number: float | None) -> str:
    """A number in its own unit, with four significant digits."""
    return "–" if number is None else f"{number:.4g}"


@register.filter
def signed(number: float | None) -> str:
    """The same with its sign; a difference of nothing has none."""
    if number is None:
        return "–"
    return "0" if number == 0 else f"{number:+.4g}".replace("-", "−")


@register.filter
def strength(number: float | None) -> str:
    """A strength with its sign and two decimals."""
    return "–" if number is None else f"{number:+.2f}".replace("-", "−")


@register.filter
def cell_interval(cell: Mapping[str, Any]) -> str:
    """The interval of a cell of the win matrix."""
    return interval_text(cell["low"], cell["high"])


@register.simple_tag
def strength_axis(system: System, board: Board) -> SafeString:
    """A system's strength with its interval, on one scale for the whole board."""
    ends = [
        end for one in board.systems for end in (one.low, one.high, one.strength) if end is not None
    ]
    if system.strength is None or not ends:
        return format_html("")
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def at(value: float) -> float:
        return 1000 * (value - low) / span

    start = at(system.strength if system.low is None else system.low)
    end = at(system.strength if system.high is None else system.high)
    return format_html(
        '<svg class="strength" viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="zero" d="M{} 0V12"/><rect class="range" x="{}" y="3" width="{}" height="6"/>'
        '<path class="dot" d="M{} 6h.01"/></svg>',
        f"{at(0.0):.1f}",
        f"{start:.1f}",
        f"{end - start:.1f}",
        f"{at(system.strength):.1f}",
    )


@register.simple_tag
def race_band(running: Running) -> SafeString:
    """A's share as rows were judged, inside the band that always holds, as a small picture."""
    last = running.rows[-1]
    xs = [1000 * rows / last for rows in running.rows]

    def line(shares: Sequence[float | None], default: float) -> list[str]:
        known = [default if share is None else share for share in shares]
        return [f"{x:.1f} {60 - 60 * share:.1f}" for x, share in zip(xs, known, strict=True)]

    band = [*line(running.high, 1.0), *reversed(line(running.low, 0.0))]
    return format_html(
        '<svg class="race" viewBox="0 0 1000 60" preserveAspectRatio="none" role="img"'
        ' aria-label="A’s share of decided rows as they were judged, in its always-valid band">'
        '<path class="area" d="M{}Z"/><path class="half" d="M0 30H1000"/>'
        '<path class="share" d="M{}"/></svg>',
        "L".join(band),
        "L".join(line(running.rate, 0.5)),
    )
