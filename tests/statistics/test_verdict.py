import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.statistics import OPS
from evaluators.statistics.verdict import Counts, Verdict, verdict

MIRROR = {"a": "b", "b": "a"}
small = st.integers(0, 60)


def judge(wins_a: int, wins_b: int, ties: int = 0, **more: object) -> Verdict:
    return verdict(Counts(wins_a=wins_a, wins_b=wins_b, ties=ties, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "outcome", "sentence"),
    [
        pytest.param(
            {"wins_a": 341, "wins_b": 175, "ties": 68, "failed": 2, "name_a": "prompt-v7"},
            "a",
            "prompt-v7 wins: judges prefer it in 341 of the 516 examples where they could tell "
            "the two apart (66.1%, 95% interval 62–70%, p < 0.0001); 68 ties; left out: 2 failed.",
            id="clear winner",
        ),
        pytest.param(
            {"wins_a": 175, "wins_b": 341, "people": True, "missing": 1200, "failed": 1},
            "b",
            "B wins: people prefer it in 341 of the 516 examples where they could tell "
            "the two apart (66.1%, 95% interval 62–70%, p < 0.0001); no ties; "
            "left out: 1 failed, 1,200 missing.",
            id="clear loser, voted by people",
        ),
        pytest.param(
            {"wins_a": 3, "wins_b": 0},
            "not_settled",
            "Not settled: judges prefer A in 3 of the 3 examples where they could tell the two "
            "apart (100.0%, 95% interval 44–100%, p = 0.25); no ties.",
            id="three of three is no winner",
        ),
        pytest.param(
            {"wins_a": 37, "wins_b": 41, "ties": 2, "judge": "gpt-4o"},
            "not_settled",
            "Not settled: gpt-4o prefers B in 41 of the 78 examples where it could tell the two "
            "apart (52.6%, 95% interval 42–63%, p = 0.73); 2 ties.",
            id="named judge",
        ),
        pytest.param(
            {"wins_a": 37, "wins_b": 41, "ties": 2, "rule": "half"},
            "not_settled",
            "Not settled: judges give B 52.5% of 80 examples, each tie counted as half a win "
            "(95% interval 42–63%); 37 : 41 of 78 decided (p = 0.73); 2 ties.",
            id="ties as half",
        ),
        pytest.param(
            {"wins_a": 2, "wins_b": 2, "ties": 76},
            "equivalent",
            "A and B are equivalent within 5 points: A gets 50.0% of 80 examples, each tie counted "
            "as half a win (90% interval 48–52%, equivalence p < 0.0001); 2 : 2 of 4 decided; "
            "76 ties.",
            id="many ties",
        ),
        pytest.param(
            {"wins_a": 5, "wins_b": 5, "ties": 1},
            "not_settled",
            "Not settled: judges are split 5 : 5 over the 10 examples where they could tell the "
            "two apart (50.0%, 95% interval 24–76%, p = 1); 1 tie.",
            id="dead heat of few",
        ),
        pytest.param(
            {"wins_a": 0, "wins_b": 0, "ties": 20},
            "not_settled",
            "Not settled: 20 ties, none decided.",
            id="only ties",
        ),
        pytest.param(
            {"wins_a": 0, "wins_b": 0, "ties": 20, "rule": "half"},
            "not_settled",
            "Not settled: 20 ties, none decided, 50.0% with each tie counted as half a win.",
            id="only ties, as half",
        ),
        pytest.param(
            {"wins_a": 0, "wins_b": 0, "failed": 5},
            "nothing",
            "Nothing could be judged: 5 failed.",
            id="only failures",
        ),
        pytest.param(
            {"wins_a": 0, "wins_b": 0}, "nothing", "Nothing judged yet.", id="nothing at all"
        ),
        pytest.param(
            {"wins_a": 0, "wins_b": 0, "failed": 1, "pending": 9},
            "nothing",
            "Nothing judged yet; 1 failed; 9 examples to go.",
            id="just started",
        ),
        pytest.param(
            {"wins_a": 15, "wins_b": 5, "pending": 1},
            "not_settled",
            "So far not settled: judges prefer A in 15 of the 20 examples where they could tell "
            "the two apart (75.0%, always-valid 95% interval 42–95%, always-valid p = 0.31); "
            "no ties; 1 example to go.",
            id="running: no fixed-sample p",
        ),
        pytest.param(
            {"wins_a": 19, "wins_b": 0, "sequential": True},
            "a",
            "A wins: judges prefer it in 19 of the 19 examples where they could tell the two apart "
            "(100.0%, always-valid 95% interval 73–100%, always-valid p < 0.0001); no ties.",
            id="stopped early",
        ),
        pytest.param(
            {"wins_a": 15, "wins_b": 5, "adjusted_p": 0.0828, "comparisons": 2},
            "not_settled",
            "Not settled: judges prefer A in 15 of the 20 examples where they could tell the two "
            "apart (75.0%, 95% interval 53–89%, p = 0.083 after correction for 2 comparisons); "
            "no ties.",
            id="corrected for several comparisons",
        ),
        pytest.param(
            {"wins_a": 15, "wins_b": 5, "ties": 1200, "both_bad": 1000, "both_good": 7},
            "a",
            "A wins: judges give it 50.4% of 1,220 examples, each tie counted as half a win "
            "(95% interval 50.1–50.8%); 15 : 5 of 20 decided (p = 0.041); "
            "1,200 ties (7 both good, 1,000 both bad).",
            id="mostly ties, both bad told apart",
        ),
        pytest.param(
            {"wins_a": 0, "wins_b": 0, "ties": 9, "both_bad": 9},
            "not_settled",
            "Not settled: 9 ties, none decided; 9 both bad.",
            id="all bad",
        ),
    ],
)
def test_it_says_the_outcome(counts: dict[str, object], outcome: str, sentence: str) -> None:
    result = verdict(Counts(**counts))  # type: ignore[arg-type]
    assert (result.outcome, result.sentence) == (outcome, sentence)


@given(small, small, small)
def test_it_mirrors_when_the_sides_are_swapped(wins_a: int, wins_b: int, ties: int) -> None:
    there = judge(wins_a, wins_b, ties, rule="half")
    back = judge(wins_b, wins_a, ties, rule="half")
    assert back.outcome == MIRROR.get(there.outcome, there.outcome)
    assert back.p_value == there.p_value
    if there.rate is not None:
        assert back.rate == pytest.approx(1 - there.rate)
        assert (back.low, back.high) == pytest.approx((1 - there.high, 1 - there.low))  # type: ignore[operator]


@given(small, small, small, st.integers(0, 3), st.sampled_from(["decided", "half"]))
def test_it_keeps_its_interval_around_its_rate(a, b, ties, pending, rule) -> None:
    result = judge(a, b, ties, pending=pending, rule=rule)
    json.dumps(result.as_dict(), allow_nan=False)
    figures = [figure for figure in result.figures if figure.key.endswith("_rate")]
    for value, low, high in ((f.value, f.low, f.high) for f in figures):
        assert value is None or low is None or high is None or low <= value <= high
    if result.outcome == "a":
        assert (result.figure("decided_rate").low or 0) > 0.5
        assert (result.p_value or 0) < 0.05
    assert "nan" not in result.sentence.lower()
    assert "None" not in result.sentence


def test_it_gives_null_with_a_reason_when_nothing_was_decided() -> None:
    result = judge(0, 0, ties=20)
    assert (result.rate, result.low, result.high, result.p_value) == (None,) * 4
    assert result.figure("decided_rate").reason == "No decided rows."
    assert result.figure("p_value").reason == "No decided rows."
    assert result.figure("half_win_rate").value == 0.5


RESULT_KEYS = {
    ("decided_rate", "wilson_interval"): ("rate", "low", "high"),
    ("half_win_rate", "tie_summary"): ("half_win_rate", "half_win_low", "half_win_high"),
    ("p_value", "sign_test"): ("p_value",),
    ("tie_rate", "tie_summary"): ("tie_rate",),
    ("equivalence", "equivalence_tost"): ("p_value", "low_90", "high_90"),
    ("smallest_difference", "mde_paired"): ("mde",),
    ("p_value", "anytime_binomial"): ("e_p",),
    ("decided_rate", "anytime_binomial"): (None, "low", "high"),
    ("half_win_rate", "msprt_normal"): (None, "low", "high"),
}


@pytest.mark.parametrize("pending", [0, 7])
def test_each_number_can_be_computed_again_from_its_how(pending: int) -> None:
    for figure in judge(62, 38, ties=20, pending=pending).figures:
        inputs = dict(figure.how.inputs)
        if figure.key == "equivalence":
            counted = inputs["differences"].items()
            inputs["differences"] = [float(value) for value, n in counted for _ in range(n)]
            if pending:
                assert figure.reason == "The test needs a number of rows fixed beforehand."
                continue
        again = OPS[figure.how.op](**inputs)
        keys = RESULT_KEYS[figure.key, figure.how.op]
        shown = (figure.value, figure.low, figure.high)
        for key, value in zip(keys, shown, strict=False):
            assert key is None or value == pytest.approx(again[key], rel=1e-9)


def test_it_never_plans_with_the_observed_effect() -> None:
    close, lopsided = judge(20, 19, ties=61), judge(24, 15, ties=61)
    assert close.planning.startswith("100 examples can show a win rate 8.8 points from even")
    assert lopsided.planning.startswith("100 examples can show a win rate 8.7 points from even")


def test_it_says_that_a_tiny_sample_cannot_show_anything() -> None:
    assert judge(3, 0).planning == (
        "3 examples cannot show a difference, however large; showing 5 points takes about 785."
    )
    assert judge(3, 0).few_rows


@pytest.mark.parametrize(
    "bad",
    [
        {"wins_a": -1, "wins_b": 0},
        {"wins_a": 1.5, "wins_b": 0},
        {"wins_a": 1, "wins_b": 0, "confidence": 95},
        {"wins_a": 1, "wins_b": 0, "margin": 0},
        {"wins_a": 1, "wins_b": 0, "ties": 1, "both_good": 2},
        {"wins_a": 1, "wins_b": 0, "rule": "ignore"},
    ],
)
def test_it_refuses_counts_that_cannot_be(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"must|cannot"):
        Counts(**bad)  # type: ignore[arg-type]


def test_it_cannot_be_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        judge(1, 0).outcome = "a"  # type: ignore[misc]
