"""Statistics of pairwise comparison: pure functions, and one registry of them by name."""

from collections.abc import Callable
from typing import Any

from .equivalence import equivalence_tost
from .intervals import sign_test, tie_summary, two_proportions, wilson_interval
from .planning import mde_paired
from .sequential import anytime_binomial, msprt_normal

OPS: dict[str, Callable[..., dict[str, Any]]] = {
    "wilson_interval": wilson_interval,
    "sign_test": sign_test,
    "tie_summary": tie_summary,
    "mde_paired": mde_paired,
    "anytime_binomial": anytime_binomial,
    "msprt_normal": msprt_normal,
    "equivalence_tost": equivalence_tost,
    "two_proportions": two_proportions,
}

__all__ = ["OPS"]
