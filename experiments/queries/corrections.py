"""Several comparisons of one dataset looked at together: their p-values corrected by Holm."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, Sum

from evaluators.statistics import OPS
from evaluators.statistics.wording import p_text
from experiments.models import ComparisonEvaluator, Dataset, Job, Outcome
from experiments.queries.outcome_counts import examples_won, repeated_in

OPEN = (Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED)


@dataclass(frozen=True)
class Correction:
    """A sign test by itself, and among all finished comparisons of the dataset."""

    p_value: float
    adjusted_p: float
    comparisons: int

    @property
    def text(self) -> str:
        return p_text(self.adjusted_p)

    @property
    def undone(self) -> bool:
        """Whether what looks settled by itself is not, among so many."""
        return self.p_value < 0.05 <= self.adjusted_p


def corrections_of(dataset: Dataset) -> dict[int, Correction]:
    """By evaluator of a comparison, in three queries; empty while there is only one to look at.

    What is still being judged, and what has no decided row, is no part of the family.
    """
    rows = list(
        ComparisonEvaluator.objects.filter(comparison__dataset=dataset)
        .exclude(comparison__job__state__in=OPEN)
        .filter(deltas__judge="", deltas__split="")
        .order_by("pk")
        .values_list("pk", "comparison")
        .annotate(
            a=Sum("deltas__amount", filter=Q(deltas__outcome=Outcome.A), default=0),
            b=Sum("deltas__amount", filter=Q(deltas__outcome=Outcome.B), default=0),
        )
    )
    if len(rows) < 2:
        return {}
    wins = {pk: (a, b) for pk, _, a, b in rows}
    repeated = repeated_in(comparison for _, comparison, _, _ in rows)
    again = [pk for pk, comparison, _, _ in rows if comparison in repeated]
    wins |= {pk: (a, b) for pk, (a, b, _) in examples_won(again).items()}
    tested = {pk: OPS["sign_test"](wins=a, losses=b)["p_value"] for pk, (a, b) in wins.items()}
    family = {pk: p for pk, p in tested.items() if p is not None}
    if len(family) < 2:
        return {}
    adjusted = OPS["adjust_p_values"](p_values=list(family.values()))["holm"]
    return {
        pk: Correction(plain, holm, len(family))
        for (pk, plain), holm in zip(family.items(), adjusted, strict=True)
    }
