"""What no library decides: no rows, and denominators of zero."""

import json
import math
from typing import Any

import pytest

from evaluators.statistics import OPS

GAME = {"a": "A", "b": "B", "wins_a": 0, "wins_b": 0, "ties": 0}

# Operation, inputs, keys that must be null, keys with a known value.
NULLS = [
    ("wilson_interval", {"wins": 0, "n": 0, "confidence": 0.95}, "rate low high", {}),
    ("sign_test", {"wins": 0, "losses": 0}, "p_value exact_low exact_high", {}),
    (
        "tie_summary",
        {"wins_a": 0, "wins_b": 0, "ties": 0},
        "tie_rate half_win_rate half_win_se half_win_low half_win_high net_win_rate "
        "decided_rate decided_low decided_high sign_p_value",
        {"n": 0, "decided_n": 0},
    ),
    (
        "tie_summary",
        {"wins_a": 0, "wins_b": 0, "ties": 20},
        "decided_rate decided_low decided_high sign_p_value",
        {"n": 20, "tie_rate": 1, "half_win_rate": 0.5, "half_win_se": 0, "decided_n": 0},
    ),
    ("tie_summary", {"wins_a": 1, "wins_b": 0, "ties": 0}, "half_win_se", {"half_win_rate": 1}),
    (
        "mcnemar",
        {"both_pass": 0, "a_only": 0, "b_only": 0, "both_fail": 0},
        "exact_p chi2_cc chi2_cc_p diff diff_se",
        {},
    ),
    (
        "mcnemar",
        {"both_pass": 3, "a_only": 0, "b_only": 0, "both_fail": 2},
        "exact_p chi2_cc chi2_cc_p",
        {"diff": 0, "diff_se": 0},
    ),
    (
        "paired_difference",
        {"a": [], "b": []},
        "mean_diff se t t_p t_low t_high cohen_dz permutation_p unpaired_se",
        {"wins_a": 0, "wins_b": 0, "ties": 0, "n": 0},
    ),
    (
        "paired_difference",
        {"a": [0.3], "b": [0.1]},
        "se t t_p t_low t_high cohen_dz unpaired_se",
        {"mean_diff": pytest.approx(0.2), "wins_a": 1},
    ),
    (
        "paired_difference",
        {"a": [0.3, 0.5, 0.9], "b": [0.2, 0.4, 0.8]},
        "t t_p t_low t_high cohen_dz",
        {"mean_diff": pytest.approx(0.1), "se": 0, "permutation_p": 0.25},
    ),
    ("paired_bootstrap", {"differences": []}, "mean bootstrap_se low high", {"n": 0}),
    ("paired_bootstrap", {"differences": [0.5]}, "bootstrap_se low high", {"mean": 0.5}),
    (
        "clustered_mean",
        {"values": [], "clusters": []},
        "mean naive_se cluster_se_cr0 cluster_se design_effect t_low t_high",
        {"n_clusters": 0},
    ),
    (
        "clustered_mean",
        {"values": [0, 1, 1], "clusters": ["d", "d", "d"]},
        "cluster_se_cr0 cluster_se design_effect t_low t_high",
        {"n_clusters": 1, "mean": pytest.approx(2 / 3)},
    ),
    (
        "clustered_mean",
        {"values": [1, 1, 1], "clusters": ["d", "e", "f"]},
        "design_effect t_low t_high",
        {"mean": 1, "cluster_se": 0},
    ),
    ("repeat_variance", {"scores": []}, "mean within_var between_var se", {"row_sd": []}),
    (
        "repeat_variance",
        {"scores": [[1], [0]]},
        "within_var between_var",
        {"mean": 0.5, "se": 0.5, "row_sd": [None, None]},
    ),
    ("pass_at_k", {"n": 2, "passes": 1, "k": 3}, "pass_at_k pass_hat_k", {}),
    ("pass_at_k", {"n": 0, "passes": 0, "k": 1}, "pass_at_k pass_hat_k", {}),
    (
        "sample_size_sign_test",
        {"true_rate": 0.5, "alpha": 0.05, "power": 0.8},
        "n_decided exact_power_at_n n_exact",
        {},
    ),
    (
        "sample_size_repeats",
        dict.fromkeys(("between_var", "within_var_a", "within_var_b"), 0.1)
        | {"repeats_a": 1, "repeats_b": 1, "delta": 0},
        "n n_raw",
        {},
    ),
    ("mde_paired", {"n": 0, "sd_diff": 0.4}, "mde n_for_mde_t_test", {}),
    ("mde_paired", {"n": 9, "sd_diff": 0}, "n_for_mde_t_test", {"mde": 0}),
    ("adjust_p_values", {"p_values": [None]}, "", {"holm": [None], "bh_reject": [None]}),
    ("anytime_binomial", {"wins": 0, "losses": 0}, "e_p low high", {"e_value": 1}),
    ("anytime_binomial", {"wins": 5000, "losses": 0}, "e_value", {"e_p": 0, "high": 1}),
    ("anytime_sequence", {"outcomes": "A" * 5000}, "final_e max_e", {"stop_at": 8}),
    (
        "anytime_sequence",
        {"outcomes": ""},
        "stop_at p_anytime running_low running_high",
        {"final_e": 1, "max_e": 1},
    ),
    (
        "anytime_sequence",
        {"outcomes": "TTT"},
        "stop_at p_anytime running_low running_high",
        {"final_e": 1, "max_e": 1},
    ),
    (
        "msprt_normal",
        {"n": 0, "mean": 0.5, "sigma": 0.4, "tau": 0.1},
        "likelihood_ratio p low high",
        {},
    ),
    (
        "msprt_normal",
        {"n": 9, "mean": 0.5, "sigma": 0, "tau": 0.1},
        "likelihood_ratio p low high",
        {},
    ),
    (
        "msprt_normal",
        {"n": 10**6, "mean": 0.5, "sigma": 0.01, "tau": 1},
        "likelihood_ratio",
        {"p": 0},
    ),
    (
        "equivalence_tost",
        {"differences": [], "margin": 0.05},
        "p_value equivalent low_90 high_90",
        {},
    ),
    (
        "equivalence_tost",
        {"differences": [0, 0, 0], "margin": 0.05},
        "p_value equivalent low_90 high_90",
        {},
    ),
    ("equivalence_tost", {"differences": [0.1], "margin": 0.05}, "p_value equivalent", {}),
    ("bradley_terry", {"games": []}, "strength win_probability elo_scale_mean_1000 diff_se", {}),
    ("bradley_terry", {"games": [GAME | {"wins_a": 5}]}, "strength win_probability", {}),
    ("davidson", {"games": []}, "strength nu", {}),
    ("davidson", {"games": [GAME | {"wins_a": 5, "ties": 5}]}, "strength nu", {}),
    ("davidson", {"games": [GAME | {"ties": 5}]}, "strength nu", {}),
    ("elo_online", {"games": []}, "", {"rating": {}}),
    ("bt_identifiable", {"games": []}, "", {"identifiable": False, "weak_components": 0}),
    (
        "two_rater_agreement",
        {"rater_1": [], "rater_2": []},
        "percent cohen_kappa kappa_low kappa_high gwet_ac1 krippendorff_alpha_nominal",
        {"n": 0},
    ),
    (
        "two_rater_agreement",
        {"rater_1": ["A", "A"], "rater_2": ["A", "A"]},
        "cohen_kappa kappa_low kappa_high gwet_ac1 krippendorff_alpha_nominal",
        {"percent": 1},
    ),
    ("krippendorff_alpha", {"ratings": [], "level": "nominal"}, "alpha", {"items": 0}),
    ("krippendorff_alpha", {"ratings": [[1, None], [None, 2]], "level": "nominal"}, "alpha", {}),
    ("krippendorff_alpha", {"ratings": [[3, 3], [3, 3]], "level": "interval"}, "alpha", {}),
    (
        "position_report",
        {"verdicts": []},
        "consistency consistency_low consistency_high first_slot_share flip_p_value "
        "average_half_win_rate",
        {"rows": 0, "reconciled": {"A": 0, "B": 0, "T": 0}},
    ),
    (
        "position_report",
        {"verdicts": [{"ab": "T", "ba": "T"}]},
        "first_slot_share",
        {"consistency": 1, "average_half_win_rate": 0.5, "flip_p_value": 1},
    ),
    (
        "longer_wins",
        {"scores_a": [0.5, 1], "length_a": [3, 4], "length_b": [1, 4]},
        "share low high p_value",
        {"rows_used": 0, "longer_wins": 0},
    ),
    (
        "length_controlled",
        {"scores_a": [], "length_diff": []},
        "raw sd_length_diff intercept length_coef length_coef_p controlled",
        {},
    ),
    (
        "length_controlled",
        {"scores_a": [1, 0, 1], "length_diff": [7, 7, 7]},
        "intercept length_coef length_coef_p controlled",
        {"raw": pytest.approx(2 / 3), "sd_length_diff": 0},
    ),
    (
        "length_controlled",
        {"scores_a": [0, 0, 0.5, 1], "length_diff": [-3, -1, 0, 2]},
        "intercept length_coef length_coef_p controlled",
        {"raw": 0.375},
    ),
    ("length_controlled", {"scores_a": [1, 1], "length_diff": [1, 2]}, "controlled", {"raw": 1}),
    ("two_proportions", {"wins_1": 1, "n_1": 2, "wins_2": 0, "n_2": 0}, "diff low high", {}),
    (
        "ppi_win_rate",
        {"human": [], "judge_on_human": [], "judge_unlabelled": [1, 0]},
        "human_only human_only_low ppi ppi_low lam tuned tuned_high",
        {"judge_only": 0.5},
    ),
    (
        "ppi_win_rate",
        {"human": [1, 0], "judge_on_human": [1, 1], "judge_unlabelled": []},
        "ppi lam tuned",
        {"judge_only": 1, "human_only": 0.5},
    ),
    (
        "ppi_win_rate",
        {"human": [1, 0], "judge_on_human": [1, 1], "judge_unlabelled": [1, 1]},
        "lam tuned tuned_low tuned_high",
        {"ppi": 0.5},
    ),
    (
        "ppi_win_rate",
        {"human": [1, 1], "judge_on_human": [1, 1], "judge_unlabelled": [1]},
        "human_only_low human_only_high ppi_low ppi_high lam",
        {"human_only": 1, "ppi": 1},
    ),
    (
        "rogan_gladen",
        {
            "judge_wins": 5,
            "judge_n": 9,
            "agree_on_human_wins": 2,
            "human_wins": 4,
            "agree_on_human_losses": 2,
            "human_losses": 4,
        },
        "corrected se low high",
        {"sensitivity": 0.5, "specificity": 0.5},
    ),
    (
        "rogan_gladen",
        {
            "judge_wins": 0,
            "judge_n": 0,
            "agree_on_human_wins": 0,
            "human_wins": 0,
            "agree_on_human_losses": 2,
            "human_losses": 4,
        },
        "raw sensitivity corrected se low high",
        {"specificity": 0.5},
    ),
    (
        "judge_calibration",
        {"confidence": [], "correct": [], "bins": 5},
        "brier log_loss ece auc",
        {"isotonic": []},
    ),
    (
        "judge_calibration",
        {"confidence": [1.0, 0.7], "correct": [1, 1], "bins": 5},
        "auc",
        {"brier": pytest.approx(0.045), "isotonic": [1, 1]},
    ),
    ("score_correlation", {"a": [], "b": []}, "pearson spearman kendall_tau_b mae rmse", {}),
    (
        "score_correlation",
        {"a": [1, 1], "b": [1, 3]},
        "pearson spearman kendall_tau_b",
        {"mae": 1, "rmse": pytest.approx(math.sqrt(2))},
    ),
    ("latency_percentiles", {"values": []}, "p50 p95 p99", {}),
]


@pytest.mark.parametrize(("op", "inputs", "nulls", "known"), NULLS)
def test_it_gives_null_with_a_reason(
    op: str, inputs: dict[str, Any], nulls: str, known: dict[str, Any]
) -> None:
    result = OPS[op](**inputs)
    json.dumps(result, allow_nan=False)
    assert {key: result[key] for key in nulls.split()} == dict.fromkeys(nulls.split())
    assert {key: result[key] for key in known} == known
    assert isinstance(result["reason"], str)


def test_every_operation_has_an_edge_of_its_own() -> None:
    assert {case[0] for case in NULLS} == OPS.keys()
