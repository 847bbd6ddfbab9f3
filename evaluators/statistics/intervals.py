"""Win rates: their intervals, the sign test, and what to do with ties."""

import math
from statistics import NormalDist

import numpy as np
import scipy

from .inputs import Result, fraction, not_negative, nothing, report, whole

NO_ROWS = "No rows."
NO_DECIDED = "No decided rows."
FEW_ROWS = 30


def normal_quantile(confidence: float) -> float:
    """Return z for a two-sided interval, 1.959964 for 0.95."""
    return NormalDist().inv_cdf((1 + fraction("confidence", confidence)) / 2)


def wilson_interval(wins: float, n: int, confidence: float = 0.95) -> Result:
    """Give a share and its Wilson score interval, all in 0..1; `wins` may be fractional.

    Null for n = 0; ValueError for wins outside 0..n. Source: Wilson 1927.
    """
    n, wins = whole("n", n), not_negative("wins", wins)
    z = normal_quantile(confidence)
    if wins > n:
        raise ValueError(f"wins ({wins}) cannot exceed n ({n}).")
    if n == 0:
        return nothing(NO_ROWS, "rate", "low", "high")
    rate = wins / n
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if wins == 0 else max(0.0, centre - half)
    high = 1.0 if wins == n else min(1.0, centre + half)
    return report(rate=rate, low=low, high=high)


def sign_test(wins: int, losses: int, confidence: float = 0.95) -> Result:
    """Test whether decided rows are a fair coin: exact two-sided p and Clopper-Pearson interval.

    Null when no row is decided. Source: exact binomial test; Clopper and Pearson 1934.
    """
    wins, losses = whole("wins", wins), whole("losses", losses)
    tail = (1 - fraction("confidence", confidence)) / 2
    if wins + losses == 0:
        return nothing(NO_DECIDED, "p_value", "exact_low", "exact_high")
    return report(
        p_value=fair_coin_p(wins, losses),
        exact_low=scipy.special.betaincinv(wins, losses + 1, tail) if wins else 0.0,
        exact_high=scipy.special.betaincinv(wins + 1, losses, 1 - tail) if losses else 1.0,
    )


def fair_coin_p(wins: int, losses: int) -> float | None:
    """Return the exact two-sided binomial p-value against a fair coin; null without a toss."""
    n = wins + losses
    return min(1.0, 2 * float(scipy.special.bdtr(min(wins, losses), n, 0.5))) if n else None


def tie_summary(wins_a: int, wins_b: int, ties: int, confidence: float = 0.95) -> Result:
    """Give A's win rate under both tie rules: ties dropped, and ties as half a win each.

    The half-win interval is Wilson's without ties, with fewer than 30 rows or without spread,
    else normal. Rates in 0..1; null where the denominator is zero. Source: Wilson 1927.
    """
    wins_a, wins_b, ties = whole("wins_a", wins_a), whole("wins_b", wins_b), whole("ties", ties)
    n, decided = wins_a + wins_b + ties, wins_a + wins_b
    share = wilson_interval(wins_a, decided, confidence)
    half = half_win(wins_a, wins_b, ties, confidence)
    return report(
        [NO_ROWS] if n == 0 else [NO_DECIDED] if decided == 0 else half_reasons(n),
        n=n,
        tie_rate=ties / n if n else None,
        half_win_rate=half["rate"],
        half_win_se=half["se"],
        half_win_low=half["low"],
        half_win_high=half["high"],
        half_win_method=half["method"],
        net_win_rate=(wins_a - wins_b) / n if n else None,
        decided_n=decided,
        decided_rate=share["rate"],
        decided_low=share["low"],
        decided_high=share["high"],
        sign_p_value=fair_coin_p(wins_a, wins_b),
    )


def half_reasons(n: int) -> list[str]:
    """Say why the half-win standard error is null, if it is."""
    return ["One row has no standard error."] if n == 1 else []


def half_win(wins_a: int, wins_b: int, ties: int, confidence: float) -> Result:
    """Give the mean of the 1 / 0.5 / 0 row scores, its standard error, interval and its method."""
    n = wins_a + wins_b + ties
    points = wins_a + ties / 2
    se = half_win_sd(wins_a, wins_b, ties) / math.sqrt(n) if n > 1 else None
    if ties == 0 or n < FEW_ROWS or not se:
        return wilson_interval(points, n, confidence) | {"se": se, "method": "wilson"}
    rate, reach = points / n, normal_quantile(confidence) * se
    bounds = {"low": max(0.0, rate - reach), "high": min(1.0, rate + reach)}
    return {"rate": rate, "se": se, "method": "normal"} | bounds


def half_win_sd(wins_a: int, wins_b: int, ties: int) -> float:
    """Return the sample standard deviation of the 1 / 0.5 / 0 row scores; needs two rows."""
    n = wins_a + wins_b + ties
    net = wins_a - wins_b
    return math.sqrt(max(0.0, (wins_a + wins_b - net * net / n) / 4 / (n - 1)))


def two_proportions(
    wins_1: int, n_1: int, wins_2: int, n_2: int, confidence: float = 0.95
) -> Result:
    """Give the difference of two independent shares, Newcombe's interval and Fisher's exact p.

    In -1..1; null when either n is zero. Source: Newcombe 1998, method 10.
    """
    wins_1, wins_2 = whole("wins_1", wins_1), whole("wins_2", wins_2)
    first, second = (
        wilson_interval(wins_1, n_1, confidence),
        wilson_interval(wins_2, n_2, confidence),
    )
    if first["rate"] is None or second["rate"] is None:
        return nothing("One of the two groups has no rows.", "diff", "low", "high", "fisher_p")
    diff = first["rate"] - second["rate"]
    down = math.hypot(first["rate"] - first["low"], second["high"] - second["rate"])
    up = math.hypot(first["high"] - first["rate"], second["rate"] - second["low"])
    table = np.array([[wins_1, n_1 - wins_1], [wins_2, n_2 - wins_2]])
    fisher = scipy.stats.fisher_exact(table)
    return report(diff=diff, low=diff - down, high=diff + up, fisher_p=fisher.pvalue)
