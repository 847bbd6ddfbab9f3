"""Many tests in one look: p-values corrected for the family they belong to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from .inputs import Floats, Result, Truths, fraction, numbers, report

# Products such as 3 * (0.05 / 3) miss 0.05 in the last bit; equality must still reject.
SLACK = 1 + 1e-12


def adjust_p_values(p_values: Sequence[float | None], alpha: float = 0.05) -> Result:
    """Correct p-values for being looked at together: Holm, and Benjamini-Hochberg.

    A null p stays null and does not count in the family. ValueError outside 0..1.
    Source: Holm 1979; Benjamini and Hochberg 1995.
    """
    level = fraction("alpha", alpha) * SLACK
    every = numbers(p_values)
    present = ~np.isnan(every)
    known = every[present]
    if len(known) and not (known.min() >= 0 and known.max() <= 1):
        raise ValueError("p-values must lie in 0..1.")
    holm, bh = holm_adjusted(known), bh_adjusted(known)
    missing = len(every) - len(known)
    return report(
        ["A test without a p-value is not part of the family."] if missing else [],
        holm=spread(holm, present),
        holm_reject=spread((holm <= level), present),
        bh=spread(bh, present),
        bh_reject=spread((bh <= level), present),
        family_size=len(known),
        excluded=missing,
    )


def holm_adjusted(p_values: Floats) -> Floats:
    """Return Holm's step-down adjusted p-values, in the order given."""
    order = np.argsort(p_values, kind="stable")
    raised = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def bh_adjusted(p_values: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values, in the order given."""
    if len(p_values) == 0:
        return p_values
    return np.asarray(scipy.stats.false_discovery_control(p_values, method="bh"))


def spread(values: Floats | Truths, present: Truths) -> list[Any]:
    """Put values back to where a p-value was given, and null elsewhere."""
    following = iter(values.tolist())
    return [next(following) if is_in else None for is_in in present]
