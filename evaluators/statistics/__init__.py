"""Statistics of pairwise comparison: pure functions, and one registry of them by name.

Each takes plain values and returns a dict of plain values that JSON can hold, with full floats. A
number that cannot be computed is null, and `reason` says why.
"""

from collections.abc import Callable
from typing import Any

from .agreement import krippendorff_alpha, score_correlation, two_rater_agreement
from .correction import judge_calibration, ppi_win_rate, rogan_gladen
from .families import adjust_p_values
from .games import bt_identifiable
from .intervals import sign_test, tie_summary, two_proportions, wilson_interval
from .judge_bias import length_controlled, longer_wins, position_report
from .latency import latency_percentiles
from .paired import clustered_mean, equivalence_tost, mcnemar, paired_difference
from .planning import mde_paired, sample_size_repeats, sample_size_sign_test
from .ratings import bradley_terry, davidson, elo_online
from .repeats import pass_at_k, repeat_variance
from .resampling import paired_bootstrap
from .sequential import anytime_binomial, anytime_sequence, msprt_normal

OPS: dict[str, Callable[..., dict[str, Any]]] = {
    operation.__name__: operation
    for operation in (
        wilson_interval,
        sign_test,
        tie_summary,
        mcnemar,
        paired_difference,
        paired_bootstrap,
        clustered_mean,
        repeat_variance,
        pass_at_k,
        sample_size_sign_test,
        sample_size_repeats,
        mde_paired,
        adjust_p_values,
        anytime_binomial,
        anytime_sequence,
        msprt_normal,
        equivalence_tost,
        bradley_terry,
        davidson,
        elo_online,
        bt_identifiable,
        two_rater_agreement,
        krippendorff_alpha,
        position_report,
        longer_wins,
        length_controlled,
        two_proportions,
        ppi_win_rate,
        rogan_gladen,
        judge_calibration,
        score_correlation,
        latency_percentiles,
    )
}

__all__ = ["OPS"]
