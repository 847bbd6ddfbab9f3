"""The verdict in plain English, computed and never written by a model."""

import math
from collections.abc import Mapping

from .counts import Counts, Outcome
from .figures import PLANNED_POWER, Figure, planning_sd
from .intervals import FEW_ROWS
from .planning import power_quantiles
from .wording import count_text, interval_text, p_text, percent_text, points_text

Figures = Mapping[str, Figure]
TIES_AS_HALF = "each tie counted as half a win"


def sentence(outcome: Outcome, counts: Counts, figures: Figures) -> str:
    """Say the outcome with its rate, interval, p-value and every denominator."""
    if outcome == "nothing":
        return nothing_judged(counts)
    parts = [f"{opening(outcome, counts)}: {body(outcome, counts, figures)}", *tail(counts)]
    return "; ".join(part for part in parts if part) + "."


def nothing_judged(counts: Counts) -> str:
    """Say that there is no number, and why."""
    left_out = excluded(counts)
    if counts.pending:
        waiting = f"{count_text(counts.pending, 'example')} to go"
        return "; ".join(["Nothing judged yet", *filter(None, [left_out]), waiting]) + "."
    return f"Nothing could be judged: {left_out}." if left_out else "Nothing judged yet."


def excluded(counts: Counts) -> str:
    """Name the rows left out: "3 failed, 2 missing"."""
    kinds = ((counts.failed, "failed"), (counts.missing, "missing"))
    return ", ".join(f"{count:,} {kind}" for count, kind in kinds if count)


def opening(outcome: Outcome, counts: Counts) -> str:
    """Say who won in a few words."""
    words = {
        "a": f"{counts.name_a} wins",
        "b": f"{counts.name_b} wins",
        "equivalent": f"{counts.name_a} and {counts.name_b} are equivalent within "
        f"{points_text(counts.margin)}",
        "not_settled": "not settled",
    }[outcome]
    if counts.pending:
        return f"So far {words}"
    return "Not settled" if outcome == "not_settled" else words


def body(outcome: Outcome, counts: Counts, figures: Figures) -> str:
    """Say the rate that the tie rule asks for."""
    if counts.decided == 0:
        half = f", {percent_text(0.5)} with {TIES_AS_HALF}" if counts.tie_rule == "half" else ""
        return f"{count_text(counts.ties, 'tie')}, none decided{half}"
    if outcome == "equivalent":
        return equivalent_body(counts, figures)
    if counts.tie_rule == "half":
        return half_body(outcome, counts, figures)
    return decided_body(outcome, counts, figures)


def decided_body(outcome: Outcome, counts: Counts, figures: Figures) -> str:
    """Say the share of decided rows that the leader won."""
    won = max(counts.wins_a, counts.wins_b)
    examples = count_text(counts.decided, "example")
    share, interval = from_leader(counts, figures["decided_rate"])
    told_apart = f"{examples} where {pronoun(counts)} could tell the two apart"
    numbers = f"({share}, {interval}, {p_words(counts, figures)})"
    if counts.wins_a == counts.wins_b:
        split = f"{judge(counts, 'is', 'are')} split {won:,} : {won:,}"
        return f"{split} over the {told_apart} {numbers}"
    prefers = f"{judge(counts, 'prefers', 'prefer')} {preferred(outcome, counts)}"
    return f"{prefers} in {won:,} of the {told_apart} {numbers}"


def half_body(outcome: Outcome, counts: Counts, figures: Figures) -> str:
    """Say the leader's win rate with ties as half, and the decided rows beside it."""
    figure = figures["half_win_rate"]
    share, interval = from_leader(counts, figure)
    whom = "each" if counts.wins_a == counts.wins_b else preferred(outcome, counts)
    gives = f"{judge(counts, 'gives', 'give')} {whom} {share}"
    examples = f"{count_text(counts.judged, 'example')}, {TIES_AS_HALF} ({interval})"
    decided = f"{score(counts)} of {counts.decided:,} decided ({p_words(counts, figures)})"
    return f"{gives} of {examples}; {decided}"


def equivalent_body(counts: Counts, figures: Figures) -> str:
    """Say how close to an even race the half-win rate is shown to be."""
    tost, rate = figures["equivalence"], figures["half_win_rate"].value
    level = f"{100 * (1 - 2 * counts.alpha):g}%"
    bounds = interval_text(shifted(tost.low), shifted(tost.high))
    examples = f"{count_text(counts.judged, 'example')}, {TIES_AS_HALF}"
    test = f"({level} interval {bounds}, equivalence {tost.text})"
    gets = f"{counts.name_a} gets {percent_text(rate)} of {examples} {test}"
    return f"{gets}; {score(counts)} of {counts.decided:,} decided"


def shifted(difference: float | None) -> float | None:
    """Turn a difference from an even race into a win rate."""
    return None if difference is None else min(1.0, max(0.0, 0.5 + difference))


def score(counts: Counts) -> str:
    return f"{counts.wins_a:,} : {counts.wins_b:,}"


def preferred(outcome: Outcome, counts: Counts) -> str:
    """Name the leader, or say "it" when the sentence opened with the name."""
    leader = counts.name_a if counts.wins_a > counts.wins_b else counts.name_b
    return leader if outcome == "not_settled" else "it"


def judge(counts: Counts, one: str, many: str) -> str:
    """Name who judged, with the verb that fits."""
    if counts.judge:
        return f"{counts.judge} {one}"
    return f"people {many}" if counts.people else f"judges {many}"


def pronoun(counts: Counts) -> str:
    return "it" if counts.judge else "they"


def from_leader(counts: Counts, figure: Figure) -> tuple[str, str]:
    """Write a rate and its interval from the side of whoever leads."""
    value, low, high = figure.value, figure.low, figure.high
    if value is not None and value < 0.5:
        value = 1 - value
        low, high = None if high is None else 1 - high, None if low is None else 1 - low
    kind = "always-valid interval" if counts.looked_early else "interval"
    level = f"{100 * counts.confidence:g}%"
    known = f"{kind.replace('interval', level + ' interval')} {interval_text(low, high)}"
    return percent_text(value), f"no {kind} below {FEW_ROWS} examples" if low is None else known


def p_words(counts: Counts, figures: Figures) -> str:
    """Write the p-value and what was done to it."""
    kind = "always-valid " if counts.looked_early else ""
    text = f"{kind}{p_text(figures['p_value'].value, counts.alpha)}"
    if counts.adjusted_p is None:
        return text
    return f"{text} after correction for {count_text(counts.comparisons, 'comparison')}"


def tail(counts: Counts) -> list[str]:
    """Name what the rate does not show: ties, rows left out, rows still to come."""
    left_out = excluded(counts)
    return [
        ties(counts),
        f"left out: {left_out}" if left_out else "",
        f"{count_text(counts.pending, 'example')} to go" if counts.pending else "",
    ]


def ties(counts: Counts) -> str:
    """Say how many ties there are, and how many of them were both good or both bad."""
    kinds = ((counts.both_good, "both good"), (counts.both_bad, "both bad"))
    told_apart = ", ".join(f"{count:,} {kind}" for count, kind in kinds if count)
    total = count_text(counts.ties, "tie") if counts.ties else "no ties"
    if counts.decided == 0:
        return told_apart
    return f"{total} ({told_apart})" if told_apart else total


def planning(outcome: Outcome, counts: Counts, figures: Figures) -> str:
    """Say what an unsettled comparison could have shown; never power at the observed effect."""
    mde = figures["smallest_difference"].value
    if outcome != "not_settled" or counts.looked_early or counts.decided == 0 or mde is None:
        return ""
    shown = f"can show a win rate {points_text(mde)} from even with {PLANNED_POWER:.0%} power"
    if mde > 0.5:
        shown = "cannot show a difference, however large"
    needed = rows_needed(counts)
    takes = f"; showing {points_text(counts.margin)} takes about {needed:,}"
    examples = count_text(counts.judged, "example")
    return f"{examples} {shown}{takes if needed > counts.judged else ''}."


def rows_needed(counts: Counts) -> int:
    """Return the rows that show a win rate as far from even as the margin."""
    quantiles = sum(power_quantiles(counts.alpha, PLANNED_POWER))
    return math.ceil((quantiles * planning_sd(counts) / counts.margin) ** 2)
