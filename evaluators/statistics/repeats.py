"""Several runs of one row: the model's own noise, and passing at least once or every time."""

import math
from collections.abc import Sequence

import numpy as np

from .inputs import Result, complete, report, whole
from .intervals import NO_ROWS
from .moments import moments


def repeat_variance(scores: Sequence[Sequence[float | None]]) -> Result:
    """Split the variance of scores[row][repeat] into within rows (noise) and between rows.

    Variances in squared score units; `se` is that of the mean of row means. Runs without a score
    are left out and counted. Null below two rows or without repeats. Source: one-way ANOVA.
    """
    rows = [[run[0] for run in complete(row)] for row in scores]
    kept = [row for row in rows if row]
    means = moments([float(np.mean(row)) for row in kept])
    within = within_variance(kept)
    between = between_variance(kept, within)
    reasons = [NO_ROWS] if not kept else ["One row has no standard error."] * (len(kept) == 1)
    if kept and within is None:
        reasons.append("No row was run twice.")
    return report(
        reasons,
        mean=means.mean,
        within_var=within,
        between_var=between,
        se=means.se,
        row_sd=[moments(row).sd for row in rows],
        rows=len(kept),
        excluded=sum(map(len, scores)) - sum(map(len, rows)),
    )


def within_variance(rows: Sequence[Sequence[float]]) -> float | None:
    """Return the mean square within rows, null when no row has two runs."""
    spare = sum(len(row) - 1 for row in rows)
    if spare == 0:
        return None
    return sum((len(row) - 1) * (moments(row).sd or 0.0) ** 2 for row in rows) / spare


def between_variance(rows: Sequence[Sequence[float]], within: float | None) -> float | None:
    """Return the variance between rows beyond the noise, floored at 0; rows may differ in runs."""
    if len(rows) < 2 or within is None:
        return None
    sizes = np.array([len(row) for row in rows])
    means = np.array([np.mean(row) for row in rows])
    total = sizes.sum()
    grand = (sizes * means).sum() / total
    mean_square = (sizes * (means - grand) ** 2).sum() / (len(rows) - 1)
    runs = (total - (sizes**2).sum() / total) / (len(rows) - 1)
    return max(0.0, float((mean_square - within) / runs))


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
