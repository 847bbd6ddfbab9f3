"""What always holds, whatever the texts are."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators import Unasked, UnreadableReply, load_evaluator
from evaluators.distances import METRICS
from evaluators.json_values import same
from evaluators.llm.prompting import fenced, fill

JUDGES = ["pairwise_string", "criteria", "score_string", "qa", "trajectory"]
TEXTS = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(-1e6, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
QUICK = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize("metric", METRICS)
@QUICK
@given(one=TEXTS, other=TEXTS)
def test_it_measures_the_same_both_ways_and_nothing_nearer_than_itself(
    metric: str, one: str, other: str
) -> None:
    distance = load_evaluator("pairwise_string_distance", distance=metric)
    there = distance.evaluate_string_pairs(prediction=one, prediction_b=other)["score"]
    back = distance.evaluate_string_pairs(prediction=other, prediction_b=one)["score"]
    assert there == pytest.approx(back, abs=1e-12)
    assert 0 <= there <= 1
    assert distance.evaluate_string_pairs(prediction=one, prediction_b=one)["score"] == 0


@pytest.mark.parametrize("name", ["exact_match", "token_overlap", "rouge", "json_validity"])
@QUICK
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), max_size=8))
def test_it_gives_the_same_in_a_batch_as_one_by_one(name: str, rows: list[tuple[str, str]]) -> None:
    loaded = load_evaluator(name)
    arguments: list[dict[str, Any]] = [{"prediction": one} for one, _ in rows]
    if loaded.requires_reference:
        for row, (_, reference) in zip(arguments, rows, strict=True):
            row["reference"] = reference
    assert loaded.evaluate_batch(arguments) == [loaded.evaluate_strings(**row) for row in arguments]


@QUICK
@given(values=st.lists(st.tuples(JSON, JSON), max_size=6))
def test_it_compares_json_in_a_batch_as_one_by_one(values: list[tuple[Any, Any]]) -> None:
    rows = [
        {"prediction": json.dumps(one), "reference": json.dumps(other)}
        for one, other in [*values, *((one, one) for one, _ in values)]
    ]
    for name in ("json_equality", "json_edit_distance"):
        loaded = load_evaluator(name)
        assert loaded.evaluate_batch(rows) == [loaded.evaluate_strings(**row) for row in rows]


@QUICK
@given(value=JSON, other=JSON)
def test_it_holds_json_equal_to_itself_and_equality_to_be_mutual(value: Any, other: Any) -> None:
    for order in ("top", "ignore", "strict"):
        assert same(value, json.loads(json.dumps(value)), order)
        assert same(value, other, order) == same(other, value, order)


@pytest.mark.parametrize("name", ["nearer_by_string_distance", "nearer_by_token_overlap"])
@QUICK
@given(a=TEXTS, b=TEXTS, reference=TEXTS, tolerance=st.floats(0, 1))
def test_it_mirrors_the_verdict_when_the_sides_are_exchanged(
    name: str, a: str, b: str, reference: str, tolerance: float
) -> None:
    nearer = load_evaluator(name, tolerance=tolerance)
    one = nearer.evaluate_string_pairs(prediction=a, prediction_b=b, reference=reference)
    other = nearer.evaluate_string_pairs(prediction=b, prediction_b=a, reference=reference)
    assert one["score"] + other["score"] == 1
    assert (one["value"], other["value"]) in {("A", "B"), ("B", "A"), (None, None)}
    assert nearer.evaluate_string_pairs(prediction=a, prediction_b=a, reference=reference)["tie"]


@QUICK
@given(texts=st.dictionaries(st.sampled_from(["input", "prediction"]), TEXTS), salt=st.binary())
def test_it_never_lets_a_text_close_its_fence(texts: dict[str, str], salt: bytes) -> None:
    mark, shown = fenced(texts, salt)
    for name, text in texts.items():
        assert mark not in text
        assert shown[name].count(mark) == 2
        assert shown[name].split("\n", 1)[1].rsplit("\n", 1)[0] == text


@QUICK
@given(template=st.text(alphabet="{}ab ", max_size=20), values=st.tuples(TEXTS, TEXTS))
def test_it_fills_names_once_and_leaves_all_other_braces(
    template: str, values: tuple[str, str]
) -> None:
    filled = fill(template, {"a": values[0], "b": values[1]})
    parts = template.replace("{b}", "{a}").split("{a}")
    assert len(filled) >= sum(map(len, parts))
    if len(parts) == 1:
        assert filled == template


@pytest.mark.parametrize(
    "name", ["pairwise_string", "criteria", "score_string", "qa", "trajectory"]
)
@QUICK
@given(reply=st.text(alphabet="[]()ABCYN 0123456789/.:*\n{}\"'ｂ١yesnotcr", max_size=60))
def test_it_reads_any_reply_or_says_that_it_cannot(name: str, reply: str) -> None:
    judge = load_evaluator(name, llm=Unasked())
    try:
        score = judge.read_reply(reply)["score"]
    except UnreadableReply as error:
        score = 0 if error.reply == reply else math.nan
    assert 0 <= score <= 10
