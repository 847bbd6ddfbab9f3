"""Mean and spread of a list of numbers, with "no spread" told apart from rounding noise."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from .inputs import Floats

NOISE = 1e-12
NO_SPREAD = "The values have no spread, so t is undefined."
ONE_ROW = "One row has no standard error."


class Moments(NamedTuple):
    """Number of values, mean, and sample standard deviation (null below two values)."""

    n: int
    mean: float | None
    sd: float | None

    @property
    def se(self) -> float | None:
        return None if self.sd is None else self.sd / math.sqrt(self.n)


def moments(values: Sequence[float] | Floats) -> Moments:
    """Return the moments of finite values; an SD that is only rounding noise becomes 0."""
    array = np.asarray(values, dtype=np.float64)
    n = len(array)
    if n == 0:
        return Moments(0, None, None)
    mean = float(array.mean())
    if n == 1:
        return Moments(1, mean, None)
    sd = float(array.std(ddof=1))
    return Moments(n, mean, 0.0 if sd <= NOISE * float(np.abs(array).max()) else sd)


def t_interval(
    mean: float | None, se: float | None, df: int, confidence: float
) -> tuple[float | None, float | None]:
    """Return the two ends of a t interval, null without a mean or without spread."""
    if mean is None or not se:
        return None, None
    reach = float(scipy.stats.t.ppf((1 + confidence) / 2, df)) * se
    return mean - reach, mean + reach


def spread_reasons(known: Moments) -> list[str]:
    """Say why a standard error, t or interval is null, if any is."""
    if known.n == 0:
        return ["No rows."]
    if known.sd is None:
        return [ONE_ROW]
    return [] if known.sd else [NO_SPREAD]
