"""The numbers beside a verdict, each with the method, rows and inputs it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import planning
from .counts import Counts
from .inputs import Result
from .intervals import FEW_ROWS, NO_DECIDED, NO_ROWS, sign_test, tie_summary
from .paired import tost_from_moments
from .sequential import anytime_binomial, msprt_normal
from .wording import DASH, p_text, percent_text, points_text

HOPED_EFFECT = 0.1
PLANNED_POWER = 0.8


@dataclass(frozen=True, slots=True)
class How:
    """Where a number comes from: method in words, operation in OPS, rows used, inputs."""

    method: str
    op: str
    n: int
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number: full floats (shares in 0..1), its text on screen, or the reason it is null."""

    key: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    reason: str | None
    how: How


def all_figures(counts: Counts) -> tuple[Figure, ...]:
    """Compute every number of a verdict, the always-valid ones if rows are still coming in."""
    early = counts.looked_early
    return (
        decided_rate_so_far(counts) if early else decided_rate(counts),
        half_win_rate_so_far(counts) if early else half_win_rate(counts),
        p_value_so_far(counts) if early else p_value(counts),
        tie_rate(counts),
        equivalence(counts),
        smallest_difference(counts),
    )


def summary(counts: Counts) -> Result:
    return tie_summary(counts.wins_a, counts.wins_b, counts.ties, counts.confidence)


def tie_inputs(counts: Counts) -> dict[str, Any]:
    inputs = {"wins_a": counts.wins_a, "wins_b": counts.wins_b, "ties": counts.ties}
    return inputs | {"confidence": counts.confidence}


def race_inputs(counts: Counts) -> dict[str, Any]:
    return {"wins": counts.wins_a, "losses": counts.wins_b}


def rate_figure(key: str, label: str, result: Result, prefix: str, how: How) -> Figure:
    value, low, high = result[prefix + "rate"], result[prefix + "low"], result[prefix + "high"]
    reason = result["reason"] if value is None else None
    return Figure(key, label, value, low, high, percent_text(value), reason, how)


def decided_rate(counts: Counts) -> Figure:
    how = How(
        "Rows won by A divided by rows won by either, ties dropped; Wilson score interval.",
        "wilson_interval",
        counts.decided,
        {"wins": counts.wins_a, "n": counts.decided, "confidence": counts.confidence},
    )
    return rate_figure("decided_rate", "Share of decided rows", summary(counts), "decided_", how)


def decided_rate_so_far(counts: Counts) -> Figure:
    sequence = anytime_binomial(counts.wins_a, counts.wins_b, counts.alpha)
    rate = counts.wins_a / counts.decided if counts.decided else None
    how = How(
        "Rows won by A divided by rows won by either, ties dropped; always-valid interval: "
        "all shares whose Beta(1 + wins, 1 + losses) density is at least alpha.",
        "anytime_binomial",
        counts.decided,
        race_inputs(counts) | {"alpha": counts.alpha},
    )
    label = "Share of decided rows so far"
    return rate_figure("decided_rate", label, sequence | {"rate": rate}, "", how)


def half_win_rate(counts: Counts) -> Figure:
    result = summary(counts)
    interval = {"wilson": "Wilson score", "normal": "normal"}[result["half_win_method"] or "wilson"]
    method = f"Mean of 1 for a win of A, 0.5 for a tie, 0 for a loss; {interval} interval."
    how = How(method, "tie_summary", counts.judged, tie_inputs(counts))
    return rate_figure("half_win_rate", "Win rate, ties as half", result, "half_win_", how)


def half_win_rate_so_far(counts: Counts) -> Figure:
    result = summary(counts)
    method = (
        "Mean of 1 for a win of A, 0.5 for a tie, 0 for a loss; always-valid normal-mixture "
        f"interval, cut to 0..1, from {FEW_ROWS} rows on."
    )
    inputs = {"mean": result["half_win_rate"], "sigma": counts.row_sd, "tau": HOPED_EFFECT}
    inputs |= {"n": counts.judged, "null": 0.5, "alpha": counts.alpha}
    how = How(method, "msprt_normal", counts.judged, inputs)
    known = {"rate": result["half_win_rate"], "reason": result["reason"]}
    label = "Win rate so far, ties as half"
    return rate_figure("half_win_rate", label, half_win_sequence(counts) | known, "", how)


def half_win_sequence(counts: Counts) -> Result:
    """Give the always-valid interval of the half-win rate, null while rows are few."""
    if counts.judged < FEW_ROWS or not counts.row_sd:
        return {"low": None, "high": None}
    mean = 0.5 + (counts.row_mean or 0.0)
    bounds = msprt_normal(counts.judged, mean, counts.row_sd, HOPED_EFFECT, 0.5, counts.alpha)
    return {"low": max(0.0, bounds["low"]), "high": min(1.0, bounds["high"])}


def p_value(counts: Counts) -> Figure:
    result = sign_test(counts.wins_a, counts.wins_b)
    method = "Exact two-sided sign test: is every decided row a fair coin? Ties carry no sign."
    how = How(method, "sign_test", counts.decided, race_inputs(counts))
    return p_figure("Sign test", result["p_value"], how, counts)


def p_value_so_far(counts: Counts) -> Figure:
    result = anytime_binomial(counts.wins_a, counts.wins_b, counts.alpha)
    method = (
        "Always-valid p-value: 1 divided by the evidence of a beta-binomial mixture against an "
        "even race; it holds however often one looks."
    )
    inputs = race_inputs(counts) | {"alpha": counts.alpha}
    how = How(method, "anytime_binomial", counts.decided, inputs)
    return p_figure("Always-valid test", result["e_p"], how, counts)


def p_figure(label: str, plain: float | None, how: How, counts: Counts) -> Figure:
    """Put the corrected p-value in front, if there is one, and the plain one into its "how"."""
    p, reason = plain, NO_DECIDED if plain is None else None
    if plain is not None and counts.adjusted_p is not None:
        together = f"{counts.comparisons} comparisons looked at together"
        note = f"Corrected for {together}; by itself {p_text(plain, counts.alpha)}."
        p, how = counts.adjusted_p, replace(how, method=f"{how.method} {note}")
    return Figure("p_value", label, p, None, None, p_text(p, counts.alpha), reason, how)


def tie_rate(counts: Counts) -> Figure:
    method = "Rows without a winner divided by rows judged."
    how = How(method, "tie_summary", counts.judged, tie_inputs(counts))
    rate = summary(counts)["tie_rate"]
    reason = None if counts.judged else summary(counts)["reason"]
    return Figure("tie_rate", "Ties", rate, None, None, percent_text(rate), reason, how)


def equivalence(counts: Counts) -> Figure:
    how = How(
        "Two one-sided t-tests (TOST) on row scores (1, 0.5, 0) minus 0.5; low and high are "
        f"the {100 * (1 - 2 * counts.alpha):g}% interval of the difference.",
        "equivalence_tost",
        counts.judged,
        {
            "differences": {"0.5": counts.wins_a, "-0.5": counts.wins_b, "0": counts.ties},
            "margin": counts.margin,
            "alpha": counts.alpha,
        },
    )
    result = equivalence_result(counts)
    label = f"Equivalent within {points_text(counts.margin)}"
    p, low, high = result["p_value"], result["low_90"], result["high_90"]
    text = p_text(p, counts.alpha)
    return Figure("equivalence", label, p, low, high, text, result["reason"], how)


def equivalence_result(counts: Counts) -> Result:
    if counts.looked_early:
        keys = ("p_value", "equivalent", "low_90", "high_90")
        reason = "The test needs a number of rows fixed beforehand."
        return dict.fromkeys(keys) | {"reason": reason}
    mean = counts.row_mean or 0.0
    return tost_from_moments(counts.judged, mean, counts.row_sd, counts.margin, counts.alpha)


def planning_sd(counts: Counts) -> float:
    """Spread of row scores to plan with: the largest possible one while rows are few."""
    sd = counts.row_sd or 0.0
    return sd if counts.judged >= FEW_ROWS else 0.5


NO_SPREAD = "All rows came out alike."


def smallest_difference(counts: Counts) -> Figure:
    sd = planning_sd(counts)
    inputs = {"n": counts.judged, "sd_diff": sd, "alpha": counts.alpha, "power": PLANNED_POWER}
    how = How(
        "Smallest difference of the half-win rate from 50% that so many rows show with "
        f"{PLANNED_POWER:.0%} power: (z(1 - alpha/2) + z(power)) * SD / sqrt(n).",
        "mde_paired",
        counts.judged,
        inputs,
    )
    label = "Smallest difference these rows can show"
    if counts.judged == 0:
        return Figure("smallest_difference", label, None, None, None, DASH, NO_ROWS, how)
    if sd == 0:
        return Figure("smallest_difference", label, None, None, None, DASH, NO_SPREAD, how)
    mde = planning.smallest_difference(counts.judged, sd, counts.alpha, PLANNED_POWER)
    text = points_text(mde)
    return Figure("smallest_difference", label, mde, None, None, text, None, how)
