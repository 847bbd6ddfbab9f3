"""Any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from evaluators.errors import MissingExtra, ProviderError
from evaluators.llm.models import Prompt, Reply, Token, as_messages
from evaluators.llm.providers.failures import as_model_error
from evaluators.llm.providers.untrusted import count_of, raw_text, text_of, word_of


@dataclass(kw_only=True)
class OpenAICompatible:
    """A model behind OpenAI's chat completions API; `timeout` in seconds.

    `structured` says that the server keeps to a JSON schema when given one with the prompt.
    With `alternatives` each token of a reply comes with so many others and their probabilities.
    `extra` goes into the request body as it is. `http_client` and `async_http_client` replace
    the SDK's own, for whoever has to check addresses. Without `temperature` none is sent.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    max_tokens: int | None = None
    timeout: float = 60.0
    max_retries: int = 0
    structured: bool = False
    alternatives: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    http_client: Any = field(default=None, repr=False)
    async_http_client: Any = field(default=None, repr=False)

    def complete(self, prompt: Prompt, schema: Mapping[str, Any] | None = None) -> Reply:
        """The reply to a prompt; only the `ModelError` family is raised."""
        start = time.perf_counter()
        try:
            answer = self._client.chat.completions.create(**self._request(prompt, schema))
            return self._reply(answer, time.perf_counter() - start)
        except Exception as error:
            raise as_model_error(error) from None

    async def acomplete(self, prompt: Prompt, schema: Mapping[str, Any] | None = None) -> Reply:
        """The async twin of `complete`."""
        start = time.perf_counter()
        try:
            answer = await self._async_client.chat.completions.create(
                **self._request(prompt, schema)
            )
            return self._reply(answer, time.perf_counter() - start)
        except Exception as error:
            raise as_model_error(error) from None

    async def aclose(self) -> None:
        """Close the connections that were opened in the running event loop."""
        client = self._async_clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def moderate(self, texts: list[str]) -> list[dict[str, Any]]:
        """For each text what the moderation endpoint says: flagged, categories, their scores."""
        try:
            answer = self._client.moderations.create(model=self.model, input=texts)
            found = [one.model_dump() for one in answer.results]
        except Exception as error:
            raise as_model_error(error) from None
        if len(found) != len(texts):
            raise ProviderError("The moderation server left texts out.")
        return found

    @cached_property
    def _client(self) -> Any:
        return sdk().OpenAI(**connection(self, self.http_client))

    @property
    def _async_client(self) -> Any:
        # A client keeps connections of the loop that opened them: one for each loop.
        loop = asyncio.get_running_loop()
        if loop not in self._async_clients:
            settings = connection(self, self.async_http_client)
            self._async_clients[loop] = sdk().AsyncOpenAI(**settings)
        return self._async_clients[loop]

    @cached_property
    def _async_clients(self) -> WeakKeyDictionary[asyncio.AbstractEventLoop, Any]:
        return WeakKeyDictionary()

    def _request(self, prompt: Prompt, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self.model, "messages": as_messages(prompt)}
        if self.temperature is not None:
            request["temperature"] = self.temperature
        if self.max_tokens is not None:
            request["max_tokens"] = self.max_tokens
        if schema is not None and self.structured:
            shape = {"name": "verdict", "strict": True, "schema": dict(schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": shape}
        if self.alternatives:
            request |= {"logprobs": True, "top_logprobs": self.alternatives}
        return {**request, "extra_body": dict(self.extra)} if self.extra else request

    def _reply(self, answer: Any, latency: float) -> Reply:
        if not getattr(answer, "choices", None):
            raise ProviderError("The model's server sent no answer.")
        choice = answer.choices[0] if isinstance(answer.choices, list) else None
        message: Any = getattr(choice, "message", None)
        if not hasattr(message, "content"):
            told = "The model's server sent an answer without a message."
            raise ProviderError(told, status=200, reply=raw_text(answer))
        usage, refusal = getattr(answer, "usage", None), getattr(message, "refusal", None)
        return Reply(
            text=text_of(message.content) or text_of(refusal),
            model=word_of(getattr(answer, "model", None)) or self.model,
            input_tokens=count_of(usage, "prompt_tokens"),
            output_tokens=count_of(usage, "completion_tokens"),
            latency=latency,
            finish_reason="refusal" if refusal else word_of(getattr(choice, "finish_reason", None)),
            tokens=_tokens(choice),
        )


def _tokens(choice: Any) -> tuple[Token, ...]:
    told = getattr(getattr(choice, "logprobs", None), "content", None) or []
    return tuple(
        Token(
            one.token,
            {other.token: math.exp(other.logprob) for other in one.top_logprobs or []},
        )
        for one in told
    )


def connection(provider: Any, http_client: Any) -> dict[str, Any]:
    """What the SDK's clients are made with."""
    return {
        "base_url": provider.base_url,
        # The SDK insists on a key; servers of one's own often have none.
        "api_key": provider.api_key or ("none" if provider.base_url else None),
        "timeout": provider.timeout,
        "max_retries": provider.max_retries,
        "http_client": http_client,
    }


def sdk() -> Any:
    """The SDK, imported when it is first needed; MissingExtra if it is not installed."""
    try:
        import openai
    except ImportError:
        raise MissingExtra("openai", "openai") from None
    return openai
