"""The verdict on a comparison: who won, how sure that is, and where each number comes from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from . import sentence as wording
from .counts import Counts, Outcome, TieRule
from .figures import Figure, all_figures, equivalence_result
from .intervals import FEW_ROWS

__all__ = ["Counts", "Figure", "Outcome", "TieRule", "Verdict", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict's outcome, its sentence for people, and its numbers as full floats in 0..1.

    `rate`, `low` and `high` are A's under the chosen tie rule, null without a denominator.
    """

    outcome: Outcome
    sentence: str
    planning: str
    rule: TieRule
    rate: float | None
    low: float | None
    high: float | None
    p_value: float | None
    few_rows: bool
    counts: Counts
    figures: tuple[Figure, ...] = field(repr=False)

    def figure(self, key: str) -> Figure:
        """Return one number by its key, such as "decided_rate"; KeyError if there is none."""
        return by_key(self.figures)[key]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def verdict(counts: Counts) -> Verdict:
    """Decide between A and B from the counts of rows, and say it in a sentence.

    A or B wins only if the interval of the decided share excludes one half and the (adjusted)
    p-value is below alpha; equivalent if not, and TOST passes. Source: Wilson 1927, Schuirmann
    1987, and for rows still coming in Robbins 1970.
    """
    figures = all_figures(counts)
    known = by_key(figures)
    outcome = outcome_of(counts, known)
    lead = known["half_win_rate" if counts.tie_rule == "half" else "decided_rate"]
    return Verdict(
        outcome=outcome,
        sentence=wording.sentence(outcome, counts, known),
        planning=wording.planning(outcome, counts, known),
        rule=counts.tie_rule,
        rate=lead.value,
        low=lead.low,
        high=lead.high,
        p_value=known["p_value"].value,
        few_rows=counts.judged < FEW_ROWS,
        counts=counts,
        figures=figures,
    )


def by_key(figures: tuple[Figure, ...]) -> dict[str, Figure]:
    return {figure.key: figure for figure in figures}


def outcome_of(counts: Counts, figures: Mapping[str, Figure]) -> Outcome:
    """Apply the four-way rule; both the interval and the p-value must agree on a winner."""
    share, p_value = figures["decided_rate"], figures["p_value"].value
    if counts.judged == 0:
        return "nothing"
    significant = p_value is not None and p_value < counts.alpha
    if significant and share.low is not None and share.low > 0.5:
        return "a"
    if significant and share.high is not None and share.high < 0.5:
        return "b"
    return "equivalent" if equivalence_result(counts)["equivalent"] else "not_settled"
