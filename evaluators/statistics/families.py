"""Many tests in one look: p-values corrected for the family they belong to."""

from collections.abc import Sequence

import numpy as np
import scipy

from .inputs import Result, fraction, number, report
from .moments import Floats

# Products such as 3 * (0.05 / 3) miss 0.05 in the last bit; equality must still reject.
SLACK = 1 + 1e-12


def adjust_p_values(p_values: Sequence[float | None], alpha: float = 0.05) -> Result:
    """Correct p-values for being looked at together: Holm, and Benjamini-Hochberg.

    A null p stays null and does not count in the family. ValueError outside 0..1.
    Source: Holm 1979; Benjamini and Hochberg 1995.
    """
    level = fraction("alpha", alpha) * SLACK
    numbers = [number(p) for p in p_values]
    known = np.array([p for p in numbers if p is not None])
    if len(known) and not (known.min() >= 0 and known.max() <= 1):
        raise ValueError("p-values must lie in 0..1.")
    holm, bh = holm_adjusted(known), bh_adjusted(known)
    missing = len(numbers) - len(known)
    return report(
        ["A test without a p-value is not part of the family."] if missing else [],
        holm=spread(holm.tolist(), numbers),
        holm_reject=spread((holm <= level).tolist(), numbers),
        bh=spread(bh.tolist(), numbers),
        bh_reject=spread((bh <= level).tolist(), numbers),
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


def spread(values: list[float], gaps: Sequence[float | None]) -> list[float | None]:
    """Put values back to where the given list has no gap."""
    following = iter(values)
    return [None if gap is None else next(following) for gap in gaps]
