"""Promises about error rates, kept on simulated races; the seeds are fixed."""

import math

import numpy as np
import pytest
import scipy.stats

from evaluators.statistics import OPS
from evaluators.statistics.sequential import log_e_values, running_band
from evaluators.statistics.verdict import Counts, verdict

RACES, ROWS = 4_000, 500


def races(rate: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((RACES, ROWS)) < rate


def declared_anytime(won: np.ndarray) -> np.ndarray:
    wins = won.cumsum(axis=1)
    losses = np.arange(1, ROWS + 1) - wins
    declared: np.ndarray = log_e_values(wins, losses).max(axis=1) >= math.log(20)
    return declared


def test_looking_after_every_row_declares_few_false_winners() -> None:
    assert declared_anytime(races(0.5, seed=11)).mean() <= 0.05


def test_looking_at_a_fixed_sample_p_value_would_declare_many() -> None:
    wins = races(0.5, seed=11).cumsum(axis=1)[:, 9::10]
    n = np.arange(10, ROWS + 1, 10)
    p_values = np.minimum(1, 2 * scipy.stats.binom.cdf(np.minimum(wins, n - wins), n, 0.5))
    assert (p_values < 0.05).any(axis=1).mean() > 0.2


def test_a_clear_favourite_is_found() -> None:
    assert declared_anytime(races(0.65, seed=12)).mean() > 0.95


def test_the_operation_stops_where_the_simulation_does() -> None:
    for won in races(0.6, seed=13)[:50]:
        letters = "".join("A" if win else "B" for win in won)
        stopped = OPS["anytime_sequence"](outcomes=letters)["stop_at"] is not None
        assert stopped == bool(declared_anytime(won[None, :])[0])


@pytest.mark.slow
def test_the_running_band_covers_the_true_rate_at_all_times() -> None:
    missed = 0
    for won in races(0.6, seed=14)[:400]:
        wins = won.cumsum()
        losses = np.arange(1, ROWS + 1) - wins
        band = running_band(wins[::5].tolist(), losses[::5].tolist())
        missed += not band["low"][-1] <= 0.6 <= band["high"][-1]
    assert missed / 400 <= 0.05


def test_a_running_comparison_of_equals_seldom_names_a_winner() -> None:
    named = 0
    for won in races(0.5, seed=15)[:100]:
        wins = won.cumsum()
        looks = [
            verdict(Counts(wins_a=int(wins[n]), wins_b=n + 1 - int(wins[n]), pending=1)).outcome
            for n in range(9, ROWS, 25)
        ]
        named += "a" in looks or "b" in looks
    assert named <= 5


def test_fixed_sample_error_rates_hold() -> None:
    wins = races(0.5, seed=16).sum(axis=1)
    outcomes = [verdict(Counts(wins_a=int(w), wins_b=ROWS - int(w))).outcome for w in wins[:1000]]
    assert 0.02 <= sum(outcome in ("a", "b") for outcome in outcomes) / 1000 <= 0.06


def test_the_mixture_test_of_a_mean_is_valid_at_any_time() -> None:
    rng = np.random.default_rng(17)
    scores = rng.choice([0, 0.5, 1], size=(400, ROWS))
    means = scores.cumsum(axis=1) / np.arange(1, ROWS + 1)
    sigma = math.sqrt(1 / 6)
    fooled = sum(
        any(
            OPS["msprt_normal"](n=n, mean=row[n - 1], sigma=sigma, tau=0.1, null=0.5)["p"] < 0.05
            for n in range(30, ROWS + 1, 47)
        )
        for row in means
    )
    assert fooled / 400 <= 0.05


def test_the_sample_size_has_the_power_it_promises() -> None:
    plan = OPS["sample_size_sign_test"](true_rate=0.6, alpha=0.05, power=0.8)
    n = plan["n_exact"]
    wins = np.random.default_rng(18).binomial(n, 0.6, 20_000)
    p_values = np.minimum(1, 2 * scipy.stats.binom.cdf(np.minimum(wins, n - wins), n, 0.5))
    assert (p_values <= 0.05).mean() == pytest.approx(0.8, abs=0.015)


def test_votes_correct_a_biased_judge() -> None:
    rng = np.random.default_rng(19)
    covered = 0
    for _ in range(300):
        people = (rng.random(600) < 0.5).astype(float)
        judge = np.where(rng.random(600) < 0.3, 1.0, people)
        result = OPS["ppi_win_rate"](
            human=people[:100].tolist(),
            judge_on_human=judge[:100].tolist(),
            judge_unlabelled=judge[100:].tolist(),
        )
        covered += result["tuned_low"] <= 0.5 <= result["tuned_high"]
    assert covered / 300 > 0.9
    assert result["judge_only"] > 0.6
