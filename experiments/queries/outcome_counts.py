"""The counts beside the filters, from the deltas that every write appends."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db import connection
from django.db.models import Sum

from experiments.models import ComparisonEvaluator, Outcome, OutcomeDelta, Pair

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


EXAMPLES = """
SELECT evaluator_id, count(*) FILTER (WHERE lead > 0), count(*) FILTER (WHERE lead < 0),
       count(*) FILTER (WHERE lead = 0)
FROM (
    SELECT judgment.evaluator_id,
           sum((judgment.outcome = 'a')::int - (judgment.outcome = 'b')::int) AS lead
    FROM experiments_judgment judgment
    JOIN experiments_pair pair ON pair.id = judgment.pair_id
    WHERE judgment.evaluator_id = ANY(%s) AND judgment.judge = ''
      AND judgment.outcome IN ('a', 'b', 'tie', 'both_good', 'both_bad')
    GROUP BY judgment.evaluator_id, pair.example_uid
) example
GROUP BY evaluator_id
"""


def repeated_in(comparison_ids: Iterable[int]) -> set[int]:
    """Those comparisons in which an example was judged more than once: it was run repeatedly."""
    pairs = Pair.objects.filter(comparison__in=comparison_ids, repetition__gt=0)
    return set(pairs.order_by().values_list("comparison", flat=True).distinct())


def counts_by_example(evaluator: ComparisonEvaluator, counts: OutcomeCounts) -> OutcomeCounts:
    """The same counts with wins and ties of examples in place of those of pairs."""
    a, b, ties = examples_won([evaluator.pk]).get(evaluator.pk, (0, 0, 0))
    return replace(counts, a=a, b=b, tie=ties, both_good=0, both_bad=0)


def examples_won(evaluator_ids: list[int]) -> dict[int, tuple[int, int, int]]:
    """Examples won by A, by B, and even, by evaluator; most of its repetitions win an example.

    Repetitions of one example are not independent; counted one by one they would make a verdict
    look surer than it is.
    """
    if not evaluator_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(EXAMPLES, [evaluator_ids])
        return {evaluator: (a, b, ties) for evaluator, a, b, ties in cursor.fetchall()}


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
