"""Every recorded case, by the sync call, the async call and the batch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.evaluators.golden_cases import (
    OPT_INS,
    Outcome,
    agrees,
    arguments,
    cases,
    decode,
    identifier,
    load,
    outcomes,
)

NAMES = [
    "exact_match",
    "string_distance",
    "pairwise_string_distance",
    "regex_match",
    "json_validity",
    "json_equality",
    "json_edit_distance",
    "json_schema_validation",
    "embedding_distance",
    "pairwise_embedding_distance",
    "criteria",
    "labeled_criteria",
    "score_string",
    "labeled_score_string",
    "pairwise_string",
    "labeled_pairwise_string",
    "qa",
    "context_qa",
    "cot_qa",
    "trajectory",
]
CASES = [case for name in NAMES for case in cases(name)]


def _ours(case: dict[str, Any]) -> bool:
    return "deviation" in case and case["deviation_class"] != "opt_in"


def _check(case: dict[str, Any], outcome: Outcome) -> None:
    error = "wanted_error" if _ours(case) else "error"
    wanted = case.get("wanted" if _ours(case) else "expected")
    if wanted is None:
        assert error in case
        assert outcome.error
        if "error_message" in case and not _ours(case):
            assert outcome.error == case["error_message"]
        return
    if outcome.error and "wanted_or_error" in case:
        return
    keep = case.get("compare", wanted)
    wanted = decode({name: value for name, value in wanted.items() if name in keep})
    assert agrees(outcome.result, wanted), (outcome.result, wanted)


def _check_warnings(case: dict[str, Any], outcome: Outcome) -> None:
    key = "wanted_warnings" if "wanted_warnings" in case and _ours(case) else "warnings"
    wanted = [text.split(" in ")[0] for text in case.get(key, [])]
    assert [text.split(" in ")[0] for text in outcome.warned] == wanted


@pytest.mark.parametrize("case", CASES, ids=identifier)
def test_it_agrees_with_the_recorded_case(case: dict[str, Any]) -> None:
    row = arguments(case)
    try:
        load(case)
    except ValueError:
        assert "error" in case or "wanted_error" in case
        return
    found = list(outcomes(lambda: load(case), row))
    for outcome in found:
        _check(case, outcome)
        _check_warnings(case, outcome)
        if not outcome.error:
            assert agrees(outcome.result, found[0].result), (outcome.result, found[0].result)
    _check_what_the_judge_saw(case, row)


def _check_what_the_judge_saw(case: dict[str, Any], row: dict[str, Any]) -> None:
    for name, seen in case.get("judge_saw", {}).items():
        evaluator, judge = load(case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluator.evaluate_batch([row])
        assert (row[name] in judge.prompts[0]) == seen


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.get("deviation_class") == "opt_in"], ids=identifier
)
def test_it_does_better_where_the_option_is_on(case: dict[str, Any]) -> None:
    name, _, value = case.get("wanted_option", "").partition("=")
    option = {name: {"True": True}.get(value, value)} if name else OPT_INS[case["deviation"]]
    evaluator, _ = load(case, **option)
    assert agrees(evaluator.evaluate_row(arguments(case)), case["wanted"])
