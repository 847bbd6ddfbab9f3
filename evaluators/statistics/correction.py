"""Correcting the judge by human votes, and checking the confidence it states."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from .inputs import Floats, Result, complete, fraction, nothing, numbers, report, same_length, whole
from .intervals import normal_quantile
from .moments import NOISE

NO_VOTES = "No row has both a human vote and a judge score."
ONE_VOTE = "One voted row has no standard error."
NO_UNVOTED = "No row without a vote is left to correct."


def ppi_win_rate(
    human: Sequence[float | None],
    judge_on_human: Sequence[float | None],
    judge_unlabelled: Sequence[float | None],
    confidence: float = 0.95,
) -> Result:
    """Correct a judge's win rate by human votes on some rows: prediction-powered inference.

    Scores 1, 0.5, 0; rates in 0..1, intervals not cut. `tuned` weighs the judge by lam in 0..1.
    Voted rows must be a random sample of all. Null where votes or unvoted rows are missing.
    Source: Angelopoulos et al. 2023 (PPI) and 2023b (PPI++).
    """
    same_length(human=human, judge_on_human=judge_on_human)
    z = normal_quantile(fraction("confidence", confidence))
    voted = complete(human, judge_on_human)
    unvoted = complete(judge_unlabelled)[:, 0]
    people, judged = voted.T
    every = np.concatenate((judged, unvoted))
    about: Result = {"judge_only": every.mean() if len(every) else None, "n": len(voted)}
    about |= {"n_unlabelled": len(unvoted)}
    about["excluded"] = len(human) - len(voted) + len(judge_unlabelled) - len(unvoted)
    low, high = mean_interval(people, z)
    about |= {"human_only": people.mean() if len(voted) else None}
    about |= {"human_only_low": low, "human_only_high": high}
    keys = ("ppi", "ppi_low", "ppi_high", "lam", "tuned", "tuned_low", "tuned_high")
    if len(voted) < 2:
        return nothing(ONE_VOTE if len(voted) else NO_VOTES, *keys, **about)
    if len(unvoted) == 0:
        return nothing(NO_UNVOTED, *keys, **about)
    lam = judge_weight(people, judged, unvoted)
    plain = corrected_mean(people, judged, unvoted, 1.0, z, "ppi")
    tuned = corrected_mean(people, judged, unvoted, lam, z, "tuned")
    reasons = ["The judge gave every row one score, so lam is undefined."] if lam is None else []
    if None in (low, plain["ppi_low"], tuned["tuned_low"]):
        reasons.append("Without spread there is no interval.")
    return report(reasons, lam=lam, **plain, **tuned, **about)


def mean_interval(values: Floats, z: float) -> tuple[float | None, float | None]:
    """Return the normal interval of a mean with divisor n, null without two values or spread."""
    if len(values) < 2:
        return None, None
    return normal_interval(float(values.mean()), float(values.std()) / math.sqrt(len(values)), z)


def normal_interval(mean: float, se: float, z: float) -> tuple[float | None, float | None]:
    """Return mean plus and minus z standard errors; null for an error that is rounding noise."""
    return (mean - z * se, mean + z * se) if se > NOISE else (None, None)


def judge_weight(people: Floats, judged: Floats, unvoted: Floats) -> float | None:
    """Return how much to trust the judge, 0 to 1; null when it never varies."""
    variance = float(np.concatenate((judged, unvoted)).var(ddof=1))
    if variance <= NOISE:
        return None
    covariance = float(((people - people.mean()) * (judged - judged.mean())).mean())
    return min(1.0, max(0.0, covariance / ((1 + len(people) / len(unvoted)) * variance)))


def corrected_mean(
    people: Floats, judged: Floats, unvoted: Floats, weight: float | None, z: float, key: str
) -> Result:
    """Return the judge's mean on unvoted rows plus the mean correction on voted ones."""
    if weight is None:
        return {key: None, f"{key}_low": None, f"{key}_high": None}
    correction = people - weight * judged
    mean = weight * float(unvoted.mean()) + float(correction.mean())
    variance = weight**2 * float(unvoted.var()) / len(unvoted)
    variance += float(correction.var()) / len(people)
    low, high = normal_interval(mean, math.sqrt(variance), z)
    return {key: mean, f"{key}_low": low, f"{key}_high": high}


def rogan_gladen(
    judge_wins: int,
    judge_n: int,
    agree_on_human_wins: int,
    human_wins: int,
    agree_on_human_losses: int,
    human_losses: int,
    confidence: float = 0.95,
) -> Result:
    """Correct a judge's share of wins by its hit rates on decided rows that people voted on.

    Not cut to 0..1; null when sensitivity + specificity is at most 1, wild below 1.3. ValueError
    for a count above its total. Source: Rogan and Gladen 1978.
    """
    z = normal_quantile(confidence)
    raw = share("judge_wins", judge_wins, judge_n)
    sensitivity = share("agree_on_human_wins", agree_on_human_wins, human_wins)
    specificity = share("agree_on_human_losses", agree_on_human_losses, human_losses)
    about = {"raw": raw, "sensitivity": sensitivity, "specificity": specificity}
    if raw is None or sensitivity is None or specificity is None:
        reason = "No judged rows, or no human wins or losses to learn from."
        return nothing(reason, "corrected", "se", "low", "high", **about)
    skill = sensitivity + specificity - 1
    if skill <= NOISE:
        reason = "The judge does no better than chance on voted rows."
        return nothing(reason, "corrected", "se", "low", "high", **about)
    corrected = (raw + specificity - 1) / skill
    se = (
        math.sqrt(
            raw * (1 - raw) / judge_n
            + sensitivity * (1 - sensitivity) / human_wins * corrected**2
            + specificity * (1 - specificity) / human_losses * (1 - corrected) ** 2
        )
        / skill
    )
    low, high = normal_interval(corrected, se, z)
    reasons = [] if low is not None else ["Without spread there is no interval."]
    return report(reasons, corrected=corrected, se=se, low=low, high=high, **about)


def share(name: str, part: int, total: int) -> float | None:
    """Return part / total, null for an empty total; ValueError when part is larger."""
    part, total = whole(name, part), whole(f"total of {name}", total)
    if part > total:
        raise ValueError(f"{name} ({part}) cannot exceed its total ({total}).")
    return part / total if total else None


def judge_calibration(
    confidence: Sequence[float | None], correct: Sequence[float | None], bins: int = 10
) -> Result:
    """Compare the confidence a judge states (0..1) with how often it is right (0 or 1 each).

    Brier score, log loss (nats), expected calibration error over equal-width bins, AUC, and the
    isotonic recalibration of each row. Null without rows; AUC null if all are right or all wrong.
    Source: Brier 1950; Naeini et al. 2015; Zadrozny and Elkan 2002.
    """
    same_length(confidence=confidence, correct=correct)
    rows = complete(confidence, correct)
    if whole("bins", bins) == 0 or not np.isin(rows[:, 1], (0, 1)).all():
        raise ValueError("bins must be at least 1, and correct hold only 0 and 1.")
    if len(rows) and not (rows[:, 0].min() >= 0 and rows[:, 0].max() <= 1):
        raise ValueError("confidence must lie in 0..1.")
    stated, right = rows.T
    about = {"n": len(rows), "excluded": len(confidence) - len(rows)}
    if len(rows) == 0:
        return nothing("No rows.", "brier", "log_loss", "ece", "auc", isotonic=[], **about)
    auc = ranking_skill(stated, right)
    fitted = numbers(confidence) + numbers(correct)
    fitted[~np.isnan(fitted)] = isotonic(stated, right)
    return report(
        []
        if auc is not None
        else ["The judge was always right or always wrong, so AUC is undefined."],
        brier=((stated - right) ** 2).mean(),
        log_loss=log_loss(stated, right),
        ece=expected_calibration_error(stated, right, bins),
        auc=auc,
        isotonic=fitted,
        **about,
    )


def log_loss(stated: Floats, right: Floats) -> float:
    """Return the mean negative log likelihood; certainty is cut to the nearest float below 1."""
    epsilon = float(np.finfo(np.float64).eps)
    p = np.clip(stated, epsilon, 1 - epsilon)
    return float(-(right * np.log(p) + (1 - right) * np.log1p(-p)).mean())


def expected_calibration_error(stated: Floats, right: Floats, bins: int) -> float:
    """Return the mean gap between confidence and accuracy by bin, weighted by rows."""
    # The nudge keeps 0.29 * 100 = 28.999999999999996 in the bin that starts at 0.29.
    codes = np.minimum(np.floor(stated * bins + 1e-9).astype(np.int64), bins - 1)
    gaps = np.bincount(codes, weights=stated - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(stated))


def ranking_skill(stated: Floats, right: Floats) -> float | None:
    """Return the AUC: the chance that a right verdict was stated with more confidence."""
    rights, wrongs = int(right.sum()), int((1 - right).sum())
    if rights == 0 or wrongs == 0:
        return None
    ranks = scipy.stats.rankdata(stated)[right == 1].sum()
    return float((ranks - rights * (rights + 1) / 2) / (rights * wrongs))


def isotonic(stated: Floats, right: Floats) -> Floats:
    """Return the best non-decreasing fit of being right, one value per row."""
    _, place, counts = np.unique(stated, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=right) / counts
    return np.asarray(scipy.optimize.isotonic_regression(means, weights=counts).x[place])
