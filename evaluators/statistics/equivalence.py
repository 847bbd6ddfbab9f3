"""Equivalence: "not significant" is not "equal", so equality has a test of its own."""

import math
from collections.abc import Sequence

import scipy

from .inputs import Result, complete, fraction, not_negative, nothing, report
from .intervals import NO_ROWS

KEYS = ("p_value", "equivalent", "low_90", "high_90")


def equivalence_tost(
    differences: Sequence[float | None], margin: float, alpha: float = 0.05
) -> Result:
    """Test by two one-sided t-tests whether the mean difference lies within plus or minus margin.

    `differences` and margin share one unit (win rates: row score minus 0.5). low_90..high_90 is the
    matching 1 - 2 alpha interval. Null below two rows or without spread. Source: Schuirmann 1987.
    """
    values = [row[0] for row in complete(differences)]
    excluded = len(differences) - len(values)
    n = len(values)
    mean = math.fsum(values) / n if n else 0.0
    squares = math.fsum((value - mean) ** 2 for value in values)
    sd = math.sqrt(squares / (n - 1)) if n > 1 else None
    return tost_from_moments(n, mean, sd, margin, alpha) | {"n": n, "excluded": excluded}


def tost_from_moments(
    n: int, mean: float, sd: float | None, margin: float, alpha: float = 0.05
) -> Result:
    """Do the same from the number of rows, the mean difference and its standard deviation."""
    margin, alpha = not_negative("margin", margin), fraction("alpha", alpha)
    if alpha >= 0.5:
        raise ValueError(f"alpha must be below 0.5, not {alpha!r}.")
    if n == 0:
        return nothing(NO_ROWS, *KEYS)
    if sd is None or sd <= 1e-12 * abs(mean):
        return nothing("The differences have no spread, so t is undefined.", *KEYS)
    se = sd / math.sqrt(n)
    above = scipy.stats.t.sf((mean + margin) / se, n - 1)
    below = scipy.stats.t.cdf((mean - margin) / se, n - 1)
    p_value = float(max(above, below))
    reach = float(scipy.stats.t.ppf(1 - alpha, n - 1)) * se
    return report(
        p_value=p_value, equivalent=p_value < alpha, low_90=mean - reach, high_90=mean + reach
    )
