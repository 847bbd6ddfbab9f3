"""Equality, overlap and distance of texts, by table."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from evaluators import StringDistance, load_evaluator
from evaluators.distances import METRICS

OVERLAPS = [
    # prediction, reference, settings, F1
    ("the cat sat", "the cat sat", {}, 1),
    ("The Cat sat.", "the cat sat", {}, 1),
    ("cat", "the cat sat", {}, 0.5),
    ("a a b", "a b b", {}, 2 / 3),
    ("", "", {}, 1),
    ("", "a", {}, 0),
    ("dog", "cat", {}, 0),
    ("the cat", "a cat", {"ignore_articles": True}, 1),
    ("Cat", "cat", {"ignore_case": False}, 0),
    ("東京都", "東京", {}, 0.8),
    ("Приве́т, мир", "привет мир", {}, 0.5),
    ("café", "cafe\u0301", {}, 1),
    ("naïve ＡＢＣ", "naïve abc", {}, 1),
    (4, "4", {}, 1),
    ({"a": 1}, '{"a": 1}', {}, 1),
]


@pytest.mark.parametrize(("prediction", "reference", "settings", "score"), OVERLAPS)
def test_it_counts_shared_words(
    prediction: Any, reference: str, settings: dict[str, Any], score: float
) -> None:
    overlap = load_evaluator("token_overlap", **settings)
    result = overlap.evaluate_strings(prediction=prediction, reference=reference)
    assert result["score"] == pytest.approx(score)


MATCHES = [
    # prediction, reference, settings, score
    ("Straße", "STRASSE", {"ignore_case": True, "normalize_unicode": True}, 1),
    ("Straße", "STRASSE", {"ignore_case": True}, 0),
    ("你好，世界。", "你好世界", {"ignore_punctuation": True, "unicode_aware": True}, 1),
    ("room ١٢", "room ", {"ignore_numbers": True, "unicode_aware": True}, 1),
    (" a  b\n", "a b", {"ignore_whitespace": True}, 1),
    ("a\u200bb", "ab", {"ignore_whitespace": True}, 1),
    ("ab", "a b", {"ignore_whitespace": True}, 0),
    (4, "4", {"coerce": True}, 1),
    (True, "true", {"coerce": True}, 1),
    (None, "None", {}, 0),
    ([1], [1], {}, 1),
]


@pytest.mark.parametrize(("prediction", "reference", "settings", "score"), MATCHES)
def test_it_matches_after_what_is_to_be_ignored(
    prediction: Any, reference: Any, settings: dict[str, Any], score: int
) -> None:
    match = load_evaluator("exact_match", **settings)
    row = {"prediction": prediction, "reference": reference}
    assert match.evaluate_strings(**row) == {"score": score}
    assert match.evaluate_batch([row]) == [{"score": score}]


def test_it_refuses_values_that_are_no_texts_where_options_need_texts() -> None:
    match = load_evaluator("exact_match", ignore_case=True)
    with pytest.raises(TypeError, match="int"):
        match.evaluate_strings(prediction=4, reference=4)
    assert match.evaluate_batch([{"prediction": 4, "reference": 4}])[0]["score"] is None


def test_a_value_that_refuses_to_be_compared_spoils_its_own_row_only() -> None:
    class Refusing:
        def __eq__(self, other: object) -> bool:
            raise ArithmeticError("not with me")

        __hash__ = None  # type: ignore[assignment]

    rows = [
        {"prediction": "a", "reference": "a"},
        {"prediction": Refusing(), "reference": "a"},
        {"prediction": "a", "reference": "b"},
    ]
    results = load_evaluator("exact_match").evaluate_batch(rows)
    assert [result["score"] for result in results] == [1, None, 0]
    assert results[1]["error_type"] == "ArithmeticError"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("normalised", [True, False])
def test_it_gives_the_same_distances_in_a_batch_as_one_by_one(
    metric: str, normalised: bool
) -> None:
    chance = random.Random(metric)
    texts = ["".join(chance.choices("abcé😀", k=chance.randrange(30))) for _ in range(80)]
    rows = [
        {"prediction": one, "reference": other}
        for one, other in zip(texts, reversed(texts), strict=True)
    ]
    distance = load_evaluator("string_distance", distance=metric, normalize_score=normalised)
    assert distance.evaluate_batch(rows) == [distance.evaluate_strings(**row) for row in rows]
    assert asyncio.run(distance.aevaluate_batch(rows)) == distance.evaluate_batch(rows)


def test_it_mixes_whole_and_odd_rows_in_a_batch() -> None:
    distance = load_evaluator("string_distance", distance="levenshtein", normalize_score=False)
    results = distance.evaluate_batch(
        [
            {"prediction": "abc", "reference": "abd"},
            {"prediction": None, "reference": "abd"},
            {"prediction": "abc", "reference": None},
        ]
    )
    assert [result["score"] for result in results] == [1, None, None]
    assert results[2]["error"] == "StringDistanceEvalChain requires a reference string."


def test_it_turns_a_distance_into_a_similarity() -> None:
    distance = load_evaluator("string_distance", distance="levenshtein", as_similarity=True)
    row = {"prediction": "abcd", "reference": "abcx"}
    assert distance.evaluate_strings(**row) == {"score": 0.75}
    assert distance.evaluate_batch([row, row]) == [{"score": 0.75}] * 2
    assert distance.higher_is_better
    assert not load_evaluator("string_distance").higher_is_better
    with pytest.raises(ValueError, match="normalize_score"):
        load_evaluator("string_distance", as_similarity=True, normalize_score=False)


def test_it_finds_no_better_side_in_a_distance_between_two_answers() -> None:
    distance = load_evaluator("pairwise_string_distance", distance=StringDistance.HAMMING)
    assert distance.higher_is_better is None
    assert distance.evaluation_name == "pairwise_hamming_distance"
