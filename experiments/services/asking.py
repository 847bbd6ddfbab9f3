"""Asking a model: one stored reply for each question, paid for once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection

from evaluators.base import row_error
from evaluators.errors import ModelError, UnreadableReply
from evaluators.llm.models import Message, Reply
from experiments.models import JudgeReply, Provider
from experiments.rawjson import dumps, loads, storable
from experiments.services.calling import Caller
from experiments.services.fallbacks import chain_of
from experiments.services.reserved import Key, reserve_questions
from experiments.services.samples import Sample
from experiments.services.sealing import prompt_salt
from experiments.services.subjects import Answer, Work

log = logging.getLogger(__name__)
LONGEST_WAIT_SECONDS = 3600.0
Known = Mapping[tuple[bytes, int], "Stored"]


@dataclass(frozen=True)
class Question:
    """A prompt, the key of its reply for each provider of the chain, and which sample it is."""

    messages: list[Message]
    prompt: str
    digests: list[bytes]
    sample: Sample = field(default_factory=Sample)

    @property
    def key(self) -> Key:
        """Under what it is reserved: by the first model of the chain."""
        return self.digests[0], self.sample.number

    def is_stored(self, known: Known) -> bool:
        """Whether a reply of any of its models is there."""
        return any((digest, self.sample.number) in known for digest in self.digests)


@dataclass(frozen=True)
class Asked:
    """A reply that has just arrived and must be stored before it is read."""

    question: Question
    place: int
    provider_id: int
    reply: Reply
    cost: Decimal | None

    @property
    def key(self) -> tuple[bytes, int]:
        return self.question.digests[self.place], self.question.sample.number


@dataclass(frozen=True)
class Stored:
    """A reply that was paid for earlier."""

    pk: int
    text: str
    finish_reason: str = ""


class Judge:
    """The models that judge for one evaluator: builds prompts, reads replies.

    Each of the callers is asked where the one before is limited, late, overrun or unreadable.
    """

    def __init__(self, provider: Provider, evaluator: Any) -> None:
        self.evaluator = evaluator
        self.salt = prompt_salt()
        schema = evaluator.reply_schema()
        self.callers = [Caller(row, schema) for row in chain_of(provider)]

    async def close(self) -> None:
        for caller in self.callers:
            await caller.close()

    def questions(self, work: Work) -> list[Question | Answer]:
        """The prompts of a work; a row the evaluator refuses is answered by that refusal."""
        return [
            self.question(texts, sample)
            for texts, sample in zip(work.questions, work.samples, strict=True)
        ]

    def question(self, texts: dict[str, Any], sample: Sample) -> Question | Answer:
        """The prompt for these texts, or the evaluator's refusal of them."""
        try:
            self.evaluator.check_arguments(
                reference=texts.get("reference"), input=texts.get("input")
            )
            messages = self.evaluator.build_prompt(salt=self.salt, **texts)
        except ValueError as error:
            return Answer(row_error(error))
        prompt = dumps(messages)
        return Question(
            messages, prompt, [caller.digest(prompt) for caller in self.callers], sample
        )

    def answer_from(self, question: Question, known: Known) -> Answer | None:
        """What stored replies say to a question, those that could not be read earlier included."""
        for digest in question.digests:
            for number in (question.sample.number, *question.sample.unread):
                stored = known.get((digest, number))
                answer = stored and self.read_stored(stored)
                if answer and not answer.error:
                    return answer
        last = known.get((question.digests[-1], question.sample.number))
        return self.read_stored(last) if last else None

    def read_stored(self, stored: Stored) -> Answer:
        return self.read(stored.text, stored.finish_reason, stored.pk, from_cache=True)

    def read(self, text: str, finish_reason: str, reply_id: int, *, from_cache: bool) -> Answer:
        """What a reply says; an unreadable one is an error that keeps the text."""
        try:
            result = self.evaluator.read_reply(text, finish_reason)
        except ValueError as error:
            result = row_error(error)
        except Exception as error:
            log.warning("A reader failed", exc_info=error)
            unread = f"The reply could not be read ({type(error).__name__})."
            result = row_error(UnreadableReply(unread, str(text)))
        return Answer(result, reply_id, from_cache)


def stored_replies(workspace_id: int, questions: Sequence[Question]) -> dict[Any, Stored]:
    """Replies to these very questions that are in the database already, by digest and sample."""
    return _found(workspace_id, {digest for one in questions for digest in one.digests})


def reserved_replies(
    workspace_id: int, token: UUID, questions: Sequence[Question]
) -> tuple[set[Key], dict[Any, Stored]]:
    """Reserve questions, then look what is stored: whoever held one before has stored its reply."""
    reserved = reserve_questions(workspace_id, token, {one.key for one in questions})
    return reserved, stored_replies(workspace_id, questions)


def _found(workspace_id: int, digests: set[bytes]) -> dict[Any, Stored]:
    rows = JudgeReply.objects.filter(workspace=workspace_id, digest__in=digests).values_list(
        "digest", "sample", "pk", "text"
    )
    return {(bytes(digest), sample): Stored(pk, **loads(text)) for digest, sample, pk, text in rows}


STORE = """
INSERT INTO experiments_judgereply
    (workspace_id, digest, sample, model, provider_id, text, prompt, prompt_tokens,
     completion_tokens, cost, latency, created_at)
SELECT %s, new.*, clock_timestamp()
FROM unnest(%s::bytea[], %s::int[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::bigint[],
            %s::bigint[], %s::numeric[], %s::float8[]) AS new
ON CONFLICT (workspace_id, digest, sample) DO NOTHING
RETURNING digest, sample, id
"""


def store_replies(workspace_id: int, asked: Sequence[Asked]) -> list[int]:
    """Store replies as they came; one that is there already keeps its first text."""
    columns = zip(*map(_row, asked), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(STORE, [workspace_id, *map(list, columns)])
        keys = {(bytes(digest), sample): pk for digest, sample, pk in cursor.fetchall()}
    lost = {item.key[0] for item in asked if item.key not in keys}
    known = _found(workspace_id, lost) if lost else {}
    return [keys.get(item.key) or known[item.key].pk for item in asked]


def _row(item: Asked) -> tuple[Any, ...]:
    digest, sample = item.key
    reply = item.reply
    return (
        digest,
        sample,
        storable(reply.model)[:200],
        item.provider_id,
        dumps({"text": reply.text, "finish_reason": reply.finish_reason}),
        item.question.prompt,
        reply.input_tokens,
        reply.output_tokens,
        item.cost,
        reply.latency,
    )


def delay_before_repeating(error: ModelError, attempts: int) -> float:
    """Seconds to wait: what the provider asked for, else 1, 2, 4, … up to a minute."""
    asked = getattr(error, "retry_after", None)
    return min(LONGEST_WAIT_SECONDS, asked) if asked is not None else min(60.0, 2.0**attempts)
