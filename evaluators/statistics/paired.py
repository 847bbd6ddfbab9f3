"""Two experiments on the same rows: pass/fail, scores, and rows that belong together."""

import math
from collections.abc import Hashable, Sequence
from itertools import compress

import numpy as np
import scipy

from .inputs import (
    Floats,
    Result,
    complete,
    fraction,
    not_negative,
    nothing,
    numbers,
    report,
    same_length,
)
from .inputs import whole as count
from .intervals import NO_ROWS, fair_coin_p
from .moments import moments, spread_reasons, t_interval
from .resampling import sign_flip_p

TOST_KEYS = ("p_value", "equivalent", "low_90", "high_90")


def mcnemar(both_pass: int, a_only: int, b_only: int, both_fail: int) -> Result:
    """Compare two pass rates on the same rows; `diff` is A minus B in -1..1, SE with divisor n.

    p-values are null without rows on which the two differ. Source: McNemar 1947.
    """
    a_only, b_only = count("a_only", a_only), count("b_only", b_only)
    n = count("both_pass", both_pass) + a_only + b_only + count("both_fail", both_fail)
    differ = a_only + b_only
    diff = (a_only - b_only) / n if n else None
    square = differ - (a_only - b_only) ** 2 / n if n else 0.0
    known = {"n": n, "diff": diff, "diff_se": math.sqrt(max(0.0, square)) / n if n else None}
    if differ == 0:
        reason = "The two never differ." if n else NO_ROWS
        return nothing(reason, "exact_p", "chi2_cc", "chi2_cc_p", **known)
    chi2 = (abs(a_only - b_only) - 1) ** 2 / differ
    return report(
        exact_p=fair_coin_p(a_only, b_only),
        chi2_cc=chi2,
        chi2_cc_p=scipy.stats.chi2.sf(chi2, 1),
        **known,
    )


def paired_difference(
    a: Sequence[float | None],
    b: Sequence[float | None],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Result:
    """Compare scores of two experiments on the same rows: mean of A minus B, in the scores' unit.

    Rows without both scores are left out and counted. t and its interval are null below two rows or
    without spread; ValueError for lists of unequal length. Source: Student 1908; Fisher 1935.
    """
    same_length(a=a, b=b)
    level, draws = fraction("confidence", confidence), count("resamples", resamples)
    rows = complete(a, b)
    d = rows[:, 0] - rows[:, 1]
    known = moments(d)
    t = known.mean / known.se if known.mean is not None and known.se else None
    low, high = t_interval(known.mean, known.se, known.n - 1, level)
    p, method = sign_flip_p(d, draws, seed) if known.n else (None, None)
    return report(
        spread_reasons(known),
        mean_diff=known.mean,
        se=known.se,
        t=t,
        t_p=None if t is None else 2 * scipy.stats.t.sf(abs(t), known.n - 1),
        t_low=low,
        t_high=high,
        cohen_dz=known.mean / known.sd if known.mean is not None and known.sd else None,
        permutation_p=p,
        permutation_method=method,
        unpaired_se=unpaired_se(rows),
        wins_a=int((d > 0).sum()),
        wins_b=int((d < 0).sum()),
        ties=int((d == 0).sum()),
        n=known.n,
        excluded=len(a) - known.n,
        seed=seed,
    )


def unpaired_se(rows: Floats) -> float | None:
    """Return the standard error one would get by forgetting that the rows are the same."""
    if len(rows) < 2:
        return None
    return math.sqrt(float(rows.var(axis=0, ddof=1).sum()) / len(rows))


def equivalence_tost(
    differences: Sequence[float | None], margin: float, alpha: float = 0.05
) -> Result:
    """Test by two one-sided t-tests whether the mean difference lies within plus or minus margin.

    `differences` and margin share one unit (win rates: row score minus 0.5). low_90..high_90 is the
    matching 1 - 2 alpha interval. Null below two rows or without spread. Source: Schuirmann 1987.
    """
    known = moments(complete(differences)[:, 0])
    excluded = len(differences) - known.n
    tested = tost_from_moments(known.n, known.mean or 0.0, known.sd, margin, alpha)
    return tested | {"n": known.n, "excluded": excluded}


def tost_from_moments(
    n: int, mean: float, sd: float | None, margin: float, alpha: float = 0.05
) -> Result:
    """Do the same from the number of rows, the mean difference and its standard deviation."""
    margin, alpha = not_negative("margin", margin), fraction("alpha", alpha)
    if alpha >= 0.5:
        raise ValueError(f"alpha must be below 0.5, not {alpha!r}.")
    if n == 0:
        return nothing(NO_ROWS, *TOST_KEYS)
    if not sd:
        return nothing("The differences have no spread, so t is undefined.", *TOST_KEYS)
    se = sd / math.sqrt(n)
    above = float(scipy.stats.t.sf((mean + margin) / se, n - 1))
    below = float(scipy.stats.t.cdf((mean - margin) / se, n - 1))
    p_value = max(above, below)
    low, high = t_interval(mean, se, n - 1, 1 - 2 * alpha)
    return report(p_value=p_value, equivalent=p_value < alpha, low_90=low, high_90=high)


def clustered_mean(
    values: Sequence[float | None], clusters: Sequence[Hashable], confidence: float = 0.95
) -> Result:
    """Give a mean whose standard error allows for rows that belong together, in the values' unit.

    `cluster_se` (with G/(G-1) correction, t with G-1 degrees of freedom) is the one to show; rows
    whose cluster is null stand alone. Null below two clusters. Source: Liang and Zeger 1986.
    """
    same_length(values=values, clusters=clusters)
    level = fraction("confidence", confidence)
    every = numbers(values)
    kept = ~np.isnan(every)
    x = every[kept]
    known, codes = moments(x), cluster_codes(list(compress(clusters, kept)))
    groups = len(set(codes))
    about = {"mean": known.mean, "naive_se": known.se, "n_clusters": groups}
    about |= {"n": known.n, "excluded": len(values) - known.n}
    if groups < 2:
        reason = NO_ROWS if groups == 0 else "One cluster has no standard error."
        keys = ("cluster_se_cr0", "cluster_se", "design_effect", "t_low", "t_high", "t_p")
        return nothing(reason, *keys, **about)
    sums = np.bincount(codes, weights=x - x.mean()) if known.sd else np.zeros(groups)
    cr0 = math.sqrt(float((sums**2).sum())) / known.n
    se = cr0 * math.sqrt(groups / (groups - 1))
    low, high = t_interval(known.mean, se, groups - 1, level)
    return report(
        [] if se else ["The clusters have no spread, so t is undefined."],
        cluster_se_cr0=cr0,
        cluster_se=se,
        design_effect=(se / known.se) ** 2 if known.se else None,
        t_low=low,
        t_high=high,
        t_p=2 * scipy.stats.t.sf(abs(known.mean or 0.0) / se, groups - 1) if se else None,
        **about,
    )


def cluster_codes(clusters: Sequence[Hashable]) -> list[int]:
    """Number the clusters from 0 up; each null is a cluster of its own."""
    codes: dict[object, int] = {}
    # A fresh object equals nothing else, so a row without a cluster joins no other row.
    keys = [object() if cluster is None else cluster for cluster in clusters]
    return [codes.setdefault(key, len(codes)) for key in keys]
