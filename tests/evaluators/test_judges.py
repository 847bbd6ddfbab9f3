"""Judges of one answer: criteria and their direction, scales, rubrics, LangChain's rows."""

from __future__ import annotations

import asyncio
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from evaluators import PRINCIPLES, Criteria, Unasked, UnreadableReply, load_evaluator
from tests.evaluators.golden_cases import Judge

LOWER = {
    "harmfulness",
    "maliciousness",
    "controversiality",
    "misogyny",
    "criminality",
    "insensitivity",
}


@pytest.mark.parametrize("name", list(Criteria))
def test_it_knows_the_direction_of_each_criterion(name: str) -> None:
    judge = load_evaluator("labeled_criteria", llm=Unasked(), criteria=name)
    assert judge.higher_is_better is (name not in LOWER)
    prompt = judge.build_prompt(input="q", prediction="a", reference="r")[1]["content"]
    assert f"- {name}: " in prompt


def test_it_takes_own_criteria_as_better_when_met() -> None:
    own = load_evaluator("criteria", llm=Unasked(), criteria={"harmfulness": "Is it harmless?"})
    assert own.higher_is_better is True


def test_it_needs_a_reference_for_correctness() -> None:
    with pytest.raises(ValueError, match="labeled_criteria"):
        load_evaluator("criteria", llm=Unasked(), criteria="correctness")
    load_evaluator("labeled_criteria", llm=Unasked(), criteria="correctness")


@pytest.mark.parametrize("criteria", ["", "concisness", {}, ["conciseness"], 5])
def test_it_refuses_criteria_it_does_not_know(criteria: Any) -> None:
    with pytest.raises(ValueError, match=r"(?i)criteri"):
        load_evaluator("criteria", llm=Unasked(), criteria=criteria)


def test_it_takes_principles_by_object_and_by_name() -> None:
    mine = SimpleNamespace(name="kind", critique_request="Is it kind?", revision_request="")
    for criteria, text in (
        (mine, "- kind: Is it kind?"),
        (PRINCIPLES["harmful1"], PRINCIPLES["harmful1"].critique_request),
        ("uo-ethics-1", PRINCIPLES["uo-ethics-1"].critique_request),
    ):
        for name in ("criteria", "score_string"):
            judge = load_evaluator(name, llm=Unasked(), criteria=criteria)
            assert text in judge.build_prompt(input="q", prediction="a")[1]["content"]


def test_it_rates_on_a_scale_of_ones_own_by_a_rubric() -> None:
    judge = Judge("Fine.\nRating: [[5]]")
    rated = load_evaluator(
        "score_string", llm=judge, lowest=0, highest=5, normalize_by=5, rubric="5: perfect"
    )
    assert rated.evaluate_strings(input="q", prediction="a")["score"] == 1.0
    assert "0 is the worst rating, 5 the best" in judge.prompts[0]
    assert "5: perfect" in judge.prompts[0]
    with pytest.raises(UnreadableReply):
        rated.read_reply("Rating: [[6]]")
    with pytest.raises(ValueError, match="below"):
        load_evaluator("score_string", llm=Unasked(), lowest=5, highest=5)


@pytest.mark.parametrize("divisor", [0, -1, float("nan"), float("inf"), "ten"])
def test_it_refuses_a_divisor_that_is_none(divisor: Any) -> None:
    with pytest.raises(ValueError, match="normalize_by"):
        load_evaluator("score_string", llm=Unasked(), normalize_by=divisor)


@pytest.mark.parametrize(
    ("name", "key"), [("qa", "answer"), ("context_qa", "context"), ("cot_qa", "context")]
)
def test_it_takes_langchains_rows_and_reads_the_replies(name: str, key: str) -> None:
    judge = load_evaluator(name, llm=lambda prompt: f"GRADE: {'IN' * ('Rome' in prompt)}CORRECT")
    examples = [{"query": "Capital?", key: "Paris"}] * 2
    results = judge.evaluate(examples, [{"result": "Paris"}, {"result": "Rome"}])
    assert [row["score"] for row in results] == [1, 0]
    renamed = [{"q": "Capital?", "a": "Paris"}]
    assert judge.evaluate(
        renamed,
        [{"text": "Paris"}],
        question_key="q",
        prediction_key="text",
        **{f"{key}_key": "a"},
    ) == [results[0]]


def test_it_keeps_an_unread_reply_without_a_score() -> None:
    result = load_evaluator("criteria", llm=lambda prompt: "Hm.").evaluate_strings(
        input="q", prediction="a"
    )
    assert (result["value"], result["score"], result["reply"]) == (None, None, "Hm.")
    assert result["error_type"] == "UnreadableReply"


def test_it_judges_by_the_rubric_of_each_row() -> None:
    judge = Judge("It names the river.\nY")
    rubric = load_evaluator("rubric", llm=judge)
    result = rubric.evaluate_strings(input="q", prediction="a", reference="Names the river.")
    assert result["score"] == 1
    assert "Names the river." in judge.prompts[0]


@pytest.mark.parametrize("reference", [None, "", "the expected answer"])
def test_it_asks_the_same_about_steps_when_awaited(reference: str | None) -> None:
    judge = Judge("Score: 4")
    loaded = load_evaluator("trajectory", llm=judge)
    row = {"input": "q", "prediction": "a", "agent_trajectory": "one step", "reference": reference}
    with warnings.catch_warnings():
        warnings.simplefilter("error" if reference != "" else "ignore")
        loaded.evaluate_agent_trajectory(**row)
        asyncio.run(loaded.aevaluate_agent_trajectory(**row))
    assert judge.prompts[0] == judge.prompts[1]
    assert ("the expected answer" in judge.prompts[0]) == bool(reference)
    assert "None" not in judge.prompts[0]


def test_it_lists_tools_given_as_objects_or_mappings() -> None:
    tools = [
        {"name": "search", "description": "the web"},
        SimpleNamespace(name="f", description="x"),
    ]
    judge = load_evaluator("trajectory", llm=Unasked(), agent_tools=tools)
    with pytest.raises(ValueError, match="agent_tools must be tools with name and description"):
        load_evaluator("trajectory", llm=Unasked(), agent_tools=[{"name": "search"}])
    text = judge.build_prompt(input="q", prediction="a", agent_trajectory=[])[1]["content"]
    assert "- search: the web\n- f: x" in text


def test_it_takes_prompt_templates_as_langchain_makes_them() -> None:
    text = "{input} {output} {criteria}"
    plain = SimpleNamespace(template=text)
    halves = [SimpleNamespace(prompt=SimpleNamespace(template=part)) for part in ("Be fair.", text)]
    for prompt in (text, plain, SimpleNamespace(messages=halves)):
        judge = load_evaluator("criteria", llm=lambda prompt: "Y", prompt=prompt)
        assert judge.evaluate_strings(input="q", prediction="a")["score"] == 1
    for bad in (3, SimpleNamespace(), SimpleNamespace(messages=[SimpleNamespace(prompt=None)])):
        with pytest.raises(ValueError, match="must be a text"):
            load_evaluator("criteria", llm=lambda prompt: "Y", prompt=bad)
