"""Asking again: for whoever uses the library by itself."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluators.errors import (
    BadKey,
    ModelError,
    ModelTimeout,
    ProviderError,
    RateLimited,
)
from evaluators.llm.models import Model, Prompt, Readable, Reply, Wrapper, acomplete, complete


def may_pass(error: Exception) -> bool:
    """Whether the same question may be answered if asked again later."""
    if isinstance(error, ProviderError):
        return error.status is None or error.status >= 500
    return isinstance(error, (RateLimited, ModelTimeout))


def may_be_answered_elsewhere(error: Exception) -> bool:
    """Whether another model may answer: a refused key is for its owner to mend."""
    return isinstance(error, ModelError) and not isinstance(error, BadKey)


@dataclass(kw_only=True)
class Retrying(Wrapper):
    """A model that is asked again after a failure that may pass; waits are in seconds.

    It waits as long as the provider asks for, else twice as long each time, with some chance.
    """

    model: Model
    attempts: int = 4
    first_wait: float = 1.0
    longest_wait: float = 60.0
    chance: random.Random = field(default_factory=random.Random, repr=False)

    def complete(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any] | None = None,
        readable: Readable | None = None,
    ) -> Reply:
        """The reply to a prompt."""
        for attempt in range(1, self.attempts + 1):
            try:
                return complete(self.model, prompt, schema, readable)
            except ModelError as error:
                time.sleep(self._wait(error, attempt))
        raise AssertionError("The last attempt returns or raises.")

    async def acomplete(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any] | None = None,
        readable: Readable | None = None,
    ) -> Reply:
        """The async twin of `complete`."""
        for attempt in range(1, self.attempts + 1):
            try:
                return await acomplete(self.model, prompt, schema, readable)
            except ModelError as error:
                await asyncio.sleep(self._wait(error, attempt))
        raise AssertionError("The last attempt returns or raises.")

    def _wait(self, error: ModelError, attempt: int) -> float:
        asked = error.retry_after if isinstance(error, RateLimited) else None
        too_long = asked is not None and asked > self.longest_wait
        if attempt == self.attempts or too_long or not may_pass(error):
            raise error
        if asked is not None:
            return asked
        wait = self.first_wait * 2.0 ** (attempt - 1)
        return min(self.longest_wait, wait) * self.chance.uniform(0.5, 1.0)
