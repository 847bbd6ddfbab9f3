"""Providers against a server on the loopback: replies, and every failure by its own name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest

from evaluators import (
    BadKey,
    ContextOverflow,
    Model,
    ModelTimeout,
    ProviderError,
    RateLimited,
    Reply,
    as_model,
    load_evaluator,
)
from evaluators.llm.providers import provider
from evaluators.llm.providers.openai_compatible import OpenAICompatible
from tests.evaluators.stub_server import Answer, Stub, said, serving

SECRET = "sk-secret-0123"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as running:
        yield running


def _model(stub: Stub, **settings: Any) -> OpenAICompatible:
    made: OpenAICompatible = provider(
        "openai", **{"model": "m", "base_url": stub.url, "api_key": SECRET, **settings}
    )
    return made


def test_it_sends_the_prompt_and_tells_what_was_answered(stub: Stub) -> None:
    model = _model(stub, max_tokens=9, extra={"seed": 5})
    reply = model.complete("hello")
    assert isinstance(model, Model)
    assert (reply.text, reply.model, reply.finish_reason) == ("fine", "stub-1", "stop")
    assert (reply.input_tokens, reply.output_tokens) == (7, 3)
    assert 0 < reply.latency < 10
    sent = stub.requests[0]
    assert sent["messages"] == [{"role": "user", "content": "hello"}]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("m", 0.0, 9)
    assert sent["seed"] == 5
    assert sent["authorization"] == f"Bearer {SECRET}"


async def test_it_answers_the_same_when_awaited(stub: Stub) -> None:
    model = _model(stub, temperature=None)
    reply = await model.acomplete([{"role": "system", "content": "s"}])
    await model.aclose()
    assert reply.text == "fine"
    assert "temperature" not in stub.requests[0]


def test_it_needs_no_key_for_a_server_of_ones_own(stub: Stub) -> None:
    assert _model(stub, api_key=None).complete("x").text == "fine"


@pytest.mark.parametrize("structured", [True, False])
def test_it_asks_for_a_shape_where_the_server_keeps_to_one(stub: Stub, structured: bool) -> None:
    stub.answer = lambda request: said('{"reasoning": "It is short.", "verdict": "B"}')
    judge = load_evaluator("pairwise_string", llm=_model(stub, structured=structured))
    row = {"input": "q", "prediction": "a", "prediction_b": "b"}
    assert judge.evaluate_string_pairs(**row)["value"] == "B"
    shape = stub.requests[0].get("response_format")
    assert (shape is not None) == structured
    if shape:
        assert shape["json_schema"]["schema"]["properties"]["verdict"] == {"enum": ["A", "B", "C"]}


def test_it_takes_a_client_that_checks_addresses(stub: Stub) -> None:
    import httpx2

    seen = []

    class Checked(httpx2.HTTPTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            seen.append(request.url.host)
            return super().handle_request(request)

    with httpx2.Client(transport=Checked()) as client:
        assert _model(stub, http_client=client).complete("x").text == "fine"
    assert seen == ["127.0.0.1"]


FAILURES: list[tuple[Answer, type[Exception], dict[str, Any]]] = [
    ((429, {"Retry-After": "2"}, {"error": {"message": SECRET}}), RateLimited, {"retry_after": 2}),
    ((429, {"retry-after-ms": "1500"}, {}), RateLimited, {"retry_after": 1.5}),
    ((429, {}, {}), RateLimited, {"retry_after": None}),
    ((401, {}, {"error": {"message": f"bad {SECRET}"}}), BadKey, {}),
    ((403, {}, {}), BadKey, {}),
    ((408, {}, {}), ModelTimeout, {}),
    (
        (400, {}, {"error": {"message": "x", "code": "context_length_exceeded"}}),
        ContextOverflow,
        {},
    ),
    ((400, {}, {"error": {"message": "maximum context length is 9"}}), ContextOverflow, {}),
    ((413, {}, {}), ContextOverflow, {}),
    ((400, {}, {"error": {"message": f"inner page {SECRET}"}}), ProviderError, {"status": 400}),
    ((500, {}, b"<html>secret inner page</html>"), ProviderError, {"status": 500}),
    ((200, {}, b"not json secret"), ProviderError, {"status": None}),
    ((200, {}, {"choices": None}), ProviderError, {"status": None}),
]


@pytest.mark.parametrize(("answer", "error", "facts"), FAILURES)
def test_it_names_failures_and_repeats_nothing_the_server_sent(
    stub: Stub, answer: Answer, error: type[Exception], facts: dict[str, Any]
) -> None:
    stub.answer = lambda request: answer
    with pytest.raises(error) as caught:
        _model(stub).complete("x")
    assert type(caught.value) is error
    assert all(getattr(caught.value, name) == value for name, value in facts.items())
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("in ten minutes", 600),
        (formatdate(0, usegmt=True), 0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("-3", 0),
    ],
)
def test_it_waits_until_a_date_and_never_for_ever(
    stub: Stub, asked: str, seconds: float | None
) -> None:
    if asked == "in ten minutes":
        asked = formatdate(time.time() + 600, usegmt=True)
    stub.answer = lambda request: (429, {"Retry-After": asked}, {})
    with pytest.raises(RateLimited) as caught:
        _model(stub).complete("x")
    told = caught.value.retry_after
    assert told == (seconds if seconds is None else pytest.approx(seconds, abs=120))


def test_it_stops_waiting_at_the_time_limit(stub: Stub) -> None:
    stub.delay = 1.0
    with pytest.raises(ModelTimeout):
        _model(stub, timeout=0.2).complete("x")


def test_it_says_when_nobody_answers() -> None:
    model = provider("openai", model="m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError, match="reached") as caught:
        model.complete("x")
    assert caught.value.status is None


@pytest.mark.parametrize(
    ("answer", "text", "finish_reason"),
    [
        (said(None, "content_filter"), "", "content_filter"),
        (said("", "length"), "", "length"),
        (said(None, refusal="I will not."), "I will not.", "refusal"),
    ],
)
def test_it_keeps_why_the_model_stopped(
    stub: Stub, answer: Answer, text: str, finish_reason: str
) -> None:
    stub.answer = lambda request: answer
    reply = _model(stub).complete("x")
    assert (reply.text, reply.finish_reason) == (text, finish_reason)


def test_it_keeps_the_key_out_of_its_repr(stub: Stub) -> None:
    assert SECRET not in repr(_model(stub))


def test_it_refuses_an_unknown_provider() -> None:
    with pytest.raises(ValueError, match="openai"):
        provider("nope")


async def _shout(prompt: str) -> str:
    return prompt.upper()


class _Message:
    content = ["par", {"type": "text", "text": "ts"}]
    usage_metadata = {"input_tokens": 4, "output_tokens": 2}
    response_metadata = {"model_name": "lc", "finish_reason": "stop"}


class _Runnable:
    def invoke(self, prompt: str) -> _Message:
        return _Message()


MODELS = [
    (lambda prompt: prompt + "!", "hi!"),
    (_shout, "HI"),
    (lambda prompt: Reply("ready", model="r"), "ready"),
    (_Runnable(), "parts"),
]


@pytest.mark.parametrize(("llm", "text"), MODELS)
def test_it_takes_functions_and_runnables_as_models(llm: Any, text: str) -> None:
    model = as_model(llm)
    assert model.complete("hi").text == text
    assert asyncio.run(model.acomplete("hi")).text == text


def test_it_reads_what_a_chat_message_says_about_itself() -> None:
    reply = as_model(_Runnable()).complete("x")
    assert (reply.model, reply.input_tokens, reply.output_tokens) == ("lc", 4, 2)


def test_it_runs_an_async_model_inside_a_running_loop() -> None:
    async def notebook_cell() -> str:
        return as_model(_shout).complete("hi").text

    assert asyncio.run(notebook_cell()) == "HI"


def test_it_refuses_what_is_no_model() -> None:
    with pytest.raises(TypeError, match="int"):
        as_model(5)
    with pytest.raises(TypeError, match="not a text"):
        as_model(lambda prompt: 5).complete("x")
