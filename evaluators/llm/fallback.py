"""Asking another model when one does not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluators.errors import ModelError
from evaluators.llm.adapters import as_model
from evaluators.llm.models import Prompt, Reply, acomplete, complete
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

    @property
    def structured(self) -> bool:
        """Whether one of them keeps to a JSON schema."""
        return any(getattr(model, "structured", False) for model in self.models)

    def complete(self, prompt: Prompt, schema: Mapping[str, Any] | None = None) -> Reply:
        """The reply to a prompt; the last error if nobody answers."""
        for model in self.models[:-1]:
            try:
                return complete(model, prompt, schema)
            except ModelError as error:
                _pass_on(error)
        return complete(self.models[-1], prompt, schema)

    async def acomplete(self, prompt: Prompt, schema: Mapping[str, Any] | None = None) -> Reply:
        """The async twin of `complete`."""
        for model in self.models[:-1]:
            try:
                return await acomplete(model, prompt, schema)
            except ModelError as error:
                _pass_on(error)
        return await acomplete(self.models[-1], prompt, schema)


def _pass_on(error: ModelError) -> None:
    if not may_be_answered_elsewhere(error):
        raise error
