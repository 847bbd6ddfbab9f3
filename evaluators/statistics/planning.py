"""Planning: how many rows a difference takes, and what difference the rows can show."""

import math
from statistics import NormalDist

import scipy

from .inputs import Result, fraction, not_negative, nothing, report, whole


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
    quantiles = sum(power_quantiles(alpha, power))
    if n == 0:
        return nothing("No rows.", "mde", "n_for_mde_t_test")
    mde = quantiles * sd_diff / math.sqrt(n)
    if sd_diff == 0:
        reason = "Without spread any difference shows."
        return nothing(reason, "n_for_mde_t_test", mde=mde)
    needed = rows_for_t_test(mde / sd_diff, alpha, power)
    return report(mde=mde, n_for_mde_t_test=needed)


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
