"""One score for each of several criteria, and verdicts that contradict what was written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators import Reply, Unasked, load_evaluator

TWO = {"short": "Is it short?", "true": "Is it true?"}
ROW = {"input": "q", "prediction": "a", "prediction_b": "b", "reference": "r"}


def _read(name: str, reply: str, **options: Any) -> dict[str, Any]:
    result: dict[str, Any] = load_evaluator(name, llm=Unasked(), **options).read_reply(reply)
    return result


@pytest.mark.parametrize("name", ["criteria", "labeled_criteria"])
@pytest.mark.parametrize(
    ("reply", "score", "each", "inconsistent"),
    [
        ("It is.\n\nshort: Y\ntrue: N\n\nN", 0, {"short": 1, "true": 0}, False),
        ("**Short**: Yes\n- true = no\n\nY", 1, {"short": 1, "true": 0}, True),
        ("short: N\nOn reflection:\nshort: Y\ntrue: Y\n\nY", 1, {"short": 1, "true": 1}, False),
        (
            '{"criteria": {"short": "Y", "true": "N"}, "verdict": "N"}',
            0,
            {"short": 1, "true": 0},
            0,
        ),
        ("1. short: Y\n\nN", 0, {"short": 1}, True),
        ("Neither.\n\nN", 0, None, False),
        ("shortness: N\nthe short: N is not it\n\nY", 1, None, False),
    ],
)
def test_it_scores_each_criterion(
    name: str, reply: str, score: int, each: Any, inconsistent: bool
) -> None:
    result = _read(name, reply, criteria=TWO)
    assert result["score"] == score
    assert result.get("scores") == each
    assert result.get("inconsistent", False) == bool(inconsistent)


def test_it_asks_for_each_criterion_only_if_there_are_several() -> None:
    def prompt(criteria: Any) -> str:
        judge = load_evaluator("criteria", llm=Unasked(), criteria=criteria)
        return str(judge.build_prompt(input="q", prediction="a")[1]["content"])

    assert "a line for each" in prompt(TWO)
    assert "a line for each" not in prompt("depth")
    one = load_evaluator("criteria", llm=Unasked(), criteria="depth")
    assert set(one.reply_schema()["properties"]) == {"reasoning", "verdict"}


def test_it_asks_for_each_criterion_in_the_shape_of_the_reply() -> None:
    class Model:
        structured = True

        def complete(self, prompt: Any, schema: Any = None) -> Reply:
            each = dict.fromkeys(schema["properties"]["criteria"]["required"], "Y")
            assert list(schema["properties"]) == schema["required"]
            return Reply(json.dumps({"reasoning": "r", "criteria": each, "verdict": "Y"}))

        async def acomplete(self, prompt: Any, schema: Any = None) -> Reply:
            return self.complete(prompt, schema)

    judge = load_evaluator("criteria", llm=Model(), criteria=TWO)
    result = judge.evaluate_strings(input="q", prediction="a")
    assert result == {
        "reasoning": "r",
        "value": "Y",
        "score": 1,
        "scores": {"short": 1, "true": 1},
    }


@pytest.mark.parametrize(
    ("name", "reply", "inconsistent"),
    [
        ("criteria", "The submission meets every criterion.\n\nN", True),
        ("criteria", "The answer does not meet the criterion.\n\nY", True),
        ("criteria", "So it fails to meet this requirement.\n\nY", True),
        ("criteria", "The answer meets the criterion.\n\nY", False),
        ("criteria", "To meet the criterion it would have to be short. It rambles.\n\nN", False),
        ("criteria", "The question is whether it meets the criterion.\n\nN", False),
        ("criteria", "It meets the criteria in part, but does not meet all criteria.\n\nN", False),
        ("criteria", "Too long.\n\nY", False),
        ("qa", "The student's answer is correct.\nGRADE: INCORRECT", True),
        ("qa", "The student's answer is not correct.\nGRADE: CORRECT", True),
        ("qa", "The true answer is correct by definition.\nGRADE: INCORRECT", False),
        ("qa", "The submission is clearly wrong.\nGRADE: INCORRECT", False),
        ("pairwise_string", "Assistant A is clearly better.\n[[B]]", True),
        ("pairwise_string", "Answer A is the better one.\n[[C]]", True),
        (
            "pairwise_string",
            "A is fine. Answer A is better in style, answer B is better.\n[[A]]",
            False,
        ),
        ("pairwise_string", "Assistant A is not better.\n[[B]]", False),
        ("faithfulness", "The text satisfies the requirement.\nN", True),
    ],
)
def test_it_marks_a_verdict_that_contradicts_its_reasoning(
    name: str, reply: str, inconsistent: bool
) -> None:
    assert _read(name, reply).get("inconsistent", False) == inconsistent


def test_the_mark_changes_no_score() -> None:
    result = _read("pairwise_string", "Assistant A is clearly better.\n[[B]]")
    assert (result["value"], result["score"], result["inconsistent"]) == ("B", 0, True)


@pytest.mark.parametrize("name", ["qa", "context_qa", "cot_qa"])
@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("GRADE: PARTIALLY CORRECT", 0.5),
        ("The answer is mostly correct.", 0.5),
        ("**partly correct**", 0.5),
        ("GRADE: CORRECT", 1),
        ("GRADE: INCORRECT", 0),
        ('{"verdict": "PARTIALLY CORRECT"}', 0.5),
    ],
)
def test_a_partially_correct_answer_scores_what_was_asked_for(
    name: str, reply: str, score: float
) -> None:
    def judge(prompt: str) -> str:
        return reply

    row = {name: ROW[name] for name in ("input", "prediction", "reference")}
    half = load_evaluator(name, llm=judge, partial_score=0.5)
    assert half.evaluate_strings(**row)["score"] == score
    unread = load_evaluator(name, llm=judge).evaluate_strings(**row)
    assert unread["score"] == (None if score == 0.5 else score)
    with pytest.raises(ValueError, match="partial_score"):
        load_evaluator(name, llm=judge, partial_score=2)
