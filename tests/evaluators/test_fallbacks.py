"""Asking again, and asking somebody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from evaluators import (
    BadKey,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ProviderError,
    RateLimited,
    Reply,
    UnreadableReply,
    as_model,
    load_evaluator,
    with_fallbacks,
    with_prices,
    with_retries,
)
from evaluators.llm.providers import provider
from evaluators.llm.retries import Retrying
from tests.evaluators.stub_server import serving

ROW = {"input": "q", "prediction": "a", "prediction_b": "b"}


class Scripted:
    """A model that fails or answers as its script says."""

    def __init__(self, *script: Any) -> None:
        self.script: Iterator[Any] = iter(script)
        self.asked = 0

    def complete(self, prompt: Any) -> Reply:
        self.asked += 1
        step = next(self.script)
        if isinstance(step, Exception):
            raise step
        return Reply(step, model=f"scripted-{step}")

    async def acomplete(self, prompt: Any) -> Reply:
        return self.complete(prompt)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setattr("evaluators.llm.retries.asyncio.sleep", wait)
    return waited


def test_it_asks_again_and_waits_as_told(waits: list[float]) -> None:
    model = Scripted(RateLimited(retry_after=2.5), ModelTimeout(), ProviderError("x", 503), "yes")
    assert with_retries(model).complete("q").text == "yes"
    assert waits[0] == 2.5
    assert 1.0 <= waits[1] <= 2.0
    assert 2.0 <= waits[2] <= 4.0


async def test_it_asks_again_when_awaited(waits: list[float]) -> None:
    model = Scripted(RateLimited(retry_after=0.5), "yes")
    assert (await with_retries(model).acomplete("q")).text == "yes"
    assert waits == [0.5]


@pytest.mark.parametrize(
    "error",
    [ContextOverflow("x"), BadKey("x"), ProviderError("x", 400), RateLimited(retry_after=3600)],
)
def test_it_does_not_ask_again_where_that_cannot_help(
    error: ModelError, waits: list[float]
) -> None:
    model = Scripted(error, "yes")
    with pytest.raises(type(error)):
        with_retries(model).complete("q")
    assert (model.asked, waits) == (1, [])


def test_it_gives_up_after_the_last_attempt(waits: list[float]) -> None:
    model = Scripted(*[ModelTimeout("slow")] * 9)
    with pytest.raises(ModelTimeout):
        with_retries(model, attempts=3).complete("q")
    assert (model.asked, len(waits)) == (3, 2)


FAILURES = [
    RateLimited(),
    ModelTimeout(),
    ContextOverflow(),
    ProviderError("x", 500),
    ProviderError("x", 404),
]


@pytest.mark.parametrize("error", FAILURES)
def test_it_asks_the_next_model(error: ModelError) -> None:
    first, second = Scripted(error, error), Scripted("two", "two")
    model = with_fallbacks([first, second])
    for reply in (model.complete("q"), asyncio.run(model.acomplete("q"))):
        assert (reply.model, reply.answered_by) == ("scripted-two", 1)


class VendorsError(Exception):
    """What an SDK raises: a status, and a text."""

    def __init__(self, status_code: int, text: str = "") -> None:
        super().__init__(text)
        self.status_code = status_code


class VendorsModel:
    """A runnable that raises what its vendor's SDK raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def invoke(self, prompt: str) -> str:
        raise self.error

    async def ainvoke(self, prompt: str) -> str:
        raise self.error


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (VendorsError(429), RateLimited),
        (TimeoutError(), ModelTimeout),
        (VendorsError(400, "maximum context length is 8192 tokens"), ContextOverflow),
        (VendorsError(503), ProviderError),
        (VendorsError(401), BadKey),
    ],
)
def test_it_knows_the_failures_of_models_that_are_no_providers(
    error: Exception, ours: type[ModelError]
) -> None:
    def function(prompt: str) -> str:
        raise error

    async def coroutine(prompt: str) -> str:
        raise error

    for llm in (VendorsModel(error), function, coroutine):
        with pytest.raises(ours):
            as_model(llm).complete("q")
        with pytest.raises(ours):
            asyncio.run(as_model(llm).acomplete("q"))
        chain = load_evaluator("criteria", llm=with_fallbacks([llm, lambda prompt: "Y"]))
        [row] = chain.evaluate_batch([{"input": "q", "prediction": "a"}])
        if ours is BadKey:
            assert row["error_type"] == "BadKey"
        else:
            assert (row["value"], row["answered_by"]) == ("Y", 1)


def test_it_leaves_a_functions_own_mistakes_alone() -> None:
    def broken(prompt: str) -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        with_fallbacks([broken, lambda prompt: "Y"]).complete("q")


def test_it_does_not_hide_a_bad_key() -> None:
    second = Scripted("two")
    with pytest.raises(BadKey):
        with_fallbacks([Scripted(BadKey("x")), second]).complete("q")
    assert second.asked == 0


@pytest.mark.parametrize("first", [*FAILURES, "no verdict"])
def test_it_asks_the_next_evaluator(first: Any) -> None:
    def chain() -> Any:
        return with_fallbacks(
            [
                load_evaluator("pairwise_string", llm=Scripted(first)),
                load_evaluator("pairwise_string", llm=Scripted("[[B]]")),
            ]
        )

    result = chain().evaluate_string_pairs(**ROW)
    assert (result["value"], result["answered_by"]) == ("B", 1)
    assert asyncio.run(chain().aevaluate_string_pairs(**ROW)) == result
    assert chain().evaluate_batch([ROW]) == [result]
    assert asyncio.run(chain().aevaluate_batch([ROW])) == [result]


def test_it_takes_an_unread_reply_of_a_forgiving_evaluator_as_no_answer() -> None:
    chain = with_fallbacks(
        [
            load_evaluator("criteria", llm=lambda prompt: "Hm."),
            load_evaluator("criteria", llm=lambda prompt: "N"),
        ]
    )
    row = {"input": "q", "prediction": "a"}
    assert chain.evaluate_strings(**row)["value"] == "N"
    assert chain.evaluate_batch([row])[0]["answered_by"] == 1
    assert chain.requires_input
    assert chain.evaluation_name == "helpfulness"


def test_it_asks_the_next_evaluator_only_for_the_rows_that_need_it() -> None:
    asked = []

    def second(prompt: str) -> str:
        asked.append(prompt)
        return "[[A]]"

    chain = with_fallbacks(
        [
            load_evaluator(
                "pairwise_string", llm=lambda prompt: "?" if "odd" in prompt else "[[B]]"
            ),
            load_evaluator("pairwise_string", llm=second),
        ]
    )
    rows = [{**ROW, "prediction": text} for text in ("even", "odd", "even")]
    results = chain.evaluate_batch(rows)
    assert [row["value"] for row in results] == ["B", "A", "B"]
    assert [row["answered_by"] for row in results] == [0, 1, 0]
    assert len(asked) == 1


def test_it_gives_the_last_error_if_nobody_answers() -> None:
    chain = with_fallbacks([load_evaluator("pairwise_string", llm=lambda prompt: "?")] * 2)
    with pytest.raises(UnreadableReply):
        chain.evaluate_string_pairs(**ROW)
    [row] = chain.evaluate_batch([ROW])
    assert (row["score"], row["error_type"]) == (None, "UnreadableReply")
    assert "answered_by" not in row


@pytest.mark.parametrize("wrap", [lambda llm: llm, with_retries, with_prices])
@pytest.mark.parametrize("first", ["Hard to say.", "", "I'm sorry, I can't."])
def test_the_next_model_is_asked_after_a_reply_that_cannot_be_read(first: str, wrap: Any) -> None:
    asked: list[str] = []

    def second(prompt: str) -> str:
        asked.append(prompt)
        return "[[B]]" if "prediction_b" in prompt else "N"

    llm = wrap(with_fallbacks([lambda prompt: first, second, lambda prompt: "[[A]] Y"]))
    for name, row, value in (
        ("pairwise_string", ROW, "B"),
        ("criteria", {"input": "q", "prediction": "a"}, "N"),
    ):
        judge = load_evaluator(name, llm=llm)
        result = judge.evaluate_row(row)
        assert (result["value"], result["answered_by"]) == (value, 1)
        assert judge.evaluate_batch([row]) == [result]
        assert asyncio.run(judge.aevaluate_row(row)) == result
    assert len(asked) == 6


def test_nobody_is_said_to_have_answered_with_a_forgiven_reply_or_an_error() -> None:
    chain = with_fallbacks([load_evaluator("criteria", llm=lambda prompt: "Hm.")] * 2)
    row = {"input": "q", "prediction": "a"}
    result = chain.evaluate_strings(**row)
    assert result["score"] is None
    assert "answered_by" not in result
    assert chain.evaluate_batch([row, {"prediction": "a"}]) == [
        result,
        chain._safe_row({"prediction": "a"}),
    ]


def test_it_refuses_to_mix() -> None:
    exact = load_evaluator("exact_match")
    nearer = load_evaluator("nearer_by_string_distance")
    for choices in ([exact, nearer], [exact, lambda prompt: "x"]):
        with pytest.raises(TypeError, match="one family"):
            with_fallbacks(choices)
    with pytest.raises(ValueError, match="at least one"):
        with_fallbacks([])


def test_it_finds_a_model_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    model = as_model("openai:gpt-x")
    assert isinstance(model, Retrying)
    assert getattr(model.model, "model") == "gpt-x"  # noqa: B009
    with pytest.raises(ValueError, match="vendor:model"):
        as_model("gpt-x")


def test_it_speaks_anthropics_words() -> None:
    with serving() as stub:
        stub.answer = lambda request: (
            200,
            {},
            {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "claude-stub",
                "content": [{"type": "text", "text": "[[A]]"}],
                "stop_reason": "max_tokens",
                "usage": {"input_tokens": 5, "output_tokens": 2},
            },
        )
        url = stub.url.removesuffix("/v1")
        model = provider("anthropic", model="c", base_url=url, api_key="k", extra={"top_k": 1})
        messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
        reply = model.complete(messages)
        assert (reply.text, reply.finish_reason, reply.model) == ("[[A]]", "length", "claude-stub")
        assert (reply.input_tokens, reply.output_tokens) == (5, 2)
        sent = stub.requests[0]
        assert (sent["system"], sent["messages"]) == ("s", [{"role": "user", "content": "u"}])
        assert sent["top_k"] == 1
        stub.answer = lambda request: (429, {"retry-after": "7"}, {"error": {"message": "m"}})
        with pytest.raises(RateLimited) as caught:
            model.complete("q")
        assert caught.value.retry_after == 7
