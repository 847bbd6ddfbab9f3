"""Asking another model when one does not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluators.errors import ModelError
from evaluators.llm.adapters import as_model
from evaluators.llm.models import Prompt, Readable, Reply, acomplete, complete
from evaluators.llm.retries import Retrying, may_be_answered_elsewhere


def with_retries(llm: Any, attempts: int = 4, first_wait: float = 1.0) -> Retrying:
    """A model that is asked up to `attempts` times; the first wait is in seconds."""
    return Retrying(model=as_model(llm), attempts=attempts, first_wait=first_wait)


class FallbackModel:
    """The first of several models that answers; `Reply.answered_by` tells which.

    Whoever asks may say which replies are `readable`: the next model is asked after others too.
    """

    falls_back = True

    def __init__(self, models: Sequence[Any]) -> None:
        if not models:
            raise ValueError("Fallbacks need at least one model.")
        self.models = [as_model(model) for model in models]

    @property
    def structured(self) -> bool:
        """Whether one of them keeps to a JSON schema."""
        return any(getattr(model, "structured", False) for model in self.models)

    def complete(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any] | None = None,
        readable: Readable | None = None,
    ) -> Reply:
        """The reply to a prompt; the last reply or error if no other will do."""
        last = len(self.models) - 1
        for position, model in enumerate(self.models):
            try:
                reply = complete(model, prompt, schema, readable)
            except ModelError as error:
                if position == last or not may_be_answered_elsewhere(error):
                    raise
            else:
                if position == last or readable is None or readable(reply):
                    return replace(reply, answered_by=position)
        raise AssertionError("The last model answers or raises.")

    async def acomplete(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any] | None = None,
        readable: Readable | None = None,
    ) -> Reply:
        """The async twin of `complete`."""
        last = len(self.models) - 1
        for position, model in enumerate(self.models):
            try:
                reply = await acomplete(model, prompt, schema, readable)
            except ModelError as error:
                if position == last or not may_be_answered_elsewhere(error):
                    raise
            else:
                if position == last or readable is None or readable(reply):
                    return replace(reply, answered_by=position)
        raise AssertionError("The last model answers or raises.")
