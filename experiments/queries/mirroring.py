"""A comparison seen from the other side: B where A was, in rows, counts and reports alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace

from evaluators.statistics.figures import Figure
from evaluators.statistics.wording import percent_text
from experiments.queries.comparison_table import Page, Row
from experiments.queries.judging_parts import Part, Running, Swap
from experiments.queries.judging_report import Report, Section, Slices
from experiments.queries.outcome_counts import OutcomeCounts

OTHER = {"a": "b", "b": "a"}
_LACKS = re.compile(r"\b([AB])(?= (?:has no run|failed|has no output|was always shown first))")
_SCORE = re.compile(r"A ([\d,]+) · (.+) · B ([\d,]+)")
_LENGTHS = re.compile(r"([+-][\d,]+) to ([+-][\d,]+)")
# Shares of A, unlike those of what was shown first or of the longer answer.
_OF_A = ("strict", "lenient", "average", "length_controlled")


def mirrored_outcomes(outcomes: Collection[str]) -> frozenset[str]:
    """Outcomes, or the keys of filters by them."""
    return frozenset(OTHER.get(one, one) for one in outcomes)


def mirrored_counts(counts: OutcomeCounts) -> OutcomeCounts:
    return replace(counts, a=counts.b, b=counts.a)


def mirrored_page(page: Page) -> Page:
    return replace(page, rows=[mirrored_row(row) for row in page.rows])


def mirrored_row(row: Row) -> Row:
    """The row with its sides exchanged; what is stored stays as it is."""
    judgment = copy(row.judgment)
    judgment.outcome = OTHER.get(judgment.outcome, judgment.outcome)
    judgment.error = _other_letters(judgment.error)
    return replace(row, judgment=judgment, a=row.b, b=row.a)


def _other_letters(text: str) -> str:
    return _LACKS.sub(lambda found: "B" if found[1] == "A" else "A", text)


def mirrored_report(report: Report) -> Report:
    a, b, even = report.examples
    return replace(
        report,
        examples=(b, a, even),
        sections=[
            Section(one.key, one.title, [_figure(figure) for figure in one.figures])
            for one in report.sections
        ],
        swaps=_swaps(report.swaps),
        splits=[_part(one) for one in report.splits],
        slices=[Slices(one.key, [_part(part) for part in one.parts]) for one in report.slices],
        lengths=[_length(one) for one in reversed(report.lengths)],
        running=_running(report.running),
    )


def _from_one(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _figure(figure: Figure) -> Figure:
    if figure.reason:
        return replace(figure, reason=_other_letters(figure.reason))
    if figure.key not in _OF_A or figure.value is None:
        return figure
    score = _SCORE.fullmatch(figure.text)
    text = f"A {score[3]} · {score[2]} · B {score[1]}" if score else percent_text(1 - figure.value)
    return replace(
        figure,
        value=1 - figure.value,
        low=_from_one(figure.high),
        high=_from_one(figure.low),
        text=text,
    )


def _part(part: Part) -> Part:
    return replace(
        part,
        a=part.b,
        b=part.a,
        rate=_from_one(part.rate),
        low=_from_one(part.high),
        high=_from_one(part.low),
    )


def _length(part: Part) -> Part:
    found = _LENGTHS.fullmatch(part.name)
    if found is None:
        return _part(part)
    low, high = (int(end.replace(",", "")) for end in found.groups())
    return replace(_part(part), name=f"{-high:+,} to {-low:+,}")


def _swaps(swaps: Sequence[Swap]) -> list[Swap]:
    by_key = {one.key: one for one in swaps}
    return [
        replace(one, rows=other.rows, share=other.share)
        for one in swaps
        for other in (by_key[OTHER.get(one.key, one.key)],)
    ]


def _running(running: Running) -> Running:
    return replace(
        running,
        rate=[_from_one(one) for one in running.rate],
        low=[_from_one(one) for one in running.high],
        high=[_from_one(one) for one in running.low],
    )
