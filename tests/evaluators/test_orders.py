"""Pairwise judges asked in both orders, or in an order by lot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators import in_both_orders, in_random_order, load_evaluator

ROW = {"input": "q", "prediction": "long answer", "prediction_b": "short"}


def _longer(prompt: str) -> str:
    return "[[A]]" if prompt.index("long answer") < prompt.index("short") else "[[B]]"


def _judge(reply: Any) -> Any:
    llm = reply if callable(reply) else lambda prompt: reply
    return load_evaluator("pairwise_string", llm=llm)


def _three(evaluator: Any, row: Any) -> dict[str, Any]:
    one: dict[str, Any] = evaluator.evaluate_string_pairs(**row)
    assert asyncio.run(evaluator.aevaluate_string_pairs(**row)) == one
    assert evaluator.evaluate_batch([row, row]) == [one, one]
    assert asyncio.run(evaluator.aevaluate_batch([row])) == [one]
    return one


def test_a_verdict_stands_if_both_orders_agree() -> None:
    result = _three(in_both_orders(_judge(_longer)), ROW)
    assert (result["value"], result["score"], result["consistent"]) == ("A", 1, True)
    assert result["other_order"]["value"] == "A"
    tie = _three(in_both_orders(_judge("[[C]]")), ROW)
    assert (tie["value"], tie["score"], tie["tie"], tie["consistent"]) == (None, 0.5, True, True)


@pytest.mark.parametrize("reply", ["[[A]]", "[[B]]"])
def test_a_judge_that_favours_a_place_comes_to_a_tie(reply: str) -> None:
    result = _three(in_both_orders(_judge(reply)), ROW)
    assert (result["value"], result["score"], result["tie"]) == (None, 0.5, True)
    assert result["consistent"] is False


def test_an_unread_reply_in_one_order_is_no_verdict() -> None:
    def half(prompt: str) -> str:
        return "Hm." if prompt.index("short") < prompt.index("long answer") else "[[A]]"

    both = in_both_orders(_judge(half))
    with pytest.raises(ValueError, match="no verdict"):
        both.evaluate_string_pairs(**ROW)
    good, bad = both.evaluate_batch([{**ROW, "input": None}, ROW])
    assert "requires an input string" in good["error"]
    assert (bad["score"], bad["error_type"], bad["reply"]) == (None, "UnreadableReply", "Hm.")


def test_an_order_by_lot_is_the_same_for_the_same_seed_and_even_in_the_long_run() -> None:
    rows = [{**ROW, "input": f"question {number}"} for number in range(400)]
    by_lot = in_random_order(_judge("[[A]]"), seed=7)
    results = by_lot.evaluate_batch(rows)
    assert results == by_lot.evaluate_batch(rows)
    firsts = [row["shown_first"] for row in results]
    assert 150 < firsts.count("B") < 250
    assert [row["value"] for row in results] == firsts
    assert firsts != [
        row["shown_first"] for row in in_random_order(_judge("[[A]]"), 8).evaluate_batch(rows)
    ]
    fair = in_random_order(_judge(_longer)).evaluate_batch(rows)
    assert {row["value"] for row in fair} == {"A"}
    assert _three(by_lot, ROW)["shown_first"] in "AB"


def test_it_takes_what_the_judge_takes() -> None:
    labeled = in_both_orders(load_evaluator("labeled_pairwise_string", llm=_longer))
    assert labeled.requires_reference
    assert labeled.evaluation_name == "labeled_pairwise_string"
    [row] = labeled.evaluate_batch([ROW])
    assert "requires a reference string" in row["error"]
    nearer = in_both_orders(load_evaluator("nearer_by_string_distance"))
    row = {"prediction": "a", "prediction_b": "b", "reference": "a"}
    assert nearer.evaluate_string_pairs(**row)["value"] == "A"
    with pytest.raises(TypeError, match="pairwise"):
        in_both_orders(load_evaluator("exact_match"))
