"""Anthropic's messages API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from evaluators.errors import MissingExtra
from evaluators.llm.models import Prompt, Reply, as_messages
from evaluators.llm.providers.failures import as_model_error
from evaluators.llm.providers.untrusted import count_of, text_of, word_of

# Its reasons to stop, in the words that all providers here share.
_REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


@dataclass(kw_only=True)
class Anthropic:
    """A model behind Anthropic's messages API; `timeout` in seconds, SDK imported when asked."""

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    max_tokens: int = 2048
    timeout: float = 60.0
    max_retries: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    http_client: Any = field(default=None, repr=False)
    async_http_client: Any = field(default=None, repr=False)

    def complete(self, prompt: Prompt) -> Reply:
        """The reply to a prompt; only the `ModelError` family is raised."""
        start = time.perf_counter()
        try:
            answer = self._client.messages.create(**self._request(prompt))
            return self._reply(answer, time.perf_counter() - start)
        except Exception as error:
            raise as_model_error(error) from None

    async def acomplete(self, prompt: Prompt) -> Reply:
        """The async twin of `complete`."""
        start = time.perf_counter()
        try:
            answer = await self._async_client.messages.create(**self._request(prompt))
            return self._reply(answer, time.perf_counter() - start)
        except Exception as error:
            raise as_model_error(error) from None

    @cached_property
    def _client(self) -> Any:
        return _sdk().Anthropic(**self._connection(self.http_client))

    @property
    def _async_client(self) -> Any:
        # A client keeps connections of the loop that opened them: one for each loop.
        loop = asyncio.get_running_loop()
        if loop not in self._async_clients:
            settings = self._connection(self.async_http_client)
            self._async_clients[loop] = _sdk().AsyncAnthropic(**settings)
        return self._async_clients[loop]

    @cached_property
    def _async_clients(self) -> WeakKeyDictionary[asyncio.AbstractEventLoop, Any]:
        return WeakKeyDictionary()

    def _connection(self, http_client: Any) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "api_key": self.api_key,
            "timeout": self.timeout,
            "max_retries": self.max_retries,
            "http_client": http_client,
        }

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        messages = as_messages(prompt)
        system = "\n\n".join(one["content"] for one in messages if one["role"] == "system")
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [one for one in messages if one["role"] != "system"],
        }
        if system:
            request["system"] = system
        if self.temperature is not None:
            request["temperature"] = self.temperature
        return {**request, "extra_body": dict(self.extra)} if self.extra else request

    def _reply(self, answer: Any, latency: float) -> Reply:
        texts = [text_of(part.text) for part in answer.content if part.type == "text"]
        reason = word_of(answer.stop_reason)
        return Reply(
            text="".join(texts),
            model=word_of(answer.model) or self.model,
            input_tokens=count_of(answer.usage, "input_tokens"),
            output_tokens=count_of(answer.usage, "output_tokens"),
            latency=latency,
            finish_reason=_REASONS.get(reason, reason),
        )


def _sdk() -> Any:
    try:
        import anthropic
    except ImportError:
        raise MissingExtra("anthropic", "anthropic") from None
    return anthropic
