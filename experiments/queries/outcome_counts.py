"""The counts beside the filters, from the deltas that every write appends."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Sum

from experiments.models import ComparisonEvaluator, Outcome, OutcomeDelta

EVEN = (Outcome.TIE, Outcome.BOTH_GOOD, Outcome.BOTH_BAD)


@dataclass(frozen=True)
class OutcomeCounts:
    """How many pairs came to each outcome, under one split or all."""

    a: int = 0
    b: int = 0
    tie: int = 0
    both_good: int = 0
    both_bad: int = 0
    order_changed: int = 0
    failed: int = 0
    missing: int = 0
    pending: int = 0

    @property
    def ties(self) -> int:
        """All that came out even: plain ties, both good, both bad."""
        return self.tie + self.both_good + self.both_bad

    @property
    def judged(self) -> int:
        return self.a + self.b + self.ties

    @property
    def planned(self) -> int:
        """Pairs that can be judged."""
        return self.judged + self.failed + self.pending

    @property
    def done(self) -> int:
        return self.judged + self.failed

    @property
    def total(self) -> int:
        return self.planned + self.missing


def outcome_counts(
    evaluator: ComparisonEvaluator, *, split: str = "", judge: str = ""
) -> OutcomeCounts:
    """Counts of one evaluator's judgments; without a split, of all."""
    return counts_by_split(evaluator, judge=judge).get(split, OutcomeCounts())


def counts_by_split(evaluator: ComparisonEvaluator, *, judge: str = "") -> dict[str, OutcomeCounts]:
    """The same for every split at once; the empty name stands for all."""
    return all_counts([evaluator], judge=judge).get(evaluator.pk, {})


def all_counts(
    evaluators: list[ComparisonEvaluator], *, judge: str = ""
) -> dict[int, dict[str, OutcomeCounts]]:
    """Counts of several evaluators by split, in one query."""
    sums: dict[int, dict[str, Counter[str]]] = {}
    rows = (
        OutcomeDelta.objects.filter(evaluator__in=evaluators, judge=judge)
        .values_list("evaluator", "split", "outcome", "order_changed")
        .annotate(total=Sum("amount"))
    )
    for evaluator, split, outcome, changed, total in rows:
        counts = sums.setdefault(evaluator, {}).setdefault(split, Counter())
        counts[outcome] += total
        counts["order_changed"] += total * changed
    return {
        evaluator: {split: OutcomeCounts(**counts) for split, counts in splits.items()}
        for evaluator, splits in sums.items()
    }
