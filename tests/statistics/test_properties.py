"""What must hold for any input: mirrors, bounds, and no dependence on the order of rows."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evaluators.statistics import OPS

count = st.integers(0, 400)
scores = st.lists(st.sampled_from([0, 0.25, 0.5, 0.75, 1]), min_size=2, max_size=25)
systems = st.sampled_from("PQRST")
games = st.lists(
    st.fixed_dictionaries(
        {
            "a": systems,
            "b": systems,
            "wins_a": st.integers(0, 9),
            "wins_b": st.integers(0, 9),
            "ties": st.integers(0, 4),
        }
    ),
    min_size=1,
    max_size=20,
)


@given(count, count, st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_hold_the_rate_and_mirror(wins: int, losses: int, confidence: float) -> None:
    assume(wins + losses)
    n = wins + losses
    here = OPS["wilson_interval"](wins=wins, n=n, confidence=confidence)
    there = OPS["wilson_interval"](wins=losses, n=n, confidence=confidence)
    assert 0 <= here["low"] <= here["rate"] <= here["high"] <= 1
    assert here["low"] == pytest.approx(1 - there["high"], abs=1e-12)


@given(count, count)
def test_the_exact_interval_agrees_with_the_sign_test(wins: int, losses: int) -> None:
    assume(wins + losses)
    test = OPS["sign_test"](wins=wins, losses=losses)
    assert (test["p_value"] < 0.05) == (not test["exact_low"] <= 0.5 <= test["exact_high"])
    assert test["p_value"] == OPS["sign_test"](wins=losses, losses=wins)["p_value"]


@given(count, count, count)
def test_both_tie_rules_stay_inside_their_intervals(wins_a: int, wins_b: int, ties: int) -> None:
    assume(wins_a + wins_b)
    result = OPS["tie_summary"](wins_a=wins_a, wins_b=wins_b, ties=ties)
    assert 0 <= result["half_win_low"] <= result["half_win_rate"] <= result["half_win_high"] <= 1
    assert result["decided_low"] <= result["decided_rate"] <= result["decided_high"]
    assert result["net_win_rate"] == pytest.approx(2 * result["half_win_rate"] - 1)


@given(count, count, st.sampled_from([0.01, 0.05]))
def test_the_anytime_interval_is_where_the_e_value_rejects(wins, losses, alpha) -> None:
    assume(wins + losses)
    result = OPS["anytime_binomial"](wins=wins, losses=losses, alpha=alpha)
    assert 0 <= result["low"] <= wins / (wins + losses) <= result["high"] <= 1
    assert (result["e_p"] < alpha) == (not result["low"] <= 0.5 <= result["high"])


@given(st.text("ABT", max_size=60))
def test_the_running_band_is_the_intersection_of_the_intervals(outcomes: str) -> None:
    lows, highs, evidence = [], [], [1.0]
    for end in range(1, len(outcomes) + 1):
        seen = outcomes[:end]
        moment = OPS["anytime_binomial"](wins=seen.count("A"), losses=seen.count("B"))
        evidence.append(moment["e_value"])
        if moment["low"] is not None:
            lows.append(moment["low"])
            highs.append(moment["high"])
    result = OPS["anytime_sequence"](outcomes=outcomes)
    assert result["running_low"] == (pytest.approx(max(lows), abs=1e-9) if lows else None)
    assert result["running_high"] == (pytest.approx(min(highs), abs=1e-9) if highs else None)
    assert result["max_e"] == pytest.approx(max(evidence))


@given(scores, st.randoms(use_true_random=False))
def test_paired_differences_mirror_and_ignore_row_order(a: list[float], rng: random.Random) -> None:
    b = rng.sample(a, len(a))
    here = OPS["paired_difference"](a=a, b=b)
    there = OPS["paired_difference"](a=b, b=a)
    assert there["mean_diff"] == pytest.approx(-here["mean_diff"])
    assert there["permutation_p"] == here["permutation_p"]
    assert (there["wins_a"], there["wins_b"]) == (here["wins_b"], here["wins_a"])
    rows = list(zip(a, b, strict=True))
    rng.shuffle(rows)
    moved = OPS["paired_difference"](a=[x for x, _ in rows], b=[y for _, y in rows])
    assert moved["permutation_p"] == here["permutation_p"]


@given(scores, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_bootstrap_gives_the_same_digits_in_any_order(values, rng: random.Random) -> None:
    moved = rng.sample(values, len(values))
    first = OPS["paired_bootstrap"](differences=values, seed=7, resamples=500)
    assert first == OPS["paired_bootstrap"](differences=moved, seed=7, resamples=500)
    assert min(values) <= first["low"] <= first["high"] <= max(values)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrected_p_values_only_grow_and_holm_is_stricter(p_values: list[float]) -> None:
    result = OPS["adjust_p_values"](p_values=p_values)
    for plain, bh, holm in zip(p_values, result["bh"], result["holm"], strict=True):
        assert plain <= bh * (1 + 1e-12)
        assert bh <= holm * (1 + 1e-12)


@given(games, st.randoms(use_true_random=False))
def test_ratings_do_not_depend_on_the_order_of_arrival(
    played: list[Any], rng: random.Random
) -> None:
    moved = [
        game
        if rng.random() < 0.5
        else {
            "a": game["b"],
            "b": game["a"],
            "wins_a": game["wins_b"],
            "wins_b": game["wins_a"],
            "ties": game["ties"],
        }
        for game in rng.sample(played, len(played))
    ]
    for op in ("bradley_terry", "davidson", "bt_identifiable"):
        assert OPS[op](games=moved) == OPS[op](games=played)


@given(games)
def test_finite_ratings_exist_exactly_when_the_graph_says_so(played: list[Any]) -> None:
    rated = OPS["bradley_terry"](games=played)
    assert (rated["strength"] is not None) == OPS["bt_identifiable"](games=played)["identifiable"]
    if rated["strength"]:
        assert sum(rated["strength"].values()) == pytest.approx(0, abs=1e-9)
        # At the maximum each system's expected wins are its observed ones.
        expected = dict.fromkeys(rated["strength"], 0.0)
        for game in (game for game in played if game["a"] != game["b"]):
            n = game["wins_a"] + game["wins_b"] + game["ties"]
            gap = rated["strength"][game["a"]] - rated["strength"][game["b"]]
            surplus = game["wins_a"] + game["ties"] / 2 - n / (1 + np.exp(-gap))
            expected[game["a"]] += surplus
            expected[game["b"]] -= surplus
        assert expected == pytest.approx(dict.fromkeys(expected, 0.0), abs=1e-6)


verdict = st.sampled_from("ABT")


@given(st.lists(st.fixed_dictionaries({"ab": verdict, "ba": verdict}), min_size=1))
def test_the_position_report_mirrors(verdicts: list[dict[str, str]]) -> None:
    swap = {"A": "B", "B": "A", "T": "T"}
    mirrored = [{"ab": swap[row["ba"]], "ba": swap[row["ab"]]} for row in verdicts]
    here, there = (
        OPS["position_report"](verdicts=verdicts),
        OPS["position_report"](verdicts=mirrored),
    )
    assert there["average_half_win_rate"] == pytest.approx(1 - here["average_half_win_rate"])
    for same in ("consistency", "first_slot_wins", "hard_flips", "flips_to_first"):
        assert there[same] == here[same]
    for rule in ("reconciled", "reconciled_lenient"):
        assert there[rule]["A"] == here[rule]["B"]
        assert sum(here[rule].values()) == len(verdicts)


@given(st.lists(st.sampled_from("ABT"), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_agreement_is_symmetric_and_matches_the_alpha_of_many_raters(labels, rng) -> None:
    other = rng.sample(labels, len(labels))
    here = OPS["two_rater_agreement"](rater_1=labels, rater_2=other)
    there = OPS["two_rater_agreement"](rater_1=other, rater_2=labels)
    for key in ("percent", "cohen_kappa", "gwet_ac1", "krippendorff_alpha_nominal"):
        assert here[key] == pytest.approx(there[key])
    alpha = OPS["krippendorff_alpha"](ratings=[labels, other], level="nominal")["alpha"]
    assert here["krippendorff_alpha_nominal"] == pytest.approx(alpha)


@given(count, count, count, count)
def test_the_difference_of_two_shares_mirrors(wins_1, losses_1, wins_2, losses_2) -> None:
    n_1, n_2 = wins_1 + losses_1, wins_2 + losses_2
    assume(n_1 and n_2)
    here = OPS["two_proportions"](wins_1=wins_1, n_1=n_1, wins_2=wins_2, n_2=n_2)
    there = OPS["two_proportions"](wins_1=wins_2, n_1=n_2, wins_2=wins_1, n_2=n_1)
    assert -1 <= here["low"] <= here["diff"] <= here["high"] <= 1
    assert there["low"] == pytest.approx(-here["high"], abs=1e-12)
