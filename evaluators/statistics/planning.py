"""Planning: how many rows a difference takes, and what difference the rows can show."""

import math
from statistics import NormalDist

import numpy as np
import scipy

from .inputs import Floats, Result, Whole, finite, fraction, not_negative, nothing, report, whole

SEARCH_LIMIT = 10_000_000
SEARCH_BLOCK = 2_000


def power_quantiles(alpha: float, power: float) -> tuple[float, float]:
    """Return the normal quantiles z(1 - alpha/2) and z(power)."""
    normal = NormalDist()
    return (
        normal.inv_cdf(1 - fraction("alpha", alpha) / 2),
        normal.inv_cdf(fraction("power", power)),
    )


def mde_paired(n: int, sd_diff: float, alpha: float = 0.05, power: float = 0.8) -> Result:
    """Give the smallest mean difference that n paired rows show, in the unit of `sd_diff`.

    `n_for_mde_t_test` is the n a two-sided paired t-test needs for it. Null for n = 0 or SD 0.
    Source: Miller 2024, power section.
    """
    n, sd_diff = whole("n", n), not_negative("sd_diff", sd_diff)
    if n == 0:
        return nothing("No rows.", "mde", "n_for_mde_t_test")
    mde = smallest_difference(n, sd_diff, alpha, power)
    if sd_diff == 0:
        reason = "Without spread any difference shows."
        return nothing(reason, "n_for_mde_t_test", mde=mde)
    needed = rows_for_t_test(mde / sd_diff, alpha, power)
    return report(mde=mde, n_for_mde_t_test=needed)


def smallest_difference(n: int, sd_diff: float, alpha: float, power: float) -> float:
    """Return the mean difference that n > 0 paired rows show, by the normal formula."""
    return sum(power_quantiles(alpha, power)) * sd_diff / math.sqrt(n)


def t_test_power(n: int, effect: float, alpha: float) -> float:
    """Return the power of a two-sided paired t-test at n rows and effect size mean / SD."""
    critical = float(scipy.stats.t.isf(alpha / 2, n - 1))
    shift = effect * math.sqrt(n)
    above = scipy.stats.nct.sf(critical, n - 1, shift)
    return float(above + scipy.stats.nct.cdf(-critical, n - 1, shift))


def rows_for_t_test(effect: float, alpha: float, power: float) -> int:
    """Return the smallest n at which the paired t-test reaches the power."""
    few, many = 1, 2
    while t_test_power(many, effect, alpha) < power:
        few, many = many, many * 2
    while many - few > 1:
        middle = (few + many) // 2
        if t_test_power(middle, effect, alpha) < power:
            few = middle
        else:
            many = middle
    return many


def sample_size_repeats(
    between_var: float,
    within_var_a: float,
    repeats_a: int,
    within_var_b: float,
    repeats_b: int,
    delta: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> Result:
    """Give the rows that show a mean difference delta when each row is run several times.

    Variances in the squared unit of delta. Null for delta = 0; ValueError for no repeats.
    Source: Miller 2024, power section.
    """
    runs_a, runs_b = whole("repeats_a", repeats_a), whole("repeats_b", repeats_b)
    if runs_a == 0 or runs_b == 0:
        raise ValueError("repeats_a and repeats_b must be at least 1.")
    variance = not_negative("between_var", between_var)
    variance += not_negative("within_var_a", within_var_a) / runs_a
    variance += not_negative("within_var_b", within_var_b) / runs_b
    quantiles = sum(power_quantiles(alpha, power))
    delta = finite("delta", delta)
    if delta == 0:
        return nothing("No number of rows shows a difference of 0.", "n", "n_raw")
    n_raw = quantiles**2 * (variance / abs(delta) / abs(delta))
    if math.isinf(n_raw):
        return nothing("More rows than a float can count.", "n", "n_raw")
    return report(n=max(1, math.ceil(n_raw - 1e-9)), n_raw=n_raw)


def sample_size_sign_test(true_rate: float, alpha: float = 0.05, power: float = 0.8) -> Result:
    """Give the decided rows after which a sign test shows a true win rate (0..1).

    `n_decided` is the normal formula, `n_exact` the first n whose exact power reaches the target.
    Null at a rate of 0.5, and n_exact above ten million rows. Source: Miller 2024; exact binomial.
    """
    z_alpha, z_power = power_quantiles(alpha, power)
    keys = ("n_decided", "exact_power_at_n", "n_exact")
    if not 0 <= finite("true_rate", true_rate) <= 1:
        raise ValueError(f"true_rate must lie in 0..1, not {true_rate!r}.")
    if true_rate == 0.5:
        return nothing("No number of rows shows an even race to be uneven.", *keys)
    spread = z_alpha * 0.5 + z_power * math.sqrt(true_rate * (1 - true_rate))
    n_decided = max(1, math.ceil((spread / (true_rate - 0.5)) ** 2 - 1e-9))
    n_exact = first_exact_n(n_decided, true_rate, alpha, power)
    return report(
        [] if n_exact else ["The exact search stops at ten million rows."],
        n_decided=n_decided,
        exact_power_at_n=exact_power(np.array([n_decided]), true_rate, alpha)[0],
        n_exact=n_exact,
    )


def exact_power(n: Whole, true_rate: float, alpha: float) -> Floats:
    """Return the exact power of the two-sided sign test at each n."""
    first = np.asarray(scipy.stats.binom.ppf(alpha / 2, n, 0.5))
    # ppf gives the first k whose tail reaches alpha/2; one above it is not rejected.
    critical = first - (scipy.stats.binom.cdf(first, n, 0.5) > alpha / 2)
    below = scipy.stats.binom.cdf(critical, n, true_rate)
    above = scipy.stats.binom.sf(n - critical - 1, n, true_rate)
    return np.where(critical < 0, 0.0, below + above)


def first_exact_n(n_decided: int, true_rate: float, alpha: float, power: float) -> int | None:
    """Return the first n whose exact power reaches the target, searched in blocks."""
    # Exact power saw-tooths around the normal one and first reaches it a few square roots away.
    start = max(1, n_decided - 20 * math.isqrt(n_decided))
    while start < SEARCH_LIMIT:
        n = np.arange(start, start + SEARCH_BLOCK)
        enough = np.flatnonzero(exact_power(n, true_rate, alpha) >= power)
        if len(enough):
            return int(n[enough[0]])
        start = int(n[-1]) + 1
    return None
