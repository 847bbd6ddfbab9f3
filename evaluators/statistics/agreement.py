"""Agreement: do judges and people, or two judges, say the same?"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import scipy

from .inputs import Floats, Result, complete, fraction, nothing, numbers, report, same_length
from .intervals import normal_quantile
from .moments import NOISE

Level = Literal["nominal", "ordinal", "interval", "ratio"]
NO_SHARED = "No row was rated by both."
ONE_LABEL = "Only one label was used, so chance agreement is 1."


def two_rater_agreement(
    rater_1: Sequence[Hashable], rater_2: Sequence[Hashable], confidence: float = 0.95
) -> Result:
    """Compare two raters' labels row by row: percent (0..1), kappa with interval, AC1, alpha.

    Rows that one of them left null are left out and counted. Coefficients are null when only one
    label was used. Source: Cohen 1960; Fleiss et al. 1969 (interval); Gwet 2008; Krippendorff.
    """
    same_length(rater_1=rater_1, rater_2=rater_2)
    level = fraction("confidence", confidence)
    both = [(x, y) for x, y in zip(rater_1, rater_2, strict=True) if x is not None is not y]
    about: Result = {"n": len(both), "excluded": len(rater_1) - len(both)}
    keys = ("cohen_kappa", "kappa_low", "kappa_high", "gwet_ac1", "krippendorff_alpha_nominal")
    if not both:
        return nothing(NO_SHARED, "percent", *keys, confusion={}, **about)
    labels = sorted({label for pair in both for label in pair}, key=str)
    shares = confusion_shares(both, labels)
    about |= {"percent": float(np.trace(shares)), "confusion": confusion(both, labels)}
    if len(labels) == 1:
        return nothing(ONE_LABEL, *keys, **about)
    kappa, low, high = kappa_interval(shares, len(both), level)
    return report(
        cohen_kappa=kappa,
        kappa_low=low,
        kappa_high=high,
        gwet_ac1=gwet_ac1(shares),
        krippendorff_alpha_nominal=nominal_alpha(shares, len(both)),
        **about,
    )


def confusion_shares(both: Sequence[tuple[Any, Any]], labels: Sequence[Any]) -> Floats:
    """Return the share of rows by label of rater 1 (row) and of rater 2 (column)."""
    table = np.zeros((len(labels),) * 2)
    place = {label: index for index, label in enumerate(labels)}
    for (x, y), count in Counter(both).items():
        table[place[x], place[y]] = count
    return table / len(both)


def confusion(both: Sequence[tuple[Any, Any]], labels: Sequence[Any]) -> dict[str, dict[str, int]]:
    """Return the confusion table with labels as text: rater 1 outside, rater 2 inside."""
    counts = Counter(both)
    return {str(x): {str(y): counts[x, y] for y in labels} for x in labels}


def kappa_interval(shares: Floats, n: int, level: float) -> tuple[float, float, float]:
    """Return Cohen's kappa and its large-sample interval."""
    rows, columns, agreed = shares.sum(axis=1), shares.sum(axis=0), np.diag(shares)
    expected = float(rows @ columns)
    kappa = (float(agreed.sum()) - expected) / (1 - expected)
    on = float((agreed * (1 - (rows + columns) * (1 - kappa)) ** 2).sum())
    squares = shares * (columns[:, None] + rows[None, :]) ** 2
    off = (1 - kappa) ** 2 * float(squares.sum() - np.trace(squares))
    variance = on + off - (kappa - expected * (1 - kappa)) ** 2
    se = math.sqrt(max(0.0, variance) / n) / (1 - expected)
    reach = normal_quantile(level) * se
    return kappa, kappa - reach, kappa + reach


def gwet_ac1(shares: Floats) -> float:
    """Return Gwet's AC1, which skewed labels do not depress."""
    mean_share = (shares.sum(axis=0) + shares.sum(axis=1)) / 2
    expected = float((mean_share * (1 - mean_share)).sum()) / (len(shares) - 1)
    return (float(np.trace(shares)) - expected) / (1 - expected)


def nominal_alpha(shares: Floats, n: int) -> float:
    """Return Krippendorff's alpha for two raters without gaps."""
    totals = (shares.sum(axis=0) + shares.sum(axis=1)) * n
    expected = 1 - float((totals * (totals - 1)).sum()) / (2 * n * (2 * n - 1))
    return 1 - (1 - float(np.trace(shares))) / expected


def krippendorff_alpha(ratings: Sequence[Sequence[Any]], level: Level = "nominal") -> Result:
    """Give Krippendorff's alpha for ratings[rater][item]; null means not rated.

    Levels other than nominal need numbers. Null when no item was rated twice or all ratings are
    alike; ValueError for another level or ragged rows. Source: Krippendorff, Content Analysis.
    """
    same_length(**{f"rater {index + 1}": row for index, row in enumerate(ratings)})
    if level not in get_args(Level):
        raise ValueError(f"level must be one of {', '.join(get_args(Level))}, not {level!r}.")
    read = labels_only if level == "nominal" else numbers_only
    items = list(zip(*(read(row) for row in ratings), strict=True))
    paired = [item for item in items if sum(value is not None for value in item) > 1]
    used = {value for item in paired for value in item if value is not None}
    about = {"items": len(paired), "excluded": len(items) - len(paired)}
    if len(used) < 2:
        reason = "All ratings are alike, so chance agreement is 1." if used else NO_SHARED
        return nothing(reason, "alpha", **about)
    return report(alpha=library_alpha(paired, used, level), **about)


def labels_only(row: Sequence[Any]) -> list[Any]:
    """Return nominal labels, with NaN read as not rated."""
    return [None if isinstance(label, float) and math.isnan(label) else label for label in row]


def numbers_only(row: Sequence[Any]) -> list[float | None]:
    """Return ratings as floats, with None for what is missing."""
    return [None if math.isnan(value) else value for value in numbers(row).tolist()]


def library_alpha(items: Sequence[Sequence[Any]], used: set[Any], level: Level) -> float:
    """Return alpha as evalica computes it; nominal labels are numbered first."""
    # Imported late: pandas comes with them.
    import evalica
    import pandas as pd  # type: ignore[import-untyped]

    code: dict[Any, float] = {label: float(i) for i, label in enumerate(sorted(used, key=str))}
    value = code.get if level == "nominal" else float
    rows = [[math.nan if cell is None else value(cell) for cell in item] for item in items]
    frame = pd.DataFrame(np.array(rows, dtype=np.float64).T)
    return float(evalica.alpha(frame, distance=level).alpha)


def score_correlation(a: Sequence[float | None], b: Sequence[float | None]) -> Result:
    """Give three correlations of two scores per row, and the mean absolute and squared error.

    Errors in the scores' unit. Rows without both are left out and counted; correlations are null
    when a score is constant. Source: Pearson 1895; Spearman 1904; Kendall 1945.
    """
    same_length(a=a, b=b)
    rows = complete(a, b)
    about = {"n": len(rows), "excluded": len(a) - len(rows)}
    keys = ("pearson", "spearman", "kendall_tau_b")
    if len(rows) == 0:
        return nothing(NO_SHARED, *keys, "mae", "rmse", **about)
    errors = rows[:, 0] - rows[:, 1]
    about |= {"mae": np.abs(errors).mean(), "rmse": np.sqrt((errors**2).mean())}
    if (np.ptp(rows, axis=0) <= NOISE * np.abs(rows).max(axis=0)).any():
        return nothing("One of the scores is constant.", *keys, **about)
    x, y = rows.T
    return report(
        pearson=scipy.stats.pearsonr(x, y).statistic,
        spearman=scipy.stats.spearmanr(x, y).statistic,
        kendall_tau_b=scipy.stats.kendalltau(x, y).statistic,
        **about,
    )
