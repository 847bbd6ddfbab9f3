"""How the numbers of reports are written; the rounding itself is the statistics' own."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evaluators.statistics.figures import Figure
from evaluators.statistics.wording import interval_text, p_text, percent_text

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
def decimals(number: float | None) -> str:
    """A number in its own unit, with four significant digits."""
    return "–" if number is None else f"{number:.4g}"


@register.filter
def signed(number: float | None) -> str:
    """The same with its sign; a difference of nothing has none."""
    if number is None:
        return "–"
    return "0" if number == 0 else f"{number:+.4g}".replace("-", "−")
