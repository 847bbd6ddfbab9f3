"""What a judge asks: anything that turns a prompt into a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict, runtime_checkable


class Message(TypedDict):
    """One message of a prompt; `role` is system, user or assistant."""

    role: str
    content: str


Prompt = str | Sequence[Message]


@dataclass(frozen=True)
class Token:
    """A piece of a reply, and what else might have stood there, by probability."""

    text: str
    alternatives: Mapping[str, float]


@dataclass(frozen=True)
class Reply:
    """What a model answered; `latency` in seconds, `cost` in US dollars, None if not known.

    `finish_reason` is stop, length, content_filter, refusal, or empty if not known. `tokens` is
    empty unless the provider was told to ask for probabilities. `answered_by` is the position of
    the model among fallbacks.
    """

    text: str
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    latency: float = 0.0
    finish_reason: str = ""
    tokens: tuple[Token, ...] = ()
    answered_by: int | None = None


Readable = Callable[[Reply], bool]


@runtime_checkable
class Model(Protocol):
    """A provider; its methods raise the `ModelError` family only."""

    def complete(self, prompt: Prompt) -> Reply:
        """The reply to a prompt."""

    async def acomplete(self, prompt: Prompt) -> Reply:
        """The async twin of `complete`."""


def complete(
    model: Model,
    prompt: Prompt,
    schema: Mapping[str, Any] | None = None,
    readable: Readable | None = None,
) -> Reply:
    """A model's reply, asked for in the shape of a JSON schema if it keeps to one.

    A model that has others to fall back on asks them too until a reply is `readable`.
    """
    return model.complete(prompt, **_wishes(model, schema, readable))


async def acomplete(
    model: Model,
    prompt: Prompt,
    schema: Mapping[str, Any] | None = None,
    readable: Readable | None = None,
) -> Reply:
    """The async twin of `complete`."""
    return await model.acomplete(prompt, **_wishes(model, schema, readable))


def _wishes(
    model: Model, schema: Mapping[str, Any] | None, readable: Readable | None
) -> dict[str, Any]:
    structured = schema is not None and getattr(model, "structured", False)
    falls_back = readable is not None and getattr(model, "falls_back", False)
    return {
        **({"schema": schema} if structured else {}),
        **({"readable": readable} if falls_back else {}),
    }


def as_messages(prompt: Prompt) -> list[Message]:
    """A prompt as messages; a text is one message of the user's."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)


def as_one_text(prompt: Prompt) -> str:
    """A prompt as one text, for models that take no messages."""
    return "\n\n".join(message["content"] for message in as_messages(prompt))


class Wrapper:
    """Something around a model that is, beside what it adds, as the model is."""

    model: Model

    @property
    def structured(self) -> bool:
        """As the model says."""
        return bool(getattr(self.model, "structured", False))

    @property
    def falls_back(self) -> bool:
        """As the model says."""
        return bool(getattr(self.model, "falls_back", False))
