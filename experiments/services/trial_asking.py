"""Putting the questions of a trial: replies are kept, so that judging all does not pay again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from evaluators.base import row_error
from evaluators.errors import ModelError
from evaluators.llm.models import Reply
from experiments.errors import InvalidError
from experiments.models import Evaluator
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
from experiments.services.subjects import Answer

CALLS_AT_ONCE = 5


@dataclass(frozen=True)
class Drawn:
    """A pair of runs with an output each, or one run twice, and the example as they saw it."""

    example_uid: UUID
    runs: tuple[UUID, UUID]
    outputs: tuple[str | None, str | None]
    input: str | None
    reference: str | None


@dataclass(frozen=True)
class Put:
    """A question of one row, in one order, with what was answered and what that cost."""

    row: Drawn
    order: tuple[int, int]
    question: Question | None
    answer: Answer
    reply: str = ""
    cost: Decimal | None = None


def tool_of(evaluator: Evaluator) -> Tool:
    """The evaluator ready for use; InvalidError where its settings or its key do not allow it."""
    try:
        return Tool(evaluator)
    except (ValueError, TypeError, ImportError, Unsealable) as error:
        raise InvalidError("evaluator", str(error)) from error


def prompt_text(question: Question | None) -> str:
    """A prompt as it was sent, its parts under their roles; empty where no model is asked."""
    messages = question.messages if question else []
    return "\n\n".join(f"{part['role']}:\n{part['content']}" for part in messages)


def asked(
    workspace_id: int,
    judge: Judge,
    questions: Sequence[tuple[Drawn, tuple[int, int], dict[str, Any]]],
) -> list[Put]:
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
            put.append(Put(drawn, shown, None, one))
        elif one.digests[0] in replies:
            reply = replies[one.digests[0]]
            put.append(_from_reply(workspace_id, judge, drawn, shown, one, reply))
        else:
            stored: Stored = known[one.digests[0], 0]
            put.append(Put(drawn, shown, one, judge.read_stored(stored), stored.text))
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
    drawn: Drawn,
    shown: tuple[int, int],
    question: Question,
    reply: Reply | ModelError,
) -> Put:
    if isinstance(reply, ModelError):
        return Put(drawn, shown, question, Answer(row_error(reply)))
    caller = judge.callers[0]
    spent = caller.spent_on(question.messages, reply)
    cost = None if spent.unpriced or not spent.prompt_tokens else spent.money
    asked = Asked(question, 0, caller.provider.pk, reply, cost)
    (reply_id,) = store_replies(workspace_id, [asked])
    answer = judge.read(reply.text, reply.finish_reason, reply_id, from_cache=False)
    return Put(drawn, shown, question, answer, reply.text, cost)
