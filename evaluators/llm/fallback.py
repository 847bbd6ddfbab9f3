"""Asking another model when one does not answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluators.errors import ModelError
from evaluators.llm.adapters import as_model
from evaluators.llm.models import Prompt, Reply
from evaluators.llm.retries import Retrying, may_be_answered_elsewhere


def with_retries(llm: Any, attempts: int = 4, first_wait: float = 1.0) -> Retrying:
    """A model that is asked up to `attempts` times; the first wait is in seconds."""
    return Retrying(model=as_model(llm), attempts=attempts, first_wait=first_wait)


class FallbackModel:
    """The first of several models that answers; `Reply.model` tells which."""

    def __init__(self, models: Sequence[Any]) -> None:
        if not models:
            raise ValueError("Fallbacks need at least one model.")
        self.models = [as_model(model) for model in models]

    def complete(self, prompt: Prompt) -> Reply:
        """The reply to a prompt; the last error if nobody answers."""
        for model in self.models[:-1]:
            try:
                return model.complete(prompt)
            except ModelError as error:
                _pass_on(error)
        return self.models[-1].complete(prompt)

    async def acomplete(self, prompt: Prompt) -> Reply:
        """The async twin of `complete`."""
        for model in self.models[:-1]:
            try:
                return await model.acomplete(prompt)
            except ModelError as error:
                _pass_on(error)
        return await self.models[-1].acomplete(prompt)


def _pass_on(error: ModelError) -> None:
    if not may_be_answered_elsewhere(error):
        raise error
