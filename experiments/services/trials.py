"""Trying an evaluator on a few rows before anything is spent on all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection

from evaluators.base import row_error
from evaluators.errors import ModelError
from evaluators.llm.models import Reply
from experiments.errors import InvalidError
from experiments.models import Comparison, Evaluator, ExamplePayload, Experiment, Outcome, Run
from experiments.services.asking import (
    Asked,
    Judge,
    Question,
    Stored,
    store_replies,
    stored_replies,
)
from experiments.services.lane_tools import Tool
from experiments.services.samples import Sample
from experiments.services.sealing import Unsealable
from experiments.services.subjects import Answer, examples_of, game_of, orders_of, questions_for
from experiments.texts import text_of
from experiments.verdicts import GameResult, reduce_games

TRIAL_ROWS = 5
CALLS_AT_ONCE = 5

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


@dataclass(frozen=True)
class _Drawn:
    """A pair of runs with an output each, and the example as both saw it."""

    example_uid: UUID
    runs: tuple[UUID, UUID]
    outputs: tuple[str | None, str | None]
    input: str | None
    reference: str | None


@dataclass(frozen=True)
class _Put:
    """A question of one row, in one order, with what was answered and what that cost."""

    row: _Drawn
    order: tuple[int, int]
    question: Question | None
    answer: Answer
    reply: str = ""
    cost: Decimal | None = None


def try_out(
    *, experiments: Sequence[Experiment], evaluator: Evaluator, order: str, rows: int = TRIAL_ROWS
) -> list[TrialRow]:
    """Judge a few pairs now; replies are kept, so that judging all does not pay for them again."""
    tool = _tool(evaluator)
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
            _Put(drawn, shown, None, Answer(result))
            for (drawn, shown, _), result in zip(questions, results, strict=True)
        ]
    else:
        put = _asked(rules.workspace_id, tool.judge, questions)
    return _by_row(put)


@dataclass(frozen=True)
class ScoredRow:
    """One output tried by an evaluator of single outputs, with all that was asked and read."""

    example_uid: UUID | None
    input: str | None
    reference: str | None
    output: str | None
    score: float | bool | None
    value: str | None
    reason: str
    error: str
    prompt: str
    reply: str
    from_cache: bool


def try_out_runs(
    *, experiment: Experiment, evaluator: Evaluator, rows: int = TRIAL_ROWS
) -> list[ScoredRow]:
    """Score a few outputs of an experiment now; replies are kept."""
    tool = _tool(evaluator)
    runs = list(
        experiment.runs.filter(is_root=True, payload__outputs__isnull=False)
        .exclude(status=Run.Status.ERROR)
        .select_related("payload")
        .order_by("-start_time", "-pk")[:rows]
    )
    examples = examples_of(experiment, runs)
    drawn = [_run_drawn(run, examples.get(run.example_uid)) for run in runs]
    texts = [
        questions_for(
            tool.kind,
            tool.evaluator,
            prediction=one.outputs[0],
            input=one.input,
            reference=one.reference,
        )
        for one in drawn
    ]
    if tool.judge is None:
        answers = [Answer(result) for result in tool.evaluator.evaluate_batch(texts)]
        put = [_Put(one, (0, 0), None, answer) for one, answer in zip(drawn, answers, strict=True)]
    else:
        questions = [(one, (0, 0), text) for one, text in zip(drawn, texts, strict=True)]
        put = _asked(experiment.workspace_id, tool.judge, questions)
    return [_scored(one) for one in put]


def _run_drawn(run: Run, payload: ExamplePayload | None) -> _Drawn:
    return _Drawn(
        example_uid=run.example_uid or run.uid,
        runs=(run.uid, run.uid),
        outputs=(text_of(run.payload.outputs), None),
        input=text_of(payload.inputs if payload else run.payload.inputs),
        reference=text_of(payload.outputs) if payload else None,
    )


def _scored(one: _Put) -> ScoredRow:
    result = one.answer.result
    value = result.get("value")
    return ScoredRow(
        example_uid=one.row.example_uid,
        input=one.row.input,
        reference=one.row.reference,
        output=one.row.outputs[0],
        score=result.get("score"),
        value=None if value is None else str(value),
        reason=str(result.get("reasoning") or ""),
        error=one.answer.error,
        prompt=prompt_text(one.question),
        reply=one.reply,
        from_cache=one.answer.from_cache,
    )


def prompt_text(question: Question | None) -> str:
    """A prompt as it was sent, its parts under their roles; empty where no model is asked."""
    messages = question.messages if question else []
    return "\n\n".join(f"{part['role']}:\n{part['content']}" for part in messages)


def _tool(evaluator: Evaluator) -> Tool:
    try:
        return Tool(evaluator)
    except (ValueError, TypeError, ImportError, Unsealable) as error:
        raise InvalidError("evaluator", str(error)) from error


def _texts(tool: Tool, drawn: _Drawn, shown: tuple[int, int]) -> dict[str, Any]:
    first, second = shown
    return questions_for(
        tool.kind,
        tool.evaluator,
        prediction=drawn.outputs[first],
        prediction_b=drawn.outputs[second],
        input=drawn.input,
        reference=drawn.reference,
    )


def _draw(experiments: Sequence[Experiment], rows: int) -> list[_Drawn]:
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
        _Drawn(
            example_uid=example,
            runs=(run_a, run_b),
            outputs=(text_of(outputs[run_a]), text_of(outputs[run_b])),
            input=text_of(payloads[revision].inputs) if revision else None,
            reference=text_of(payloads[revision].outputs) if revision else None,
        )
        for example, run_a, run_b, revision in found
    ]


def _asked(
    workspace_id: int,
    judge: Judge,
    questions: Sequence[tuple[_Drawn, tuple[int, int], dict[str, Any]]],
) -> list[_Put]:
    """What the model says, from stored replies where there are any."""
    prepared = [judge.question(texts, Sample()) for _, _, texts in questions]
    known = stored_replies(workspace_id, [one for one in prepared if isinstance(one, Question)])
    new = {
        one.digests[0]: one
        for one in prepared
        if isinstance(one, Question) and (one.digests[0], 0) not in known
    }
    replies = dict(zip(new, asyncio.run(_ask_all(judge, list(new.values()))), strict=True))
    put = []
    for (drawn, shown, _), one in zip(questions, prepared, strict=True):
        if isinstance(one, Answer):
            put.append(_Put(drawn, shown, None, one))
        elif one.digests[0] in replies:
            reply = replies[one.digests[0]]
            put.append(_from_reply(workspace_id, judge, drawn, shown, one, reply))
        else:
            stored: Stored = known[one.digests[0], 0]
            put.append(_Put(drawn, shown, one, judge.read_stored(stored), stored.text))
    return put


async def _ask_all(judge: Judge, questions: Sequence[Question]) -> list[Reply | ModelError]:
    gate = asyncio.Semaphore(CALLS_AT_ONCE)

    async def ask(question: Question) -> Reply | ModelError:
        async with gate:
            try:
                return await judge.callers[0].call(question.messages)
            except ModelError as error:
                return error

    try:
        return await asyncio.gather(*map(ask, questions))
    finally:
        await judge.close()


def _from_reply(
    workspace_id: int,
    judge: Judge,
    drawn: _Drawn,
    shown: tuple[int, int],
    question: Question,
    reply: Reply | ModelError,
) -> _Put:
    if isinstance(reply, ModelError):
        return _Put(drawn, shown, question, Answer(row_error(reply)))
    caller = judge.callers[0]
    spent = caller.spent_on(question.messages, reply)
    cost = None if spent.unpriced or not spent.prompt_tokens else spent.money
    asked = Asked(question, 0, caller.provider.pk, reply, cost)
    (reply_id,) = store_replies(workspace_id, [asked])
    answer = judge.read(reply.text, reply.finish_reason, reply_id, from_cache=False)
    return _Put(drawn, shown, question, answer, reply.text, cost)


def _by_row(put: Sequence[_Put]) -> list[TrialRow]:
    rows: dict[UUID, list[_Put]] = {}
    for one in put:
        rows.setdefault(one.row.example_uid, []).append(one)
    return [_row(games) for games in rows.values()]


def _row(put: Sequence[_Put]) -> TrialRow:
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


def _game(one: _Put, played: GameResult) -> TrialGame:
    return TrialGame(
        order="A, then B" if one.order == (0, 1) else "B, then A",
        prompt=prompt_text(one.question),
        reply=one.reply,
        played=played,
        cost=one.cost,
    )
