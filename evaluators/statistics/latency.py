"""Latency: percentiles as PostgreSQL's percentile_cont gives them."""

from collections.abc import Sequence

import numpy as np

from .inputs import Result, complete, nothing, report
from .intervals import NO_ROWS


def latency_percentiles(values: Sequence[float | None]) -> Result:
    """Give the 50th, 95th and 99th percentile by linear interpolation, in the values' unit.

    Missing values are left out and counted; null without any. Source: Hyndman and Fan 1996, type 7.
    """
    known = complete(values)
    about = {"n": len(known), "excluded": len(values) - len(known)}
    if len(known) == 0:
        return nothing(NO_ROWS, "p50", "p95", "p99", **about)
    p50, p95, p99 = np.percentile(known, [50, 95, 99])
    return report(p50=p50, p95=p95, p99=p99, **about)
