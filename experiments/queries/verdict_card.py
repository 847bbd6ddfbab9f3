"""The verdict of a comparison: the counts handed to the statistics, nothing computed here."""

from dataclasses import replace
from typing import Literal

from evaluators.statistics.verdict import Counts, Verdict, verdict
from experiments.models import Comparison, ComparisonEvaluator, Race
from experiments.queries.outcome_counts import (
    OutcomeCounts,
    counts_by_example,
    repeated_in,
)

Rule = Literal["decided", "half"]


def verdict_of(
    comparison: Comparison,
    evaluator: ComparisonEvaluator,
    counts: OutcomeCounts,
    *,
    rule: Rule | None = None,
    repeated: bool | None = None,
    rows: tuple[int, int, int] | None = None,
    swap: bool = False,
) -> Verdict:
    """Who won by this evaluator, and how sure that is; repeated examples count once each.

    `repeated` says whether there are any, where the caller knows already; `rows` are rows won by
    A, by B, and even, where they are counted by another rule. Where judging stopped because the
    verdict was certain, it is the one of that moment. With `swap` the sides change their letters.
    """
    race = race_of(evaluator)
    if race is not None and race.is_halted:
        rows = rows or (race.wins, race.losses, race.examples - race.wins - race.losses)
        counts = replace(counts, pending=0)
    if rows is not None:
        a, b, even = rows
        counts = replace(counts, a=a, b=b, tie=even, both_good=0, both_bad=0)
    elif comparison.pk in repeated_in([comparison.pk]) if repeated is None else repeated:
        counts = counts_by_example(evaluator, counts)
    names = [side.name for side in comparison.sides.all()]
    if swap:
        counts, names = replace(counts, a=counts.b, b=counts.a), [names[1], names[0]]
    return verdict(
        Counts(
            wins_a=counts.a,
            wins_b=counts.b,
            ties=counts.ties,
            both_good=counts.both_good,
            both_bad=counts.both_bad,
            failed=counts.failed,
            missing=counts.missing,
            pending=counts.pending,
            name_a=names[0],
            name_b=names[1],
            judge=evaluator.key,
            margin=comparison.margin,
            rule=rule,
            sequential=race is not None,
        )
    )


def race_of(evaluator: ComparisonEvaluator) -> Race | None:
    """The race of an evaluator whose judging may stop early; None for the others."""
    try:
        return evaluator.race
    except Race.DoesNotExist:
        return None
