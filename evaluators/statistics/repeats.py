"""Several runs of one row: the model's own noise, and passing at least once or every time."""

import math
from collections.abc import Sequence

import numpy as np

from .inputs import Floats, Result, numbers, report, whole
from .intervals import NO_ROWS
from .moments import ONE_ROW, moments


def repeat_variance(scores: Sequence[Sequence[float | None]]) -> Result:
    """Split the variance of scores[row][repeat] into within rows (noise) and between rows.

    Variances in squared score units; `se` is that of the mean of row means. Runs without a score
    are left out and counted. Null below two rows or without repeats. Source: one-way ANOVA.
    """
    table = padded(scores)
    every = row_moments(table)
    runs, means, _ = kept = every[:, every[0] > 0]
    overall, within = moments(means), within_variance(kept)
    reasons = [NO_ROWS] if overall.n == 0 else [ONE_ROW] * (overall.n == 1)
    if overall.n and within is None:
        reasons.append("No row was run twice.")
    return report(
        reasons,
        mean=overall.mean,
        within_var=within,
        between_var=between_variance(runs, means, within),
        se=overall.se,
        row_sd=np.where(every[0] > 1, np.sqrt(every[2]), np.nan),
        rows=overall.n,
        excluded=sum(map(len, scores)) - int(runs.sum()),
    )


def padded(scores: Sequence[Sequence[float | None]]) -> Floats:
    """Return scores as a table with NaN for runs that are missing."""
    width = max(map(len, scores), default=0)
    cells = [cell for row in scores for cell in (*row, *[None] * (width - len(row)))]
    return numbers(cells).reshape(len(scores), width)


def row_moments(table: Floats) -> Floats:
    """Return the runs, the mean and the sample variance of each row, 0 where there is none."""
    known = ~np.isnan(table)
    runs = known.sum(axis=1)
    means = np.where(known, table, 0.0).sum(axis=1) / np.maximum(runs, 1)
    squares = np.where(known, (table - means[:, None]) ** 2, 0.0).sum(axis=1)
    return np.array([runs, means, squares / np.maximum(runs - 1, 1)])


def within_variance(rows: Floats) -> float | None:
    """Return the mean square within rows, null when no row has two runs."""
    runs, _, variances = rows
    spare = float((runs - 1).sum())
    return float(((runs - 1) * variances).sum()) / spare if spare else None


def between_variance(runs: Floats, means: Floats, within: float | None) -> float | None:
    """Return the variance between rows beyond the noise, floored at 0; rows may differ in runs."""
    spare = len(runs) - 1
    if spare < 1 or within is None:
        return None
    total = float(runs.sum())
    grand = float((runs * means).sum()) / total
    mean_square = float((runs * (means - grand) ** 2).sum()) / spare
    typical = (total - float((runs**2).sum()) / total) / spare
    return max(0.0, (mean_square - within) / typical)


def pass_at_k(n: int, passes: int, k: int) -> Result:
    """Give the chance that at least one of k runs passes, and that all k do, from n runs of a row.

    Null when k exceeds n; ValueError for k = 0 or more passes than runs. Source: Chen et al. 2021.
    """
    n, passes, k = whole("n", n), whole("passes", passes), whole("k", k)
    if k == 0 or passes > n:
        raise ValueError("k must be at least 1, and passes must not exceed n.")
    choices = math.comb(n, k)
    if choices == 0:
        reason = f"Only {n} runs: too few for k = {k}."
        return report([reason], pass_at_k=None, pass_hat_k=None)
    return report(
        pass_at_k=1 - math.comb(n - passes, k) / choices,
        pass_hat_k=math.comb(passes, k) / choices,
    )
