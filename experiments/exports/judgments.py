"""Judgments of every evaluator and person, and the games behind them."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from experiments.exports.comparisons import Sides
from experiments.exports.records import Export, Record, cell, flatten, in_chunks, texts
from experiments.models import Comparison, Game, Judgment

OF_JUDGMENT = (
    "example_id",
    "repetition",
    "splits",
    "evaluator",
    "judge",
    "outcome",
    "order_changed",
    "reason",
    "error",
    "judged_at",
)
GAME_COLUMNS = (
    "example_id",
    "repetition",
    "evaluator",
    "judge",
    "round",
    "number",
    "order_shown",
    "verdict",
    "winner",
    "reason",
    "error",
    "error_kind",
    "attempts",
    "from_cache",
    "model",
    "prompt",
    "reply",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "seconds",
    "evaluator_run_id",
    "created_at",
)


def judgments_export(comparison: Comparison, rows: QuerySet[Judgment] | None = None) -> Export:
    """The verdicts without the texts they are about; without `rows`, all there are."""
    sides = Sides.of(comparison)
    found = Judgment.objects.filter(comparison=comparison) if rows is None else rows
    full = Judgment.objects.select_related("pair", "evaluator").prefetch_related("scores")
    columns = (*OF_JUDGMENT, *sides.columns(["run_id", "score"]))

    def read() -> Iterator[Record]:
        ordered = found.order_by("evaluator", "position", "pk")
        return flatten((_judgment(row, sides) for row in part) for part in in_chunks(ordered, full))

    return Export(f"{comparison.name} judgments", columns, read)


def _judgment(row: Judgment, sides: Sides) -> Record:
    scores = {score.position: score.score for score in row.scores.all()}
    record: Record = {
        "example_id": cell(row.pair.example_uid),
        "repetition": cell(row.pair.repetition),
        "splits": texts(row.pair.splits),
        "evaluator": cell(row.evaluator.key),
        "judge": cell(row.judge or None),
        "outcome": cell(row.outcome),
        "order_changed": cell(row.order_changed),
        "reason": cell(row.reason or None),
        "error": cell(row.error or None),
        "judged_at": cell(row.judged_at),
    }
    for place, (letter, uid) in enumerate(zip(sides.letters, row.pair.run_uids, strict=False)):
        record |= {f"{letter}_run_id": cell(uid), f"{letter}_score": cell(scores.get(place))}
    return record


def games_export(comparison: Comparison, rows: QuerySet[Judgment] | None = None) -> Export:
    """Every question put to a judge, with what it was asked and what it answered."""
    found = Game.objects.filter(judgment__comparison=comparison)
    if rows is not None:
        found = found.filter(judgment__in=rows)
    ordered = found.order_by("judgment__evaluator", "judgment__position", "judgment", "pk")
    full = Game.objects.select_related("judgment__pair", "judgment__evaluator", "reply")

    def read() -> Iterator[Record]:
        return flatten(map(_game, part) for part in in_chunks(ordered, full))

    return Export(f"{comparison.name} games", GAME_COLUMNS, read)


def _game(row: Game) -> Record:
    judgment = row.judgment
    return {
        "example_id": cell(judgment.pair.example_uid),
        "repetition": cell(judgment.pair.repetition),
        "evaluator": cell(judgment.evaluator.key),
        "judge": cell(judgment.judge or None),
        "round": cell(row.round),
        "number": cell(row.number),
        "order_shown": texts(row.order_shown),
        "verdict": cell(row.verdict),
        "winner": cell(row.winner),
        "reason": cell(row.reason or None),
        "error": cell(row.error or None),
        "error_kind": cell(row.error_kind or None),
        "attempts": cell(row.attempts),
        "from_cache": cell(row.from_cache),
        **_reply(row),
        "evaluator_run_id": cell(row.evaluator_run_uid),
        "created_at": cell(row.created_at),
    }


def _reply(row: Game) -> Record:
    reply = row.reply
    if reply is None:
        return {}
    return {
        "model": cell(reply.model),
        "prompt": reply.prompt,
        "reply": reply.text,
        "prompt_tokens": cell(reply.prompt_tokens),
        "completion_tokens": cell(reply.completion_tokens),
        "cost": f"{reply.cost:f}" if reply.cost is not None else None,
        "seconds": cell(reply.latency),
    }
