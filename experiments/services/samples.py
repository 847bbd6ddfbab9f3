"""Which of a model's answers to the same prompt a question asks for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from experiments.models import Evaluation, Game, Run

FRESH = 100_000


@dataclass(frozen=True)
class Sample:
    """Repetitions are separate samples; so is what a pair is asked again.

    `unread` are earlier samples that nobody could read; a better reader may.
    """

    number: int = 0
    unread: tuple[int, ...] = ()


def next_sample(repetition: int, spent: Sequence[bool]) -> Sample:
    """The next sample of a question, after those that are spent; True marks unread ones."""
    numbers = [repetition + FRESH * place for place in range(len(spent) + 1)]
    unread = (number for number, was_unread in zip(numbers, spent, strict=False) if was_unread)
    return Sample(numbers[-1], tuple(unread))


def spent_samples(judgment_ids: Collection[int]) -> dict[tuple[int, int], list[bool]]:
    """For each judgment and game number the earlier samples that may not answer again.

    They could not be read (True), or the orders disagreed and the pair is judged once more.
    """
    rounds: dict[tuple[int, int], list[Game]] = defaultdict(list)
    games = Game.objects.filter(judgment__in=judgment_ids).order_by("judgment", "round", "number")
    for game in games.only("judgment", "round", "number", "winner", "error_kind"):
        rounds[game.judgment_id, game.round].append(game)
    spent: dict[tuple[int, int], list[bool]] = defaultdict(list)
    for played in rounds.values():
        failed = any(game.error_kind for game in played)
        disagreed = not failed and len({game.winner for game in played}) > 1
        for game in played:
            unread = game.error_kind == "unreadable"
            if unread or disagreed:
                spent[game.judgment_id, game.number].append(unread)
    return spent


def repetitions_of(evaluation: Evaluation, runs: Iterable[Run]) -> dict[int, int]:
    """Which repetition of its example each run is, by the run's key."""
    rows = Run.objects.filter(
        experiment=evaluation.experiment_id,
        is_root=True,
        example_uid__in={run.example_uid for run in runs if run.example_uid},
    )
    seen: Counter[UUID | None] = Counter()
    found: dict[int, int] = {}
    for pk, example in rows.order_by("start_time", "pk").values_list("pk", "example_uid"):
        found[pk] = seen[example]
        seen[example] += 1
    return found
