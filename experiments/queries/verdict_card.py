"""The verdict of a comparison: the counts handed to the statistics, nothing computed here."""

from typing import Literal

from evaluators.statistics.verdict import Counts, Verdict, verdict
from experiments.models import Comparison
from experiments.queries.outcome_counts import OutcomeCounts

Rule = Literal["decided", "half"]


def verdict_of(
    comparison: Comparison, counts: OutcomeCounts, *, judge: str = "", rule: Rule = "decided"
) -> Verdict:
    """Who won, and how sure that is."""
    names = [side.name for side in comparison.sides.all()]
    return verdict(
        Counts(
            wins_a=counts.a,
            wins_b=counts.b,
            ties=counts.ties,
            failed=counts.failed,
            missing=counts.missing,
            pending=counts.pending,
            name_a=names[0],
            name_b=names[1],
            judge=judge,
            rule=rule,
        )
    )
