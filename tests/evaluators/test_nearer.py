"""Single-run evaluators as pairwise ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators import Result, StringEvaluator, as_pairwise, load_evaluator

VERDICTS = [
    # nearer to "abcdef" by string distance: prediction, prediction_b, value, score
    ("abcdef", "abc", "A", 1),
    ("abc", "abcdef", "B", 0),
    ("abcxyz", "xyzdef", None, 0.5),
    ("", "", None, 0.5),
]


@pytest.mark.parametrize(("a", "b", "value", "score"), VERDICTS)
def test_it_lets_the_nearer_answer_win(a: str, b: str, value: str | None, score: float) -> None:
    nearer = load_evaluator("nearer_by_string_distance")
    row = {"prediction": a, "prediction_b": b, "reference": "abcdef"}
    result = nearer.evaluate_string_pairs(**row)
    assert (result["value"], result["score"], result["tie"]) == (value, score, value is None)
    assert nearer.evaluate_batch([row]) == [result]
    assert asyncio.run(nearer.aevaluate_string_pairs(**row)) == result
    assert asyncio.run(nearer.aevaluate_batch([row])) == [result]


def test_it_lets_the_higher_overlap_win() -> None:
    nearer = load_evaluator("nearer_by_token_overlap")
    result = nearer.evaluate_string_pairs(
        prediction="in Paris", prediction_b="in Rome, Italy", reference="Paris"
    )
    assert result["value"] == "A"
    assert result["score_a"] == pytest.approx(2 / 3)
    assert result["score_b"] == 0
    assert nearer.requires_reference
    assert nearer.evaluation_name == "nearer_by_token_overlap"


@pytest.mark.parametrize(("tolerance", "value"), [(0.0, "A"), (0.1, "A"), (0.2, None), (0.3, None)])
def test_it_ties_within_the_tolerance(tolerance: float, value: str | None) -> None:
    nearer = load_evaluator("nearer_by_string_distance", tolerance=tolerance)
    row = {"prediction": "abcde", "prediction_b": "abcdx", "reference": "abcde"}
    assert nearer.evaluate_string_pairs(**row)["value"] == value


def test_it_refuses_a_score_without_direction_and_a_negative_tolerance() -> None:
    class Undirected(StringEvaluator):
        higher_is_better = None

        def _evaluate_strings(self, **arguments: Any) -> Result:
            return {"score": 1}

    with pytest.raises(ValueError, match="which score is better"):
        as_pairwise(Undirected())
    for tolerance in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="tolerance"):
            as_pairwise(load_evaluator("exact_match"), tolerance=tolerance)


@pytest.mark.parametrize("score", [None, float("nan"), float("inf"), "1"])
def test_it_never_makes_a_missing_score_a_tie(score: Any) -> None:
    class Odd(StringEvaluator):
        def _evaluate_strings(self, *, prediction: Any, **kwargs: Any) -> Result:
            return {"score": score if prediction == "odd" else 1}

    row = {"prediction": "fine", "prediction_b": "odd"}
    with pytest.raises(ValueError, match="no score for B"):
        as_pairwise(Odd()).evaluate_string_pairs(**row)
    [result] = as_pairwise(Odd()).evaluate_batch([row])
    assert result["score"] is None
    assert result["error_type"] == "ValueError"


def test_it_is_one_batch_for_each_side() -> None:
    sizes = []

    class Counted(StringEvaluator):
        requires_reference = True

        def _evaluate_strings(self, *, prediction: Any, **kwargs: Any) -> Result:
            return {"score": len(prediction)}

        def _evaluate_rows(self, rows: Any) -> list[Result]:
            sizes.append(len(rows))
            return super()._evaluate_rows(rows)

    row = {"prediction": "aa", "prediction_b": "a", "reference": "r"}
    rows: list[dict[str, Any]] = [
        row,
        {"prediction": "a", "reference": "r"},
        {**row, "reference": None},
        row,
    ]
    results = as_pairwise(Counted()).evaluate_batch(rows)
    assert sizes == [2, 2]
    assert [result["score"] for result in results] == [1, None, None, 1]
    assert [result.get("error_type") for result in results[1:3]] == ["TypeError", "ValueError"]
    assert results[2]["error"] == "BetterScoreWins requires a reference string."


def test_it_hands_on_only_what_the_single_run_evaluator_expects() -> None:
    pair = as_pairwise(load_evaluator("exact_match"))
    assert pair.evaluation_name == "better_exact_match"
    with pytest.warns(UserWarning, match="BetterScoreWins"):
        result = pair.evaluate_string_pairs(
            prediction="a", prediction_b="b", reference="a", input="q"
        )
    assert result["value"] == "A"


def test_a_side_that_could_not_be_judged_keeps_its_reason_and_reply() -> None:
    pair = as_pairwise(load_evaluator("criteria", llm=lambda prompt: "Hm."))
    row = {"input": "q", "prediction": "a", "prediction_b": "b"}
    result = pair.evaluate_string_pairs(**row)
    assert (result["score"], result["error_type"], result["reply"]) == (
        None,
        "UnreadableReply",
        "Hm.",
    )
    assert pair.evaluate_batch([row]) == [result]
    rated = as_pairwise(load_evaluator("score_string", llm=lambda prompt: "Hm."))
    assert rated.evaluate_batch([row])[0]["reply"] == "Hm."


def test_any_evaluator_of_one_answer_can_be_chosen_by_name() -> None:
    pair = load_evaluator(
        "better_score", scored_by="numeric_match", settings={"closeness": True}, tolerance=0.01
    )
    assert pair.requires_reference
    assert pair.evaluation_name == "better_numeric_match"
    row = {"prediction": "41", "prediction_b": "7", "reference": "42"}
    near = {**row, "prediction_b": "41.1"}
    assert [one["value"] for one in pair.evaluate_batch([row, near])] == ["A", None]
    longer = load_evaluator("better_score", scored_by="word_error_rate")
    result = longer.evaluate_string_pairs(prediction="a b", prediction_b="a c", reference="a c")
    assert result["value"] == "B"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scored_by": "criteria"}, "scored_by must be one of bleu"),
        ({"scored_by": "pairwise_string_distance"}, "scored_by must be one of"),
        ({"settings": "x"}, "settings must be an object"),
        ({"settings": {"ignorecase": True}}, "Did you mean 'ignore_case'"),
        ({"tolerance": -1}, "tolerance"),
    ],
)
def test_it_refuses_what_cannot_score_one_answer(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_evaluator("better_score", **settings)


def test_only_an_evaluator_of_one_answer_scores_each_of_two() -> None:
    for other in ("pairwise_string_distance", "tool_call_f1"):
        with pytest.raises(TypeError, match="evaluator of one answer"):
            as_pairwise(load_evaluator(other))
