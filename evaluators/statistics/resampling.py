"""Resampling of rows: the sign-flip permutation test and the bootstrap of a mean."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from .inputs import Floats, Result, Whole, complete, fraction, nothing, report, whole
from .intervals import fair_coin_p
from .moments import NOISE, ONE_ROW, moments

EXACT_ROWS = 20
SAMPLED_VALUES = 5_000
BOOTSTRAP_ROWS = 50_000


def sign_flip_p(differences: Floats, resamples: int, seed: int) -> tuple[float, str]:
    """Return the two-sided sign-flip permutation p of the mean, and how it was computed.

    Exact up to 20 rows that differ, or when all differ by the same amount; else sampled; normal
    when more than 5,000 different amounts make sampling slow and the normal limit close.
    """
    sizes = np.abs(differences[differences != 0])
    if len(sizes) == 0:
        return 1.0, "exact"
    if np.ptp(sizes) <= NOISE * sizes.max():
        wins = int((differences > 0).sum())
        return fair_coin_p(wins, len(sizes) - wins) or 0.0, "exact"
    observed = abs(float(differences.sum())) - 1e-10 * float(sizes.sum())
    if len(sizes) <= EXACT_ROWS:
        return float((np.abs(all_signed_sums(sizes)) >= observed).mean()), "exact"
    amounts, counts = np.unique(sizes, return_counts=True)
    if len(amounts) > SAMPLED_VALUES:
        return math.erfc(max(0.0, observed) / math.sqrt(2 * float((sizes**2).sum()))), "normal"
    sums = sampled_sums(amounts, counts, resamples, seed)
    return (1 + int((np.abs(sums) >= observed).sum())) / (1 + resamples), "sampled"


def all_signed_sums(sizes: Floats) -> Floats:
    """Return the sums of the sizes under every choice of signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate((sums - size, sums + size))
    return sums


def sampled_sums(amounts: Floats, counts: Whole, resamples: int, seed: int) -> Floats:
    """Return sums under random signs; equal sizes are flipped together as one binomial draw."""
    rng = np.random.default_rng(seed)
    sums = np.zeros(resamples)
    for amount, count in zip(amounts, counts, strict=True):
        sums += amount * (2.0 * rng.binomial(count, 0.5, resamples) - count)
    return sums


def paired_bootstrap(
    differences: Sequence[float | None],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Result:
    """Give the mean row difference with its percentile bootstrap interval, in the input's unit.

    The same seed gives the same digits whatever the order of rows. Null below two rows; too narrow
    below about 15. Above 50,000 rows of many values the normal limit is used. Source: Efron 1979.
    """
    level, draws = fraction("confidence", confidence), whole("resamples", resamples)
    values = np.sort(complete(differences)[:, 0])
    excluded = len(differences) - len(values)
    known = moments(values)
    about = {"n": known.n, "excluded": excluded, "seed": seed, "resamples": draws}
    if known.mean is None or known.sd is None or draws < 1:
        reason = "No rows." if known.n == 0 else ONE_ROW
        return nothing(reason, "bootstrap_se", "low", "high", mean=known.mean, **about)
    if is_too_large(values):
        return report(mean=known.mean, **normal_bootstrap(values, level), **about)
    means = resampled_means(values, draws, seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    spread = {"bootstrap_se": means.std(), "low": low, "high": high, "method": "percentile"}
    return report(mean=known.mean, **spread, **about)


def is_too_large(values: Floats) -> bool:
    return len(values) > BOOTSTRAP_ROWS and len(np.unique(values)) > SAMPLED_VALUES


def normal_bootstrap(values: Floats, level: float) -> Result:
    """Return the limit of the bootstrap distribution for many rows."""
    se = float(values.std()) / math.sqrt(len(values))
    reach = NormalDist().inv_cdf((1 + level) / 2) * se
    mean = float(values.mean())
    return {"bootstrap_se": se, "low": mean - reach, "high": mean + reach, "method": "normal"}


def resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """Return the means of resamples of the values with replacement."""
    rng, n = np.random.default_rng(seed), len(values)
    distinct, counts = np.unique(values, return_counts=True)
    # Drawing how often each distinct value occurs is the same as drawing rows, and quicker.
    if len(distinct) * 10 < n:
        return np.asarray(rng.multinomial(n, counts / n, size=resamples) @ distinct / n)
    return np.array([values[rng.integers(0, n, n)].mean() for _ in range(resamples)])
