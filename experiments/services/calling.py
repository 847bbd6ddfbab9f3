"""One provider, ready to be called: its guarded client, its key, its price."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from evaluators.errors import ModelTimeout
from evaluators.llm.models import Message, Reply
from evaluators.llm.providers import provider as make_provider
from evaluators.llm.providers.failures import as_model_error
from experiments.models import Provider
from experiments.rawjson import dumps
from experiments.services.budgets import NOTHING, Spent
from experiments.services.outbound import guarded_client
from experiments.services.prices import expected_tokens, price_of, tokens_of
from experiments.services.sealing import unseal


class Caller:
    """Calls a provider's model, each call within its own time limit; no retries here."""

    def __init__(self, provider: Provider, schema: Mapping[str, Any] | None) -> None:
        self.provider = provider
        self.price = price_of(provider)
        self.seen = Spent()
        self.settings: dict[str, Any] = {"temperature": 0.0, "max_tokens": provider.max_tokens}
        self.shape = {"schema": schema} if provider.structured and schema is not None else {}
        self.of_whom = dumps([provider.base_url, provider.model, self.settings, self.shape])
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

    def digest(self, prompt: str) -> bytes:
        """What was asked (messages as JSON), and of whom; reading rules may change freely."""
        return hashlib.sha256(f"{self.of_whom}{prompt}".encode()).digest()

    async def call(self, messages: Sequence[Message]) -> Reply:
        """One call within its time limit; the errors are those of `evaluators.errors`."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.provider.timeout):
                reply: Reply = await self.model.acomplete(messages, **self.shape)
        except TimeoutError as error:
            spent = time.monotonic() - started
            raise ModelTimeout(f"The model did not answer within {spent:.0f} s.") from error
        except Exception as error:
            raise as_model_error(error) from error
        return reply

    def spent_on(self, messages: Sequence[Message], reply: Reply) -> Spent:
        """What a reply took; where the server does not count, money is guessed from lengths."""
        known = reply.input_tokens is not None or reply.output_tokens is not None
        read, written = tokens_of(reply, _characters(messages))
        money = NOTHING if self.price is None else self.price.of(read, written)
        self.seen.add(Spent(calls=1, money=money, prompt_tokens=read, completion_tokens=written))
        return Spent(
            calls=1,
            money=money,
            unpriced=int(self.price is None),
            prompt_tokens=read if known else 0,
            completion_tokens=written if known else 0,
        )

    @property
    def knows(self) -> bool:
        """Whether what a call takes is known from earlier ones, and no guess."""
        return self.seen.calls > 0

    def expected(self, messages: Sequence[Message]) -> tuple[float, Decimal]:
        """Tokens and US dollars that a call will take: what calls took so far, else a guess."""
        seen = self.seen
        if self.knows:
            tokens = (seen.prompt_tokens + seen.completion_tokens) / seen.calls
            return tokens, round(seen.money / seen.calls, 10)
        read, written = expected_tokens(_characters(messages), self.provider.max_tokens)
        return read + written, NOTHING if self.price is None else self.price.of(read, written)


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)
