"""Gaps in rows are left out and counted; input that cannot be is refused."""

import json
import math
from typing import Any

import pytest

from evaluators.statistics import OPS

GAME = {"a": "A", "b": "B", "wins_a": 0, "wins_b": 0, "ties": 0}

SPREAD = dict.fromkeys(("between_var", "within_var_a", "repeats_a", "within_var_b", "repeats_b"), 1)

GAPS = [
    ("paired_difference", {"a": [1, None, 0, 1], "b": [0, 1, math.nan, 0.5]}, 2),
    ("paired_bootstrap", {"differences": [0.1, None, 0.4, math.inf]}, 2),
    ("clustered_mean", {"values": [1, None, 0], "clusters": ["d", "d", "e"]}, 1),
    ("repeat_variance", {"scores": [[1, None, 0], [1, 1, 1], [None, None, None]]}, 4),
    ("equivalence_tost", {"differences": [0.1, None, 0.2], "margin": 0.1}, 1),
    ("adjust_p_values", {"p_values": [0.01, None, 0.04]}, 1),
    ("two_rater_agreement", {"rater_1": ["A", None, "B"], "rater_2": ["A", "B", "A"]}, 1),
    ("krippendorff_alpha", {"ratings": [["A", "B", None], ["A", "A", "A"]], "level": "nominal"}, 1),
    ("position_report", {"verdicts": [{"ab": "A", "ba": "A"}, {"ab": "A", "ba": None}]}, 1),
    ("longer_wins", {"scores_a": [1, 0], "length_a": [3, None], "length_b": [1, 2]}, 1),
    ("length_controlled", {"scores_a": [1, None, 0, 1], "length_diff": [1, 2, 3, 4]}, 1),
    (
        "ppi_win_rate",
        {"human": [1, 0, None], "judge_on_human": [1, 0, 1], "judge_unlabelled": [1, None, 0]},
        2,
    ),
    ("judge_calibration", {"confidence": [0.9, None, 0.2], "correct": [1, 1, 0], "bins": 5}, 1),
    ("score_correlation", {"a": [1, 2, None], "b": [2, 1, 4]}, 1),
    ("latency_percentiles", {"values": [1.0, None, 3.0]}, 1),
    ("bradley_terry", {"games": [GAME | {"ties": 4}, GAME | {"b": "A", "wins_a": 3}]}, 3),
]


@pytest.mark.parametrize(("op", "inputs", "excluded"), GAPS)
def test_it_leaves_out_and_counts_rows_with_gaps(
    op: str, inputs: dict[str, Any], excluded: int
) -> None:
    result = OPS[op](**inputs)
    json.dumps(result, allow_nan=False)
    assert result["excluded"] == excluded


def test_a_gap_keeps_its_place() -> None:
    adjusted = OPS["adjust_p_values"](p_values=[0.01, None, 0.04], alpha=0.05)
    assert adjusted["holm"] == [0.02, None, 0.04]
    assert adjusted["bh_reject"] == [True, None, True]
    calibrated = OPS["judge_calibration"](confidence=[0.9, None, 0.2], correct=[1, 1, 0], bins=5)
    assert calibrated["isotonic"] == [1, None, 0]


def test_rows_without_a_cluster_stand_alone() -> None:
    values = [1, 0, 1, 0.5]
    apart = OPS["clustered_mean"](values=values, clusters=[None, None, None, None])
    assert apart["n_clusters"] == 4
    assert apart["cluster_se"] == pytest.approx(apart["naive_se"])


BAD = [
    ("wilson_interval", {"wins": 3, "n": 2}),
    ("wilson_interval", {"wins": 1, "n": 2, "confidence": 1}),
    ("wilson_interval", {"wins": math.nan, "n": 2}),
    ("sign_test", {"wins": -1, "losses": 0}),
    ("sign_test", {"wins": "3", "losses": 0}),
    ("sign_test", {"wins": None, "losses": 0}),
    ("sample_size_sign_test", {"true_rate": math.nan}),
    ("msprt_normal", {"n": 9, "mean": math.inf, "sigma": 1, "tau": 1}),
    ("elo_online", {"games": [], "scale": 0}),
    ("sign_test", {"wins": 1.5, "losses": 0}),
    ("tie_summary", {"wins_a": 1, "wins_b": 0, "ties": -2}),
    ("paired_difference", {"a": [1, 2], "b": [1]}),
    ("paired_difference", {"a": ["1"], "b": [1]}),
    ("clustered_mean", {"values": [1], "clusters": []}),
    ("pass_at_k", {"n": 3, "passes": 4, "k": 1}),
    ("pass_at_k", {"n": 3, "passes": 1, "k": 0}),
    ("sample_size_sign_test", {"true_rate": 1.2}),
    ("mde_paired", {"n": 3, "sd_diff": -1}),
    ("adjust_p_values", {"p_values": [1.2]}),
    ("anytime_sequence", {"outcomes": "ABX"}),
    ("anytime_binomial", {"wins": 1, "losses": 0, "alpha": 0}),
    ("equivalence_tost", {"differences": [1, 2], "margin": -0.1}),
    ("equivalence_tost", {"differences": [1, 2], "margin": 0.1, "alpha": 0.5}),
    ("bradley_terry", {"games": [GAME | {"wins_a": -1}]}),
    ("elo_online", {"games": [{"a": "A", "b": "B", "outcome": "a"}]}),
    ("two_rater_agreement", {"rater_1": ["A"], "rater_2": []}),
    ("krippendorff_alpha", {"ratings": [[1], [1, 2]], "level": "nominal"}),
    ("krippendorff_alpha", {"ratings": [[1], [2]], "level": "cardinal"}),
    ("position_report", {"verdicts": [{"ab": "A", "ba": "first"}]}),
    ("length_controlled", {"scores_a": [2, 0], "length_diff": [1, 2]}),
    (
        "rogan_gladen",
        dict.fromkeys(("judge_n", "human_wins", "agree_on_human_wins"), 1)
        | {"judge_wins": 2, "agree_on_human_losses": 0, "human_losses": 1},
    ),
    ("judge_calibration", {"confidence": [1.2], "correct": [1]}),
    ("judge_calibration", {"confidence": [0.2], "correct": [0.5]}),
    ("sign_test", {"wins": 10**400, "losses": 0}),
    ("tie_summary", {"wins_a": 1e308, "wins_b": 0, "ties": 0}),
    ("anytime_binomial", {"wins": 1, "losses": 0, "alpha": 10**400}),
    ("msprt_normal", {"n": 9, "mean": 1e200, "sigma": 1, "tau": 1}),
    ("sample_size_repeats", SPREAD | {"within_var_a": 1e200, "delta": 1}),
    ("anytime_sequence", {"outcomes": ["A", "B"]}),
    ("elo_online", {"games": [{"a": "A", "b": "B"}]}),
    ("position_report", {"verdicts": ["A"]}),
    ("position_report", {"verdicts": [None]}),
]


NO_GAMES: list[Any] = ["x", None, {}, GAME | {"a": None}, GAME | {"b": 7}]
BAD += [
    (op, {"games": [game]})
    for op in ("bradley_terry", "davidson", "bt_identifiable", "elo_online")
    for game in NO_GAMES
]


@pytest.mark.parametrize(("op", "inputs"), BAD)
def test_it_refuses_input_that_cannot_be(op: str, inputs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|cannot|Expected|may|one entry"):
        OPS[op](**inputs)


def test_a_number_too_large_for_a_float_is_null_and_says_so() -> None:
    few = OPS["sample_size_repeats"](**SPREAD, delta=1e-200)
    assert (few["n"], few["reason"]) == (None, "More rows than a float can count.")
    far = OPS["msprt_normal"](n=9, mean=1e100, sigma=0.1, tau=0.1)
    assert far["likelihood_ratio"] is None
    assert OPS["msprt_normal"](n=9, mean=1, sigma=1e-100, tau=1e-100)["reason"]
    assert "too large" in far["reason"]


def test_elo_ratings_may_drift_far_apart() -> None:
    games = [{"a": "A", "b": "B", "outcome": "A"}, {"a": "B", "b": "A", "outcome": "A"}] * 2
    assert OPS["elo_online"](games=games, k=1e6)["rating"].keys() == {"A", "B"}
