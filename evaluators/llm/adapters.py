"""Anything that answers a prompt, as a model."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evaluators.llm.models import Model, Prompt, Reply, as_one_text
from evaluators.llm.providers import provider
from evaluators.llm.providers.failures import known_failure
from evaluators.llm.retries import Retrying
from evaluators.running import run_to_end


def as_model(llm: Any) -> Model:
    """A provider as it is; a function text to text, anything with `invoke`, or a name as a model.

    ValueError for None: a judge has to be named.
    """
    if llm is None:
        raise ValueError("This evaluator needs a judge: give llm=, there is no default.")
    if isinstance(llm, str):
        return named_model(llm)
    if isinstance(llm, Model):
        return llm
    if hasattr(llm, "invoke"):
        return InvokeModel(llm)
    if callable(llm):
        return FunctionModel(llm)
    raise TypeError(f"{type(llm).__name__} is no model: it has neither complete nor invoke.")


def named_model(name: str) -> Model:
    """The model of a name such as `openai:gpt-5`, asked again on failures that may pass.

    The key comes from the environment variable that the vendor's SDK reads.
    """
    vendor, _, model = name.partition(":")
    if not model:
        raise ValueError(f"A model's name has the form vendor:model, unlike {name!r}.")
    return Retrying(model=provider(vendor, model=model))


@contextmanager
def _vendors_failures() -> Iterator[None]:
    """What an SDK inside of a function raises, as ours, so that retries and fallbacks know it."""
    try:
        yield
    except Exception as error:
        known = known_failure(error)
        if known is None or known is error:
            raise
        raise known from error


class FunctionModel:
    """A function text to text (sync or async) as a model; it may return a `Reply` too."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.function = function

    def complete(self, prompt: Prompt) -> Reply:
        """The reply to a prompt."""
        start = time.perf_counter()
        with _vendors_failures():
            answer = self.function(as_one_text(prompt))
            if inspect.isawaitable(answer):
                answer = run_to_end(answer)
        return as_reply(answer, time.perf_counter() - start)

    async def acomplete(self, prompt: Prompt) -> Reply:
        """The async twin of `complete`; a plain function runs in a thread."""
        if not inspect.iscoroutinefunction(self.function):
            return await asyncio.to_thread(self.complete, prompt)
        start = time.perf_counter()
        with _vendors_failures():
            answer = await self.function(as_one_text(prompt))
        return as_reply(answer, time.perf_counter() - start)


class InvokeModel:
    """Anything with LangChain's `invoke` (and `ainvoke`) as a model."""

    def __init__(self, runnable: Any) -> None:
        self.runnable = runnable

    def complete(self, prompt: Prompt) -> Reply:
        """The reply to a prompt."""
        start = time.perf_counter()
        with _vendors_failures():
            answer = self.runnable.invoke(as_one_text(prompt))
        return as_reply(answer, time.perf_counter() - start)

    async def acomplete(self, prompt: Prompt) -> Reply:
        """The async twin of `complete`; without `ainvoke` in a thread."""
        if not hasattr(self.runnable, "ainvoke"):
            return await asyncio.to_thread(self.complete, prompt)
        start = time.perf_counter()
        with _vendors_failures():
            answer = await self.runnable.ainvoke(as_one_text(prompt))
        return as_reply(answer, time.perf_counter() - start)


def as_reply(answer: Any, latency: float = 0.0) -> Reply:
    """A text, a `Reply` or a chat message as a `Reply`; TypeError for anything else."""
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(answer, latency=latency)
    if not hasattr(answer, "content"):
        raise TypeError(f"The model returned {type(answer).__name__}, not a text.")
    usage = getattr(answer, "usage_metadata", None) or {}
    about = getattr(answer, "response_metadata", None) or {}
    return Reply(
        text=_joined(answer.content),
        model=about.get("model_name", ""),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        latency=latency,
        finish_reason=about.get("finish_reason") or "",
    )


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else part.get("text", "") for part in content)
