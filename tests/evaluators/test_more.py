"""The evaluators beyond LangChain's twenty, by table."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators import MissingExtra, kind, load_evaluator
from evaluators.numeric import numbers_in
from evaluators.overlap import extra

TABLE: list[tuple[str, dict[str, Any], Any, Any, float]] = [
    ("contains", {}, "Paris is in France", "Paris", 1),
    ("contains", {}, "Paris is in France", "paris", 0),
    ("contains", {"ignore_case": True}, "PARIS", "paris", 1),
    ("contains", {"where": "start"}, "The Paris", "Paris", 0),
    ("contains", {"where": "end"}, "in Paris", "Paris", 1),
    ("contains", {"which": "all"}, "a b c", ["a", "c"], 1),
    ("contains", {"which": "all"}, "a b", ["a", "c"], 0),
    ("contains", {"which": "any"}, "a b", ["x", "b"], 1),
    ("contains", {"which": "any"}, "a b", ["x", "y"], 0),
    ("contains", {"which": "none"}, "a b", ["x", "y"], 1),
    ("contains", {"which": "none"}, "a b", ["x", "a"], 0),
    ("contains", {"whole_words": True}, "cathedral", "cat", 0),
    ("contains", {"whole_words": True}, "a (cat).", "cat", 1),
    ("contains", {"whole_words": True, "where": "start"}, "cat food", "cat", 1),
    ("contains", {"normalize_unicode": True}, "ＡＢＣ", "ABC", 1),
    ("contains", {}, {"city": "Paris"}, "Paris", 1),
    ("numeric_match", {}, "So the answer is 1,234.5", "1234.5", 1),
    ("numeric_match", {}, "12 apples and 3 pears", 3, 1),
    ("numeric_match", {"which": "first"}, "12 apples and 3 pears", 12, 1),
    ("numeric_match", {"which": "only"}, "12 apples and 3 pears", 12, 0),
    ("numeric_match", {}, "none", 12, 0),
    ("numeric_match", {"tolerance": 0.5}, "3.4", "3", 1),
    ("numeric_match", {"relative_tolerance": 0.1}, "109", "100", 1),
    ("numeric_match", {"relative_tolerance": 0.1}, "111", "100", 0),
    ("numeric_match", {"closeness": True}, "3", "1", 0.5),
    ("numeric_match", {"closeness": True}, "0", "0", 1),
    ("numeric_match", {}, "−5", "-5", 1),
    ("numeric_match", {}, "1e3", "1000", 1),
    ("numeric_match", {}, 0.30000000000000004, 0.3, 1),
    ("numeric_match", {}, "答案是42。", "42", 1),
    ("numeric_match", {}, "It is 10km away.", "10", 1),
    ("numeric_match", {}, "about $.50", "0.5", 1),
    ("numeric_match", {"tolerance": "0.5"}, "3.4", "3", 1),
    ("length", {"at_least": 2, "at_most": 3}, "one two three", None, 1),
    ("length", {"at_most": 2}, "one two three", None, 0),
    ("length", {"unit": "characters", "at_least": 5}, "abc", None, 0),
    ("length", {"at_most": 3}, "東京都", None, 1),
    ("list_match", {}, ["a", "b"], ["b", "a"], 1),
    ("list_match", {}, '["a", "b", "c"]', ["a", "b"], 0.8),
    ("list_match", {"score_by": "precision"}, ["a", "x"], ["a"], 0.5),
    ("list_match", {"score_by": "recall"}, ["a", "x"], ["a", "b", "c", "d"], 0.25),
    ("list_match", {"mode": "ordered"}, ["b", "a"], ["a", "b"], 0),
    ("list_match", {"mode": "nearest"}, ["pear", "appel"], ["apple", "pear"], 0.8),
    ("list_match", {}, "a\nb\n", ["a", "b"], 1),
    ("list_match", {"ignore_case": True}, ["A"], ["a"], 1),
    ("list_match", {}, [], [], 1),
    ("list_match", {"mode": "nearest"}, [], ["a"], 0),
    ("list_match", {}, {"a": 1}, ["a"], 0),
    ("list_match", {}, [{"b": 1, "a": 2}], [{"a": 2, "b": 1}], 1),
    ("retrieval", {"k": 2}, ["a", "b"], ["a"], 1.0),
    ("retrieval", {"k": 2}, ["b", "a"], ["a"], 0.6309297535714575),
    ("retrieval", {"score_by": "precision", "k": 4}, ["a", "b"], ["a"], 0.25),
    ("retrieval", {"score_by": "recall"}, ["a"], ["a", "b"], 0.5),
    ("retrieval", {"score_by": "hit"}, ["x"], ["a"], 0),
    ("retrieval", {"score_by": "mrr"}, '["x", "y", "a"]', '["a"]', 1 / 3),
    ("quotations", {}, 'He said "the quick brown fox" twice.', "See the  Quick brown fox!", 1),
    ("quotations", {}, "“made up entirely” and “the quick brown”", ["the quick brown fox"], 0.5),
    ("quotations", {}, "No quotation.", "x", 1),
    ("json_fields", {}, '{"a": 1, "b": {"c": 2}}', {"a": 1, "b": {"c": 3}}, 0.5),
    ("json_fields", {}, {"a": 1, "x": 1}, {"a": 1}, 0.5),
    ("json_fields", {"extra_fields_count": False}, {"a": 1, "x": 1}, {"a": 1}, 1),
    ("json_fields", {"ignore": "id, u.n"}, {"id": 1, "u": {"n": 1}}, {"id": 2, "u": {"n": 2}}, 1),
    ("json_fields", {"tolerance": 0.1}, {"a": 1.05}, {"a": 1}, 1),
    ("json_fields", {}, {"a": True}, {"a": 1}, 0),
    ("json_fields", {}, [1, 2], [2, 1], 0),
    ("json_fields", {"lists": "same_items"}, {"a": [1, 2]}, {"a": [2, 1]}, 1),
    ("json_fields", {"lists": "same_items"}, {"a": [1]}, {"a": [1, 1]}, 0),
    ("json_fields", {"lists": "subset"}, {"a": [1]}, {"a": [2, 1]}, 1),
    ("json_fields", {"lists": "superset"}, {"a": [1, 2, 3]}, {"a": [2, 1]}, 1),
    ("json_fields", {"lists": "superset"}, {"a": [1]}, {"a": [2, 1]}, 0),
    ("json_fields", {}, "no json", {"a": 1}, 0),
    ("json_fields", {}, {}, {}, 1),
    ("rouge", {}, "the cat sat", "the cat sat", 1),
    ("rouge", {}, "the cat", "the dog sat cat", 2 / 3),
    ("rouge", {"variant": "1"}, "cat the", "the cat", 1),
    ("rouge", {"variant": "2"}, "cat the", "the cat", 0),
    ("rouge", {"variant": "2"}, "the cat sat", "the cat ran", 0.5),
    ("rouge", {}, "东京是首都", "首都是东京", 0.4),
    ("rouge", {}, "столица Москва", "столица Москва", 1),
    ("rouge", {}, "", "", 1),
]


@pytest.mark.parametrize(("name", "settings", "prediction", "reference", "score"), TABLE)
def test_it_scores_as_the_table_says(
    name: str, settings: dict[str, Any], prediction: Any, reference: Any, score: float
) -> None:
    loaded = load_evaluator(name, **settings)
    row = {"prediction": prediction}
    if loaded.requires_reference:
        row["reference"] = reference
    result = loaded.evaluate_strings(**row)
    assert result["score"] == pytest.approx(score)
    assert loaded.evaluate_batch([row, row]) == [result, result]
    assert asyncio.run(loaded.aevaluate_strings(**row)) == result


NUMBERS = [
    ("1,234,567.5 and 12", [1234567.5, 12]),
    ("1 234 m", [1234]),
    ("3,14", [3, 14]),
    ("v2.0 x86 a1", []),
    ("$5.00, -7%", [5, -7]),
    ("１２", [12]),
    (True, []),
    ("2024年1月5日", [2024, 1, 5]),
    ("第3章 共42个", [3, 42]),
    (".5, -.25 and 1.", [0.5, -0.25, 1]),
    ("5kg, 20°C, 100MB, 5€, 1e5", [5, 20, 100, 5, 1e5]),
    ("1st 2nd 3rd 20th, 0x1F, 3f2a, 1.2.3", [1.2]),
    ("_7_ and x_1, wait...8", [7, 8]),
]


@pytest.mark.parametrize(("text", "numbers"), NUMBERS)
def test_it_finds_numbers(text: Any, numbers: list[float]) -> None:
    assert numbers_in(text) == numbers


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("contains", {"which": "some"}),
    ("contains", {"where": "middle"}),
    ("numeric_match", {"which": "best"}),
    ("numeric_match", {"tolerance": -1}),
    ("length", {"unit": "pages"}),
    ("list_match", {"mode": "any"}),
    ("list_match", {"score_by": "mean"}),
    ("retrieval", {"k": 0}),
    ("retrieval", {"score_by": "map"}),
    ("rouge", {"variant": "3"}),
    ("json_fields", {"lists": "some"}),
    ("json_fields", {"tolerance": -1}),
    ("trajectory_match", {"steps": "some"}),
    ("trajectory_match", {"arguments": "some"}),
    ("trajectory_match", {"by_tool": {"x": "some"}}),
    ("json_equality", {"list_order": "some"}),
    ("bleu", {"tokenize": "xx"}),
    ("chrf", {"word_order": -1}),
    ("math_match", {"time_limit": 0}),
    ("length", {"at_least": 3, "at_most": 2}),
    ("tool_call_f1", {"arguments": "some"}),
    ("numeric_match", {"tolerance": "much"}),
    ("retrieval", {"k": 2.5}),
    ("retrieval", {"k": None}),
    ("length", {"at_least": "x"}),
    ("length", {"unit": []}),
    ("json_fields", {"ignore": 5}),
    ("regex_match", {"pattern": ["a"]}),
    ("trajectory_match", {"by_tool": None}),
]


@pytest.mark.parametrize(("name", "settings"), REFUSED)
def test_it_refuses_settings_it_does_not_know(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be|[Tt]olerance"):
        load_evaluator(name, **settings)


BAD_REFERENCES: list[tuple[str, Any]] = [
    ("numeric_match", "1 and 2"),
    ("numeric_match", "none"),
    ("list_match", {"a": 1}),
    ("retrieval", []),
    ("retrieval", {"a": 1}),
]


@pytest.mark.parametrize(("name", "reference"), BAD_REFERENCES)
def test_it_makes_a_row_error_of_a_bad_reference(name: str, reference: Any) -> None:
    [row] = load_evaluator(name).evaluate_batch([{"prediction": "[]", "reference": reference}])
    assert (row["score"], row["error_type"]) == (None, "ValueError")


def test_it_says_which_side_of_a_retrieval_is_no_list() -> None:
    rows = [{"prediction": "d7", "reference": ["d7"]}, {"prediction": ["d7"], "reference": "d7"}]
    first, second = load_evaluator("retrieval").evaluate_batch(rows)
    assert first["error"] == "The prediction must be a list of ids, or one as JSON."
    assert second["error"] == "The reference must be a list of ids, or one as JSON."


CALLS = [[{"tool": "search", "tool_input": {"q": "x", "n": 1}}, "out"], [{"tool": "add"}, "2"]]
SWAPPED = CALLS[::-1]
OTHER = [[{"tool": "search", "tool_input": {"q": "x"}}, "out"], [{"tool": "add"}, "2"]]
MESSAGES = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "tool_calls": [{"function": {"name": "search", "arguments": '{"n": 1, "q": "x"}'}}],
    },
    {"role": "assistant", "tool_calls": [{"name": "add", "args": None}]},
]
STEPS: list[tuple[dict[str, Any], Any, Any, int]] = [
    ({}, CALLS, CALLS, 1),
    ({}, MESSAGES, CALLS, 1),
    ({}, SWAPPED, CALLS, 0),
    ({"steps": "unordered"}, SWAPPED, CALLS, 1),
    ({"steps": "unordered"}, CALLS, CALLS[:1], 0),
    ({"steps": "superset"}, CALLS, CALLS[:1], 1),
    ({"steps": "superset"}, CALLS[:1], CALLS, 0),
    ({"steps": "subset"}, CALLS[:1], CALLS, 1),
    ({"steps": "subset"}, CALLS, CALLS[:1], 0),
    ({}, OTHER, CALLS, 0),
    ({"arguments": "ignore"}, OTHER, CALLS, 1),
    ({"arguments": "subset"}, OTHER, CALLS, 1),
    ({"arguments": "superset"}, OTHER, CALLS, 0),
    ({"arguments": "superset"}, CALLS, OTHER, 1),
    ({"by_tool": {"search": "ignore"}}, OTHER, CALLS, 1),
    ({"by_tool": {"search": lambda made, wanted: made["q"] == wanted["q"]}}, OTHER, CALLS, 1),
    ({}, [], [], 1),
    ({}, {"messages": MESSAGES}, CALLS, 1),
    ({"steps": "unordered"}, CALLS * 1500, SWAPPED * 1500, 1),
    ({"steps": "superset", "arguments": "ignore"}, CALLS * 1500, SWAPPED * 1500, 1),
]


@pytest.mark.parametrize(("settings", "made", "wanted", "score"), STEPS)
def test_it_matches_steps(settings: dict[str, Any], made: Any, wanted: Any, score: int) -> None:
    match = load_evaluator("trajectory_match", **settings)
    result = match.evaluate_agent_trajectory(agent_trajectory=made, reference=wanted, input="q")
    assert result == {"score": score}
    assert asyncio.run(
        match.aevaluate_agent_trajectory(agent_trajectory=made, reference=wanted)
    ) == {"score": score}
    assert match.evaluate_batch([{"agent_trajectory": made, "reference": wanted}]) == [result]


def test_it_refuses_what_are_no_steps_and_more_than_it_can_pair_off() -> None:
    match = load_evaluator("trajectory_match", steps="unordered", arguments="subset")
    [no_list, too_many] = match.evaluate_batch(
        [
            {"agent_trajectory": {"tool": "search"}, "reference": []},
            {"agent_trajectory": CALLS * 300, "reference": CALLS},
        ]
    )
    assert no_list["error"] == "Steps must be a list of actions, or of chat messages."
    assert "More than 500 calls" in too_many["error"]


def test_it_pairs_calls_off_in_the_best_way() -> None:
    either = {"tool": "f", "tool_input": {}}
    special = {"tool": "f", "tool_input": {"a": 1}}
    match = load_evaluator("trajectory_match", steps="unordered", arguments="subset")
    for made in ([either, special], [special, either]):
        result = match.evaluate_agent_trajectory(
            agent_trajectory=made, reference=[special, {"tool": "f", "tool_input": {"b": 2}}]
        )
        assert result == {"score": 1}


def test_it_counts_tool_calls_and_repetitions() -> None:
    calls = load_evaluator("tool_call_f1")
    result = calls.evaluate_agent_trajectory(
        agent_trajectory=[*CALLS, CALLS[1], CALLS[1]], reference=CALLS
    )
    assert result["score"] == pytest.approx(2 / 3)
    assert (result["precision"], result["recall"], result["repeated_calls"]) == (0.5, 1.0, 2)
    ignoring = load_evaluator("tool_call_f1", arguments="ignore")
    assert ignoring.evaluate_agent_trajectory(agent_trajectory=OTHER, reference=CALLS)["score"] == 1
    [row] = calls.evaluate_batch([{"agent_trajectory": "did things", "reference": CALLS}])
    assert "cannot be compared" in row["error"]


def test_it_says_which_extra_is_missing() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'tiebreak\[metrics\]'"):
        extra("no_such_package", "metrics")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("No end", 1),
        ("3.5 is one number, e.g.\n\nA heading\n\nAn end…", 3),
        ('He said "Stop." Then he went.', 2),
        ("东京是首都。京都不是！", 2),
        ("", 0),
        ("... !", 0),
    ],
)
def test_it_counts_sentences(text: str, count: int) -> None:
    result = load_evaluator("length", unit="sentences", at_least=1).evaluate_strings(
        prediction=text
    )
    assert result == {"score": int(count > 0), "length": count}


def test_readability_is_the_index_by_its_formula() -> None:
    grade = load_evaluator("readability")
    result = grade.evaluate_strings(prediction="The cat sat. It was warm.")
    assert result["score"] == pytest.approx(4.71 * 18 / 6 + 0.5 * 6 / 2 - 21.43)
    assert (result["words"], result["sentences"]) == (6, 2)
    [row] = grade.evaluate_batch([{"prediction": "…"}])
    assert "without words" in row["error"]
    assert grade.higher_is_better is False


def test_fields_of_json_have_weights() -> None:
    wanted = {"name": "Ann", "user": {"age": 3, "city": "x"}, "id": 1}
    found = {"name": "Bob", "user": {"age": 3, "city": "y"}, "id": 1}

    def score(weights: str) -> float:
        fields = load_evaluator("json_fields", weights=weights)
        return float(fields.evaluate_strings(prediction=found, reference=wanted)["score"])

    assert score("") == 0.5
    assert score("name=2") == 2 / 5
    assert score("user=3") == 4 / 8
    assert score("user=3, user.city=0") == 4 / 5
    assert score("name=0,user.city=0") == 1
    for bad in ("name", "name=x", "=3", "name=-1", "name=nan"):
        with pytest.raises(ValueError, match="weights"):
            load_evaluator("json_fields", weights=bad)


def test_numbers_beyond_all_bounds_score_nothing() -> None:
    huge = 10**400
    match = load_evaluator("numeric_match", closeness=True)
    for prediction in (huge, -huge, "1e999"):
        assert match.evaluate_strings(prediction=prediction, reference="5") == {"score": 0}
    [row] = match.evaluate_batch([{"prediction": 1, "reference": huge}])
    assert row["error_type"] == "ValueError"
    fields = load_evaluator("json_fields")
    assert fields.evaluate_strings(prediction={"a": huge}, reference={"a": 1})["score"] == 0
    assert fields.evaluate_strings(prediction={"a": huge}, reference={"a": huge})["score"] == 1


def test_what_has_no_letters_is_refused_by_name() -> None:
    [row] = load_evaluator("string_distance").evaluate_batch(
        [{"prediction": {"a": 1}, "reference": "x"}]
    )
    assert "mapping" in row["error"]
    if kind("bleu").available:
        [row] = load_evaluator("bleu").evaluate_batch([{"prediction": "a", "reference": []}])
        assert "empty" in row["error"]
