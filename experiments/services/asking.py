"""Asking a model: one stored reply for each question, paid for once."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evaluators.base import row_error
from evaluators.errors import ModelError, ModelTimeout
from evaluators.llm.models import Message, Reply
from evaluators.llm.providers import provider as make_provider
from experiments.models import Evaluator, JudgeReply, Provider
from experiments.rawjson import dumps, loads
from experiments.services.outbound import guarded_client
from experiments.services.sealing import prompt_salt, unseal
from experiments.services.subjects import Answer, Work

Save = Callable[["Asked"], Awaitable[int]]


@dataclass(frozen=True)
class Question:
    """A prompt, and the key under which its reply is stored."""

    messages: list[Message]
    digest: bytes
    sample: int


@dataclass(frozen=True)
class Asked:
    """A reply that has just arrived and must be stored before it is read."""

    question: Question
    reply: Reply


@dataclass(frozen=True)
class Stored:
    """A reply that was paid for earlier."""

    pk: int
    text: str
    finish_reason: str = ""


class Judge:
    """A model that judges for one evaluator: builds prompts, calls, reads replies."""

    def __init__(self, row: Evaluator, provider: Provider, evaluator: Any) -> None:
        self.row = row
        self.provider = provider
        self.evaluator = evaluator
        self.salt = prompt_salt()
        self.settings: dict[str, Any] = {"temperature": 0.0, "max_tokens": provider.max_tokens}
        self.shape = {"schema": evaluator.reply_schema()} if provider.structured else {}
        self.client = guarded_client(provider.timeout)
        self.model = make_provider(
            "openai",
            model=provider.model,
            base_url=provider.base_url,
            api_key=unseal(bytes(provider.sealed_key)) or "none",
            timeout=provider.timeout,
            max_retries=0,
            async_http_client=self.client,
            structured=provider.structured,
            **self.settings,
        )

    async def close(self) -> None:
        await self.client.aclose()

    def questions(self, work: Work) -> list[Question | Answer]:
        """The prompts of a work; a row the evaluator refuses is answered by that refusal."""
        return [self._question(texts, work.sample) for texts in work.questions]

    def _question(self, texts: dict[str, Any], sample: int) -> Question | Answer:
        try:
            self.evaluator.check_arguments(
                reference=texts.get("reference"), input=texts.get("input")
            )
            messages = self.evaluator.build_prompt(salt=self.salt, **texts)
        except ValueError as error:
            return Answer(row_error(error))
        return Question(messages, self._digest(messages), sample)

    def _digest(self, messages: Sequence[Message]) -> bytes:
        """What was asked, and of whom: reading rules are left out, so they may change freely."""
        of_whom = [self.provider.base_url, self.provider.model, self.settings, self.shape]
        asked = [*of_whom, list(messages)]
        return hashlib.sha256(dumps(asked).encode()).digest()

    async def call(self, question: Question) -> Reply:
        """One call within its time limit; the errors are those of `evaluators.errors`."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.provider.timeout):
                reply: Reply = await self.model.acomplete(question.messages, **self.shape)
        except TimeoutError as error:
            spent = time.monotonic() - started
            raise ModelTimeout(f"The model did not answer within {spent:.0f} s.") from error
        return reply

    def read(self, text: str, finish_reason: str, reply_id: int, *, from_cache: bool) -> Answer:
        """What a reply says; an unreadable one is an error that keeps the text."""
        try:
            result = self.evaluator.read_reply(text, finish_reason)
        except ValueError as error:
            result = row_error(error)
        return Answer(result, reply_id, from_cache)


def stored_replies(
    workspace_id: int, questions: Sequence[Question]
) -> dict[tuple[bytes, int], Stored]:
    """Replies to these very questions that are in the database already."""
    rows = JudgeReply.objects.filter(
        workspace=workspace_id, digest__in={question.digest for question in questions}
    ).values_list("digest", "sample", "pk", "text")
    return {(bytes(digest), sample): Stored(pk, **loads(text)) for digest, sample, pk, text in rows}


def store_replies(workspace_id: int, asked: Sequence[Asked]) -> list[int]:
    """Store replies as they came; one that is there already keeps its first text."""
    JudgeReply.objects.bulk_create(
        [_row(workspace_id, item) for item in asked], ignore_conflicts=True
    )
    found = stored_replies(workspace_id, [item.question for item in asked])
    return [found[item.question.digest, item.question.sample].pk for item in asked]


def _row(workspace_id: int, item: Asked) -> JudgeReply:
    reply = item.reply
    return JudgeReply(
        workspace_id=workspace_id,
        digest=item.question.digest,
        sample=item.question.sample,
        model=reply.model,
        text=dumps({"text": reply.text, "finish_reason": reply.finish_reason}),
        prompt=dumps(list(item.question.messages)),
        prompt_tokens=reply.input_tokens,
        completion_tokens=reply.output_tokens,
        cost=reply.cost,
        latency=reply.latency,
    )


def is_worth_repeating(error: ModelError) -> bool:
    """Whether the same call may succeed later: limits, time-outs, faults of the server."""
    status = getattr(error, "status", None)
    name = type(error).__name__
    if name in ("RateLimited", "ModelTimeout"):
        return True
    return name == "ProviderError" and (status is None or status >= 500 or status in (408, 425))


def delay_before_repeating(error: ModelError, attempts: int) -> float:
    """Seconds to wait: what the provider asked for, else 1, 2, 4, … up to a minute."""
    asked = getattr(error, "retry_after", None)
    return float(asked) if asked is not None else min(60.0, 2.0**attempts)
