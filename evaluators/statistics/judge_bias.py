"""Judge bias: does the order or the length of the answers decide who wins?"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from .inputs import Floats, Result, complete, fields, nothing, report, same_length
from .intervals import NO_ROWS, fair_coin_p, wilson_interval
from .moments import NOISE

VERDICTS = ("A", "B", "T")
NO_FLIPS_P = 1.0
CLOSE_ENOUGH = 1e-12
STEPS = 200


def position_report(verdicts: Sequence[Mapping[str, str | None]]) -> Result:
    """Report on rows judged in both orders: {ab, ba} hold the system that won, or "T".

    `ab` is the verdict with A shown first. Rows without both verdicts are left out and counted;
    shares in 0..1, null without rows; ValueError for another verdict. Source: Zheng et al. 2023.
    """
    rows = (fields("verdicts", row) for row in verdicts)
    return position_report_of(Counter((row.get("ab"), row.get("ba")) for row in rows))


def position_report_of(pairs: Counter[tuple[str | None, str | None]]) -> Result:
    """Report like `position_report` on rows counted by their two verdicts (ab, ba)."""
    unknown = {side for pair in pairs for side in pair} - {*VERDICTS, None}
    if unknown:
        raise ValueError(f"A verdict must be A, B or T, not {sorted(map(str, unknown))}.")
    whole = Counter({pair: count for pair, count in pairs.items() if None not in pair})
    rows = whole.total()
    consistent = wilson_interval(sum(whole[side, side] for side in VERDICTS), rows)
    slots = first_slot(whole)
    reasons = [NO_ROWS] if rows == 0 else []
    if rows and slots["first_slot_share"] is None:
        reasons.append("No decided games.")
    return report(
        reasons,
        rows=rows,
        excluded=pairs.total() - rows,
        consistency=consistent["rate"],
        consistency_low=consistent["low"],
        consistency_high=consistent["high"],
        **slots,
        **flips(whole),
        reconciled=reconciled(whole, lenient=False),
        reconciled_lenient=reconciled(whole, lenient=True),
        average_half_win_rate=average_half_win_rate(whole),
    )


def first_slot(pairs: Counter[tuple[str | None, str | None]]) -> Result:
    """Count decided games that the answer shown first won, and shown second."""
    first = sum(n * ((ab == "A") + (ba == "B")) for (ab, ba), n in pairs.items())
    second = sum(n * ((ab == "B") + (ba == "A")) for (ab, ba), n in pairs.items())
    share = first / (first + second) if first + second else None
    return {"first_slot_wins": first, "second_slot_wins": second, "first_slot_share": share}


def flips(pairs: Counter[tuple[str | None, str | None]]) -> Result:
    """Count rows that went A in one order and B in the other, and test for a favoured slot."""
    to_first, to_second = pairs["A", "B"], pairs["B", "A"]
    p_value = fair_coin_p(to_first, to_second)
    # Judged rows without a flip are evidence of no slot being favoured, unlike no rows at all.
    if p_value is None and pairs.total():
        p_value = NO_FLIPS_P
    return {
        "hard_flips": to_first + to_second,
        "flips_to_first": to_first,
        "flips_to_second": to_second,
        "flip_p_value": p_value,
    }


def reconciled(pairs: Counter[tuple[str | None, str | None]], *, lenient: bool) -> dict[str, int]:
    """Reduce each row's two verdicts to one, by the strict or the lenient rule."""
    rows = {"A": 0, "B": 0, "T": 0}
    for (ab, ba), count in pairs.items():
        sides = {ab, ba} - {"T"} if lenient else {ab, ba}
        winner = sides.pop() if len(sides) == 1 else None
        rows[winner or "T"] += count
    return rows


def average_half_win_rate(pairs: Counter[tuple[str | None, str | None]]) -> float | None:
    """Return A's mean score over all games, ties as half."""
    points = {"A": 1.0, "T": 0.5, "B": 0.0}
    total = sum(n * (points[ab or "T"] + points[ba or "T"]) for (ab, ba), n in pairs.items())
    return total / (2 * pairs.total()) if pairs else None


def longer_wins(
    scores_a: Sequence[float | None],
    length_a: Sequence[float | None],
    length_b: Sequence[float | None],
) -> Result:
    """Give the share of decided rows of unequal length that the longer answer won, with Wilson.

    Rows with a missing value are left out and counted in `excluded`. Null without a row to use.
    Source: Zheng et al. 2023 (verbosity bias).
    """
    same_length(scores_a=scores_a, length_a=length_a, length_b=length_b)
    rows = complete(scores_a, length_a, length_b)
    signs = np.sign(rows[:, 0] - 0.5) * np.sign(rows[:, 1] - rows[:, 2])
    used, won = int((signs != 0).sum()), int((signs > 0).sum())
    about = {"rows_used": used, "longer_wins": won, "excluded": len(scores_a) - len(rows)}
    if used == 0:
        reason = "No decided row has answers of unequal length."
        return nothing(reason, "share", "low", "high", "p_value", **about)
    share = wilson_interval(won, used)
    return report(
        share=share["rate"],
        low=share["low"],
        high=share["high"],
        p_value=fair_coin_p(won, used - won),
        **about,
    )


def length_controlled(
    scores_a: Sequence[float | None], length_diff: Sequence[float | None]
) -> Result:
    """Give A's win rate at equal length: logistic regression on tanh(length difference / its SD).

    `length_diff` is A minus B in any unit, scores are 1, 0.5 or 0. Null when the lengths do not
    differ or length alone separates wins from losses. Source: after Dubois et al. 2024, without
    its term for the difficulty of each row.
    """
    same_length(scores_a=scores_a, length_diff=length_diff)
    rows = complete(scores_a, length_diff)
    scores, lengths = rows.T
    if len(rows) and not (scores.min() >= 0 and scores.max() <= 1):
        raise ValueError("scores_a must lie in 0..1.")
    about: Result = {"n": len(rows), "excluded": len(scores_a) - len(rows)}
    keys = ("intercept", "length_coef", "length_coef_p", "controlled")
    if len(rows) == 0:
        return nothing(NO_ROWS, "raw", "sd_length_diff", *keys, **about)
    sd = float(lengths.std())
    about |= {"raw": float(scores.mean()), "sd_length_diff": sd}
    if sd <= NOISE * float(np.abs(lengths).max()):
        return nothing("All length differences are alike.", *keys, **about)
    feature = np.tanh(lengths / sd)
    if is_separated(scores, feature):
        return nothing("Length alone separates wins from losses; no finite fit.", *keys, **about)
    try:
        (intercept, slope), covariance = fit_logistic(scores, feature)
    except np.linalg.LinAlgError:
        intercept = slope = math.nan
    if not math.isfinite(intercept + slope) or not 0 < covariance[1, 1] < math.inf:
        # Such as lengths that all differ by many SDs: the tanh of each is 1.
        return nothing("The length differences are too alike for a fit.", *keys, **about)
    z = slope / math.sqrt(covariance[1, 1])
    return report(
        intercept=intercept,
        length_coef=slope,
        length_coef_p=2 * scipy.stats.norm.sf(abs(z)),
        controlled=scipy.special.expit(intercept),
        **about,
    )


def is_separated(scores: Floats, feature: Floats) -> bool:
    """Tell whether some threshold on the feature parts wins from losses, so that no fit exists."""
    won, lost = feature[scores > 0], feature[scores < 1]
    if len(won) == 0 or len(lost) == 0:
        return True
    return bool(lost.max() <= won.min() or won.max() <= lost.min())


def fit_logistic(scores: Floats, feature: Floats) -> tuple[Floats, Floats]:
    """Return intercept and slope of a logistic regression, and their covariance."""
    design = np.column_stack((np.ones_like(feature), feature))

    def loss(weights: Floats) -> float:
        linear = design @ weights
        return float((np.logaddexp(0, linear) - scores * linear).sum())

    weights, value = np.zeros(2), loss(np.zeros(2))
    for _ in range(STEPS):
        chances = scipy.special.expit(design @ weights)
        information = design.T @ (design * (chances * (1 - chances))[:, None])
        step = np.linalg.solve(information, design.T @ (scores - chances))
        while (new := loss(weights + step)) > value + 1e-9:
            step /= 2
        weights, value = weights + step, new
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return weights, np.asarray(np.linalg.inv(information), dtype=np.float64)
