"""What a reply cost, and how a call tells about the reply it stands on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators import (
    RateLimited,
    Reply,
    RunInfo,
    list_price,
    load_evaluator,
    with_fallbacks,
    with_prices,
    with_retries,
)

ROW = {"input": "q", "prediction": "a"}


class Structured:
    """A provider that keeps to a JSON schema, and remembers the one it was given."""

    structured = True

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.schemas: list[Any] = []

    def complete(self, prompt: Any, schema: Any = None) -> Reply:
        self.schemas.append(schema)
        if len(self.schemas) <= self.failures:
            raise RateLimited(retry_after=0)
        return Reply('{"reasoning": "r", "verdict": "Y"}', "gpt-4o", 1_000_000, 100_000)

    async def acomplete(self, prompt: Any, schema: Any = None) -> Reply:
        return self.complete(prompt, schema)


def test_it_knows_list_prices() -> None:
    cost = list_price(Reply("x", "gpt-4o", input_tokens=1_000_000, output_tokens=100_000))
    assert cost == pytest.approx(3.5)
    assert list_price(Reply("x", "gpt-4o")) is None
    assert list_price(Reply("x", "a-model-of-my-own", 10, 10)) is None
    assert list_price(Reply("x", "gpt-4o", 10, 10), base_url="http://localhost:8000/v1") is None


def test_it_prices_the_replies_of_a_model() -> None:
    model = with_prices(Structured())
    assert model.complete("q").cost == pytest.approx(3.5)
    assert asyncio.run(model.acomplete("q")).cost == pytest.approx(3.5)
    own = with_prices(Structured(), price=lambda reply: (reply.input_tokens or 0) * 1e-6)
    assert own.complete("q").cost == pytest.approx(1.0)
    told = with_prices(lambda prompt: Reply("x", "gpt-4o", 1, 1, cost=7.0))
    assert told.complete("q").cost == 7.0


def test_a_call_tells_of_its_reply_when_asked() -> None:
    judge = load_evaluator("criteria", llm=with_prices(Structured()))
    assert "__run" not in judge.evaluate_strings(**ROW)
    calls = [
        judge.evaluate_strings(**ROW, include_run_info=True),
        asyncio.run(judge.aevaluate_strings(**ROW, include_run_info=True)),
        *judge.evaluate_batch([{**ROW, "include_run_info": True}]),
    ]
    for result in calls:
        about = result["__run"]
        assert isinstance(about, RunInfo)
        assert about.reply is not None
        assert about.reply.cost == pytest.approx(3.5)
    assert len({result["__run"].run_id for result in calls}) == 3


@pytest.mark.parametrize("name", ["string_distance", "embedding_distance"])
def test_distances_tell_of_their_run_too(name: str) -> None:
    options = {"embeddings": lambda texts: [[1.0, 0.0] for _ in texts]}
    distance = load_evaluator(name, **(options if name.startswith("emb") else {}))
    row = {"prediction": "a", "reference": "a", "include_run_info": True}
    one, many = distance.evaluate_strings(**row), distance.evaluate_batch([row])[0]
    assert isinstance(one["__run"], RunInfo)
    assert isinstance(many["__run"], RunInfo)
    assert one["score"] == many["score"] == 0


def test_models_around_a_model_hand_the_shape_of_the_reply_on() -> None:
    for wrap in (with_retries, with_prices, lambda llm: with_fallbacks([llm, lambda text: "Y"])):
        inner = Structured()
        judge = load_evaluator("criteria", llm=wrap(inner))
        assert judge.evaluate_strings(**ROW)["reasoning"] == "r"
        assert inner.schemas[0]["required"] == ["reasoning", "verdict"]
    retried = Structured(failures=1)
    assert with_retries(retried).complete("q", {"type": "object"}).model == "gpt-4o"
    assert retried.schemas == [{"type": "object"}] * 2
