"""Embedding distances: one request for a batch, odd vectors, any source."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators import RateLimited, load_evaluator
from evaluators.llm.providers.openai_embeddings import OpenAICompatibleEmbeddings
from tests.evaluators.golden_cases import Vectors
from tests.evaluators.stub_server import serving

TABLE: dict[str, Any] = {
    "a": [1.0, 0.0],
    "b": [0.0, 1.0],
    "c": [1.0, 1.0],
    "zero": [0.0, 0.0],
    "long": [1, 2, 3],
}


def _distance(source: Any = None, **settings: Any) -> Any:
    return load_evaluator("embedding_distance", embeddings=source or Vectors(TABLE), **settings)


def test_it_asks_once_for_a_batch_and_never_again_for_a_known_text() -> None:
    vectors = Vectors(TABLE)
    distance = _distance(vectors)
    rows = [{"prediction": text, "reference": "a"} for text in "abcabc"]
    scores = [result["score"] for result in distance.evaluate_batch(rows)]
    assert scores == pytest.approx([0, 1, 1 - 0.5**0.5] * 2)
    assert vectors.requests == 1
    distance.evaluate_strings(prediction="c", reference="b")
    assert vectors.requests == 1


def test_it_gives_each_row_its_own_error() -> None:
    rows: list[dict[str, Any]] = [
        {"prediction": "a", "reference": "long"},
        {"prediction": "a", "reference": "b"},
        {"prediction": "a", "reference": None},
        {"reference": "a"},
        {"prediction": "zero", "reference": "a"},
    ]
    results = _distance().evaluate_batch(rows)
    assert [result["score"] for result in results] == [None, 1.0, None, None, 1.0]
    assert "2 and of 3" in results[0]["error"]
    assert results[3]["error_type"] == "TypeError"
    assert "direction" in results[4]["reasoning"]
    assert asyncio.run(_distance().aevaluate_batch(rows)) == results


def test_it_makes_a_row_error_of_vectors_that_are_none() -> None:
    bad: list[Any] = [[float("nan"), 1.0], [[1.0]], ["x"], None]
    for values in bad:
        distance = _distance(Vectors({"a": [1.0, 2.0], "x": values}))
        with pytest.raises(ValueError, match=r".+"):
            distance.evaluate_strings(prediction="a", reference="x")


def test_it_makes_row_errors_of_a_source_that_fails() -> None:
    def broken(texts: list[str]) -> list[list[float]]:
        raise RuntimeError("no vectors today")

    rows = [{"prediction": "a", "reference": "b"}] * 2
    assert [row["error"] for row in _distance(broken).evaluate_batch(rows)] == [
        "no vectors today"
    ] * 2
    short = _distance(lambda texts: [[1.0]])
    assert "2 texts gave 1 vectors" in short.evaluate_batch(rows)[0]["error"]


async def _vectors(texts: list[str]) -> list[list[float]]:
    return [TABLE[text] for text in texts]


@pytest.mark.parametrize("source", [lambda texts: [TABLE[text] for text in texts], _vectors])
def test_it_takes_functions_as_a_source(source: Any) -> None:
    assert _distance(source).evaluate_strings(prediction="a", reference="b") == {"score": 1.0}


def test_it_asks_a_server_for_vectors() -> None:
    with serving() as stub:
        stub.answer = lambda request: (
            200,
            {},
            {
                "object": "list",
                "model": "m",
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
                "data": [
                    {"object": "embedding", "index": index, "embedding": [float(len(text)), 1.0]}
                    for index, text in reversed(list(enumerate(request["input"])))
                ],
            },
        )
        source = OpenAICompatibleEmbeddings(model="m", base_url=stub.url)
        distance = _distance(source, distance_metric="manhattan")
        assert distance.evaluate_strings(prediction="aaa", reference="a") == {"score": 2.0}
        assert len(stub.requests) == 1


def test_it_needs_a_source_and_a_known_metric() -> None:
    with pytest.raises(ValueError, match="embeddings"):
        load_evaluator("embedding_distance")
    with pytest.raises(TypeError, match="int"):
        load_evaluator("embedding_distance", embeddings=3)
    with pytest.raises(ValueError, match="dot"):
        _distance(distance_metric="dot")


def test_a_text_that_the_service_refuses_spoils_its_own_rows_only() -> None:
    requests = []

    def embed(texts: list[str]) -> list[list[float]]:
        requests.append(len(texts))
        if "" in texts:
            raise LookupError("input must not be empty")
        return [[1.0, float(len(text))] for text in texts]

    rows = [{"prediction": "a" * size, "reference": "a"} for size in range(1, 65)]
    rows[40]["prediction"] = ""
    distance = load_evaluator("embedding_distance", embeddings=embed)
    results = distance.evaluate_batch(rows)
    assert [at for at, row in enumerate(results) if row["score"] is None] == [40]
    assert (results[40]["error"], results[40]["error_type"]) == (
        "input must not be empty",
        "LookupError",
    )
    assert len(requests) < 20
    with pytest.raises(LookupError, match="must not be empty"):
        distance.evaluate_strings(**rows[40])


def test_a_service_that_is_away_is_asked_once() -> None:
    requests = []

    def embed(texts: list[str]) -> list[list[float]]:
        requests.append(len(texts))
        raise RateLimited

    distance = load_evaluator("embedding_distance", embeddings=embed)
    rows = [{"prediction": str(number), "reference": "a"} for number in range(50)]
    results = distance.evaluate_batch(rows)
    assert {row["error_type"] for row in results} == {"RateLimited"}
    assert requests == [51]
