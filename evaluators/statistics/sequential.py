"""Looking early: tests and intervals that stay valid however often one looks."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from .inputs import (
    Floats,
    Result,
    Whole,
    finite,
    fraction,
    not_negative,
    nothing,
    report,
    same_length,
    whole,
)
from .intervals import NO_DECIDED

TOO_LARGE = "The e-value is too large for a float; see log_e_value."


def log_e_value(wins: int, losses: int) -> float:
    """Return the natural log of the beta-binomial mixture's evidence against an even race."""
    return float((wins + losses) * math.log(2) + scipy.special.betaln(1 + wins, 1 + losses))


def anytime_binomial(wins: int, losses: int, alpha: float = 0.05) -> Result:
    """Test decided rows against an even race, validly at any moment: e-value, p, interval.

    The interval holds all shares whose Beta(1+wins, 1+losses) density is at least alpha, in 0..1.
    Null p and interval when no row is decided. Source: Robbins 1970; Waudby-Smith and Ramdas 2020.
    """
    wins, losses = whole("wins", wins), whole("losses", losses)
    alpha = fraction("alpha", alpha)
    if wins + losses == 0:
        known = {"e_value": 1.0, "log_e_value": 0.0}
        return nothing(NO_DECIDED, "e_p", "low", "high", **known)
    log_e = log_e_value(wins, losses)
    low, high = sequence_bounds(wins, losses, alpha)
    e_value = float_exp(log_e)
    return report(
        [TOO_LARGE] if e_value is None else [],
        e_value=e_value,
        log_e_value=log_e,
        e_p=math.exp(-max(0.0, log_e)),
        low=low,
        high=high,
    )


def float_exp(log_value: float) -> float | None:
    """Return exp(log_value), or None when it does not fit into a float."""
    try:
        return math.exp(log_value)
    except OverflowError:
        return None


def sequence_bounds(wins: int, losses: int, alpha: float) -> tuple[float, float]:
    """Return the two ends of the confidence sequence after so many wins and losses."""
    return lower_end(wins, losses, alpha), 1 - lower_end(losses, wins, alpha)


def lower_end(wins: int, losses: int, alpha: float) -> float:
    """Return the smallest share of wins whose posterior density is at least alpha."""
    if wins == 0:
        return 0.0
    threshold = float(scipy.special.betaln(1 + wins, 1 + losses)) + math.log(alpha)

    def excess(share: float) -> float:
        power = scipy.special.xlogy(wins, share) + scipy.special.xlog1py(losses, -share)
        return float(power) - threshold

    return float(scipy.optimize.brentq(excess, 1e-300, wins / (wins + losses), xtol=1e-14))


def anytime_sequence(outcomes: str, alpha: float = 0.05) -> Result:
    """Follow a race row by row ("A", "B" or "T" each) and say where it could have stopped.

    `stop_at` counts rows including ties, null if the evidence never reached 1/alpha; running_low
    and running_high are the intersection of all intervals so far, in 0..1. Null p and interval
    without a decided row. Source: Ville 1939; Waudby-Smith and Ramdas 2020.
    """
    alpha = fraction("alpha", alpha)
    if not isinstance(outcomes, str) or set(outcomes) - set("ABT"):
        raise ValueError("outcomes may hold only the letters A, B and T.")
    letters = np.frombuffer(outcomes.encode(), dtype=np.uint8)
    wins, losses = np.cumsum(letters == ord("A")), np.cumsum(letters == ord("B"))
    log_e = np.concatenate(([0.0], log_e_values(wins, losses)))
    reached = np.flatnonzero(log_e >= -math.log(alpha))
    max_log_e = float(log_e.max())
    known = {
        "stop_at": int(reached[0]) if len(reached) else None,
        "final_e": float_exp(float(log_e[-1])),
        "max_e": float_exp(max_log_e),
        "max_log_e": max_log_e,
        "rows": len(outcomes),
    }
    if len(outcomes) == 0 or wins[-1] + losses[-1] == 0:
        return nothing(NO_DECIDED, "p_anytime", "running_low", "running_high", **known)
    return report(
        [TOO_LARGE.replace("log_e_value", "max_log_e")] if known["max_e"] is None else [],
        p_anytime=math.exp(-max_log_e),
        running_low=highest_lower_end(wins, losses, alpha),
        running_high=1 - highest_lower_end(losses, wins, alpha),
        **known,
    )


def log_e_values(wins: Whole, losses: Whole) -> Floats:
    """Return the log evidence against an even race after each row."""
    return np.asarray((wins + losses) * math.log(2) + scipy.special.betaln(1 + wins, 1 + losses))


def highest_lower_end(wins: Whole, losses: Whole, alpha: float) -> float:
    """Return the highest of the lower ends of all intervals, without solving for each one."""
    decided = wins > 0
    won, lost = wins[decided], losses[decided]
    thresholds = scipy.special.betaln(1 + won, 1 + lost) + math.log(alpha)
    best = 0.0
    while len(won):
        density = scipy.special.xlogy(won, best) + scipy.special.xlog1py(lost, -best) - thresholds
        raises = (density < 0) & (won > best * (won + lost))
        won, lost = won[raises], lost[raises]
        thresholds, density = thresholds[raises], density[raises]
        if len(won):
            worst = int(np.argmin(density)) if best else len(won) - 1
            end = lower_end(int(won[worst]), int(lost[worst]), alpha)
            best = max(float(np.nextafter(best, 1)), end)
    return best


def running_band(wins: Sequence[int], losses: Sequence[int], alpha: float = 0.05) -> Result:
    """Give the always-valid band at checkpoints of a race, from the wins and losses so far.

    low[] and high[] (0..1) are intersections over the checkpoints, null before the first decided
    row. ValueError for lists of unequal length. Source: as for anytime_sequence.
    """
    same_length(wins=wins, losses=losses)
    alpha = fraction("alpha", alpha)
    lows: list[float | None] = []
    highs: list[float | None] = []
    low, high = 0.0, 1.0
    for won, lost in zip(wins, losses, strict=True):
        if won + lost:
            ends = sequence_bounds(won, lost, alpha)
            low, high = max(low, ends[0]), min(high, ends[1])
        lows.append(low if won + lost else None)
        highs.append(high if won + lost else None)
    return report(low=lows, high=highs)


def msprt_normal(
    n: int, mean: float, sigma: float, tau: float, null: float = 0.0, alpha: float = 0.05
) -> Result:
    """Test a mean against `null` with a normal mixture of SD tau, validly at any moment.

    Mean, sigma (SD of one row), tau and null share one unit. Null without rows or without spread;
    asymptotic when sigma is estimated: use from 30 rows on. Source: Robbins 1970; Johari et al.
    """
    n, alpha = whole("n", n), fraction("alpha", alpha)
    mean, null = finite("mean", mean), finite("null", null)
    variance, prior = not_negative("sigma", sigma) ** 2, not_negative("tau", tau) ** 2
    keys = ("likelihood_ratio", "p", "low", "high")
    if n == 0:
        return nothing("No rows.", *keys)
    if variance * prior == 0:
        return nothing("sigma and tau must be above 0.", *keys)
    total = variance + n * prior
    spread = 2 * variance * total / (n * n * prior)
    log_ratio = (mean - null) ** 2 / spread - math.log(total / variance) / 2
    reach = math.sqrt(spread * (math.log(1 / alpha) + math.log(total / variance) / 2))
    ratio = float_exp(log_ratio)
    return report(
        ["The likelihood ratio is too large for a float."] if ratio is None else [],
        likelihood_ratio=ratio,
        p=math.exp(-max(0.0, log_ratio)),
        low=mean - reach,
        high=mean + reach,
    )
