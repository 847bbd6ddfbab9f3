"""Stop when certain: the race of A and B, followed in the random order in which it is judged.

Never in the order of arrival: what takes long to judge arrives late, and may lean to one side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from django.db import transaction

from evaluators.statistics.sequential import log_e_value
from experiments.models import Comparison, Judgment, Outcome, QueueItem, Race

ALPHA = 0.05
ROWS_AT_ONCE = 1000
JUDGED = frozenset({Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_GOOD, Outcome.BOTH_BAD})
Place = tuple[int, str, UUID]


def is_certain(wins: int, losses: int) -> bool:
    """Whether the evidence against an even race has reached 1/alpha (Ville's inequality)."""
    return log_e_value(wins, losses) >= -math.log(ALPHA)


def follow(race: Race, examples: Iterable[Sequence[Place]]) -> bool:
    """Follow a race example by example until the next gap; True once it is certain.

    An example comes as the places of its repetitions: rank, outcome and the example's id. Most of
    its repetitions win it; without a verdict on any it does not count.
    """
    for places in examples:
        outcomes = [outcome for _, outcome, _ in places]
        if Outcome.PENDING in outcomes:
            return False
        race.rank = places[-1][0]
        if not JUDGED.intersection(outcomes):
            continue
        lead = outcomes.count(Outcome.A) - outcomes.count(Outcome.B)
        race.examples += 1
        race.wins += lead > 0
        race.losses += lead < 0
        if lead and is_certain(race.wins, race.losses):
            return True
    return False


def follow_races(comparison: Comparison) -> None:
    """Follow the races of a comparison, and let nobody ask on where one has become certain."""
    for pk in Race.objects.filter(evaluator__comparison=comparison, stopped_at=None).values_list(
        "pk", flat=True
    ):
        _follow_one(pk)


@transaction.atomic
def _follow_one(race_id: int) -> None:
    race = (
        Race.objects.select_for_update(of=("self",))
        .select_related("evaluator__comparison")
        .get(pk=race_id)
    )
    if race.stopped_at is not None:
        return
    if follow(race, _examples(race)):
        race.stopped_at = race.examples
        race.is_halted = True
        QueueItem.objects.filter(
            job=race.evaluator.comparison.job_id or 0,
            evaluator=race.evaluator.evaluator_id or 0,
            lane_token=None,
        ).delete()
    race.save()


def _examples(race: Race) -> Iterator[list[Place]]:
    """The places behind the one followed last, by example; a page's last example may go on."""
    rank = race.rank
    while True:
        rows = list(
            Judgment.objects.filter(evaluator=race.pk, judge="", rank__gt=rank)
            .order_by("rank")
            .values_list("rank", "outcome", "pair__example_uid")[:ROWS_AT_ONCE]
        )
        groups = [list(group) for _, group in groupby(rows, key=itemgetter(2))]
        is_last = len(rows) < ROWS_AT_ONCE
        yield from groups if is_last else groups[:-1]
        if is_last or len(groups) < 2:
            return
        rank = groups[-2][-1][0]


def halted(comparison: Comparison) -> set[int]:
    """The evaluators of a comparison that are not asked on: their verdict is certain."""
    rows = Race.objects.filter(evaluator__comparison=comparison, is_halted=True)
    return set(rows.values_list("evaluator__evaluator", flat=True))


def go_on(comparison: Comparison) -> None:
    """Ask on, although the verdict is certain; it stays one that was looked at early."""
    Race.objects.filter(evaluator__comparison=comparison).update(is_halted=False)
