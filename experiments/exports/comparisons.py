"""Rows of a comparison, and preference pairs made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from experiments.exports.conversations import preference
from experiments.exports.records import Export, Record, cell, flatten, in_chunks, texts
from experiments.models import Comparison, ComparisonEvaluator, Judgment, Outcome, Run

PREFERENCE_COLUMNS = ("prompt", "chosen", "rejected")
WINNERS = {Outcome.A: 0, Outcome.B: 1}
OF_ROW = (
    "example_id",
    "repetition",
    "splits",
    "evaluator",
    "outcome",
    "winner",
    "order_changed",
    "reason",
    "error",
    "judged_at",
    "inputs",
    "reference_outputs",
)
OF_SIDE = ("name", "run_id", "score", "outputs", "error")


@dataclass(frozen=True)
class Sides:
    """The experiments of a comparison by letter."""

    workspace_id: int
    names: Sequence[str]

    @classmethod
    def of(cls, comparison: Comparison) -> Sides:
        return cls(comparison.workspace_id, [side.name for side in comparison.sides.all()])

    @property
    def letters(self) -> list[str]:
        return [chr(ord("a") + place) for place in range(len(self.names))]

    def columns(self, parts: Sequence[str] = OF_SIDE) -> tuple[str, ...]:
        return tuple(f"{letter}_{part}" for letter in self.letters for part in parts)


def rows_export(
    comparison: Comparison, evaluator: ComparisonEvaluator, rows: QuerySet[Judgment]
) -> Export:
    """The rows of the table that the filters leave, in the dataset's own order."""
    sides = Sides.of(comparison)
    spread = ("inputs", "reference_outputs", *sides.columns(["outputs"]))

    def read() -> Iterator[Record]:
        return flatten(_records(chunk, sides, evaluator.key) for chunk in _chunks(rows))

    return Export(comparison.name, (*OF_ROW, *sides.columns()), read, spread=spread)


def preferences_export(comparison: Comparison, rows: QuerySet[Judgment]) -> Export:
    """Prompt, chosen and rejected of every row that has a winner; ties are left out."""
    sides = Sides.of(comparison)
    decided = rows.filter(outcome__in=WINNERS)

    def read() -> Iterator[Record]:
        return flatten(_preferences(chunk, sides) for chunk in _chunks(decided))

    return Export(f"{comparison.name} preferences", PREFERENCE_COLUMNS, read)


def _chunks(rows: QuerySet[Judgment]) -> Iterator[list[Judgment]]:
    full = Judgment.objects.select_related("pair__revision__payload").prefetch_related("scores")
    return in_chunks(rows.order_by("position", "pk"), full)


def _runs(chunk: Sequence[Judgment], workspace_id: int) -> dict[UUID | None, Run]:
    uids = {uid for row in chunk for uid in row.pair.run_uids if uid}
    rows = Run.objects.filter(workspace=workspace_id, uid__in=uids).select_related("payload")
    return {
        run.uid: run for run in rows.only("uid", "status", "payload__outputs", "payload__error")
    }


def _records(chunk: Sequence[Judgment], sides: Sides, key: str) -> Iterator[Record]:
    runs = _runs(chunk, sides.workspace_id)
    for row in chunk:
        yield _head(row, sides, key) | _of_sides(row, sides, runs)


def _head(row: Judgment, sides: Sides, key: str) -> Record:
    place = WINNERS.get(Outcome(row.outcome))
    payload = row.pair.revision.payload if row.pair.revision else None
    return {
        "example_id": cell(row.pair.example_uid),
        "repetition": cell(row.pair.repetition),
        "splits": texts(row.pair.splits),
        "evaluator": cell(key),
        "outcome": cell(row.outcome),
        "winner": cell(sides.names[place]) if place is not None else None,
        "order_changed": cell(row.order_changed),
        "reason": cell(row.reason or None),
        "error": cell(row.error or None),
        "judged_at": cell(row.judged_at),
        "inputs": payload.inputs if payload else None,
        "reference_outputs": payload.outputs if payload else None,
    }


def _of_sides(row: Judgment, sides: Sides, runs: dict[UUID | None, Run]) -> Record:
    scores = {score.position: score.score for score in row.scores.all()}
    record: Record = {}
    for place, (letter, uid) in enumerate(zip(sides.letters, row.pair.run_uids, strict=False)):
        run = runs.get(uid)
        record |= {
            f"{letter}_name": cell(sides.names[place]),
            f"{letter}_run_id": cell(uid),
            f"{letter}_score": cell(scores.get(place)),
            f"{letter}_outputs": run.payload.outputs if run else None,
            f"{letter}_error": run.payload.error if run else None,
        }
    return record


def _preferences(chunk: Sequence[Judgment], sides: Sides) -> Iterator[Record]:
    runs = _runs(chunk, sides.workspace_id)
    for row in chunk:
        winner = WINNERS[Outcome(row.outcome)]
        pair = [runs.get(uid) for uid in row.pair.run_uids[:2]]
        chosen, rejected = pair[winner], pair[1 - winner]
        if row.pair.revision and chosen and rejected:
            inputs = row.pair.revision.payload.inputs
            yield preference(inputs, chosen.payload.outputs, rejected.payload.outputs)
