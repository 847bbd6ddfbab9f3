"""Trying an evaluator on a few rows before anything is spent on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection

from experiments.models import Comparison, Evaluator, ExamplePayload, Experiment, Outcome, Run
from experiments.services.lane_tools import Tool
from experiments.services.subjects import Answer, game_of, orders_of, questions_for
from experiments.services.trial_asking import Drawn, Put, asked, prompt_text, tool_of
from experiments.texts import text_of
from experiments.verdicts import GameResult, reduce_games

TRIAL_ROWS = 5

_PAIRS = """
SELECT a.example_uid, a.uid, b.uid, revision.id
FROM experiments_run a
JOIN experiments_runpayload payload_a ON payload_a.run_id = a.id AND payload_a.outputs IS NOT NULL
JOIN LATERAL (
    SELECT run.uid FROM experiments_run run
    JOIN experiments_runpayload payload ON payload.run_id = run.id AND payload.outputs IS NOT NULL
    WHERE run.experiment_id = %(b)s AND run.is_root AND run.example_uid = a.example_uid
      AND run.status <> 'error'
    ORDER BY run.start_time, run.id LIMIT 1
) b ON true
JOIN experiments_example example
    ON example.workspace_id = a.workspace_id AND example.uid = a.example_uid
LEFT JOIN LATERAL (
    SELECT id FROM experiments_examplerevision revision
    WHERE revision.example_id = example.id
      AND revision.valid_from <= coalesce(%(as_of)s, 'infinity'::timestamptz)
    ORDER BY revision.valid_from DESC LIMIT 1
) revision ON true
WHERE a.experiment_id = %(a)s AND a.is_root AND a.status <> 'error'
ORDER BY md5(a.example_uid::text), a.start_time, a.id LIMIT %(rows)s
"""


@dataclass(frozen=True)
class TrialGame:
    """One question as it was put: the order shown, prompt and reply in full, what was read."""

    order: str
    prompt: str
    reply: str
    played: GameResult
    cost: Decimal | None


@dataclass(frozen=True)
class TrialRow:
    """One example tried: its texts, its games, and the verdict they come to."""

    example_uid: UUID
    input: str | None
    reference: str | None
    a: str | None
    b: str | None
    games: Sequence[TrialGame]
    outcome: Outcome
    order_changed: bool
    error: str


def try_out(
    *, experiments: Sequence[Experiment], evaluator: Evaluator, order: str, rows: int = TRIAL_ROWS
) -> list[TrialRow]:
    """Judge a few pairs now; replies are kept, so that judging all does not pay for them again."""
    tool = tool_of(evaluator)
    # Never saved: only its rules for the order shown are asked for.
    rules = Comparison(workspace_id=experiments[0].workspace_id, order=order)
    questions = [
        (drawn, shown, _texts(tool, drawn, shown))
        for drawn in _draw(experiments, rows)
        for shown in orders_of(rules, tool.kind, f"{drawn.example_uid}0")
    ]
    if tool.judge is None:
        results = tool.evaluator.evaluate_batch([texts for _, _, texts in questions])
        put = [
            Put(drawn, shown, None, Answer(result))
            for (drawn, shown, _), result in zip(questions, results, strict=True)
        ]
    else:
        put = asked(rules.workspace_id, tool.judge, questions)
    return _by_row(put)


def _texts(tool: Tool, drawn: Drawn, shown: tuple[int, int]) -> dict[str, Any]:
    first, second = shown
    return questions_for(
        tool.kind,
        tool.evaluator,
        prediction=drawn.outputs[first],
        prediction_b=drawn.outputs[second],
        input=drawn.input,
        reference=drawn.reference,
    )


def _draw(experiments: Sequence[Experiment], rows: int) -> list[Drawn]:
    a, b = experiments
    values = {"a": a.pk, "b": b.pk, "as_of": a.dataset_version, "rows": rows}
    with connection.cursor() as cursor:
        cursor.execute(_PAIRS, values)
        found = cursor.fetchall()
    outputs = dict(
        Run.objects.filter(
            workspace=a.workspace_id, uid__in=[uid for _, *runs, _ in found for uid in runs]
        ).values_list("uid", "payload__outputs")
    )
    payloads = ExamplePayload.objects.in_bulk([revision for *_, revision in found if revision])
    return [
        Drawn(
            example_uid=example,
            runs=(run_a, run_b),
            outputs=(text_of(outputs[run_a]), text_of(outputs[run_b])),
            input=text_of(payloads[revision].inputs) if revision else None,
            reference=text_of(payloads[revision].outputs) if revision else None,
        )
        for example, run_a, run_b, revision in found
    ]


def _by_row(put: Sequence[Put]) -> list[TrialRow]:
    rows: dict[UUID, list[Put]] = {}
    for one in put:
        rows.setdefault(one.row.example_uid, []).append(one)
    return [_row(games) for games in rows.values()]


def _row(put: Sequence[Put]) -> TrialRow:
    drawn = put[0].row
    played = [game_of(drawn.runs, one.order, one.answer) for one in put]
    verdict = reduce_games(played, drawn.runs)
    return TrialRow(
        example_uid=drawn.example_uid,
        input=drawn.input,
        reference=drawn.reference,
        a=drawn.outputs[0],
        b=drawn.outputs[1],
        games=[_game(one, game) for one, game in zip(put, played, strict=True)],
        outcome=verdict.outcome,
        order_changed=verdict.order_changed,
        error=verdict.error,
    )


def _game(one: Put, played: GameResult) -> TrialGame:
    return TrialGame(
        order="A, then B" if one.order == (0, 1) else "B, then A",
        prompt=prompt_text(one.question),
        reply=one.reply,
        played=played,
        cost=one.cost,
    )
