"""A's share part by part: by split, by difference in length, and as the race went on."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluators.statistics import OPS
from evaluators.statistics.sequential import running_band
from experiments.models import Comparison
from experiments.queries.judging_facts import Orders

CHECKPOINTS = 200
LENGTH_BINS = 5


@dataclass(frozen=True)
class Part:
    """A's share of the decided rows among some rows, with its test."""

    name: str
    a: int
    ties: int
    b: int
    rate: float | None
    low: float | None
    high: float | None
    p_value: float | None
    adjusted_p: float | None = None

    @property
    def clear(self) -> bool:
        """Whether the corrected test leaves no doubt."""
        return self.adjusted_p is not None and self.adjusted_p < 0.05


@dataclass(frozen=True)
class Swap:
    """How many rows, and which share, were called like this in their two orders."""

    key: str
    name: str
    rows: int
    share: float


@dataclass(frozen=True)
class Running:
    """A's share of the decided rows after so many judged rows, with the always-valid band."""

    rows: Sequence[int]
    rate: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]
    stop_at: int | None
    reason: str | None


def length_parts(rows: Sequence[tuple[float, int, int]]) -> list[Part]:
    """A's share of the decided rows, from those where A is much shorter to much longer.

    Rows of one difference stay together: parted, they would be parted by who won.
    """
    ordered = sorted((a - b, score) for score, a, b in rows)
    differences = [difference for difference, _ in ordered]
    fifths = [len(ordered) * n // LENGTH_BINS for n in range(LENGTH_BINS)] if ordered else []
    edges = sorted({bisect_left(differences, differences[fifth]) for fifth in fifths})
    bins = itertools.pairwise([*edges, len(ordered)])
    return adjusted([_bin(ordered[low:high]) for low, high in bins])


def _bin(rows: Sequence[tuple[int, float]]) -> Part:
    scores = [score for _, score in rows]
    name = f"{rows[0][0]:+,} to {rows[-1][0]:+,}"
    return part(name, scores.count(1.0), scores.count(0.5), scores.count(0.0))


def part(name: str, a: int, ties: int, b: int) -> Part:
    found = OPS["wilson_interval"](wins=a, n=a + b)
    p = OPS["sign_test"](wins=a, losses=b)["p_value"]
    return Part(name, a, ties, b, found["rate"], found["low"], found["high"], p)


def adjusted(parts: Sequence[Part]) -> list[Part]:
    """The same parts with Benjamini–Hochberg p-values."""
    return adjusted_together([parts])[0]


def adjusted_together(groups: Sequence[Sequence[Part]]) -> list[list[Part]]:
    """The same groups of parts, all p-values corrected as one family (Benjamini–Hochberg)."""
    flat = [one for group in groups for one in group]
    corrected = iter(OPS["adjust_p_values"](p_values=[one.p_value for one in flat])["bh"])
    return [[replace(one, adjusted_p=next(corrected)) for one in group] for group in groups]


SWAPS = (
    ("a", "A in both orders", [("A", "A")]),
    ("b", "B in both orders", [("B", "B")]),
    ("tie", "A tie in both orders", [("T", "T")]),
    ("first", "What was shown first, twice", [("A", "B")]),
    ("second", "What was shown second, twice", [("B", "A")]),
    ("half", "A tie in one order only", [("A", "T"), ("T", "A"), ("B", "T"), ("T", "B")]),
)


def swaps_of(orders: Orders) -> list[Swap]:
    """What became of the rows that were asked in both orders; none where none was."""
    counts = [(key, name, sum(orders[pair] for pair in pairs)) for key, name, pairs in SWAPS]
    total = sum(count for _, _, count in counts)
    return [Swap(key, name, count, count / total) for key, name, count in counts if total]


def running_of(comparison: Comparison, race: str) -> Running:
    """The race at up to two hundred checkpoints; none where no random order was kept."""
    if comparison.source == Comparison.Source.SDK:
        reason = "A script judged in an order of its own; the band needs a random one."
        return Running([], [], [], [], None, reason)
    edges = sorted({len(race) * n // CHECKPOINTS for n in range(1, CHECKPOINTS + 1)} - {0})
    wins, losses = _totals(race, edges, "A"), _totals(race, edges, "B")
    band = running_band(wins=wins, losses=losses)
    rates = [w / (w + n) if w + n else None for w, n in zip(wins, losses, strict=True)]
    found = OPS["anytime_sequence"](outcomes=race)
    return Running(edges, rates, band["low"], band["high"], found["stop_at"], found["reason"])


def _totals(race: str, edges: Sequence[int], letter: str) -> list[int]:
    totals, total, start = [], 0, 0
    for edge in edges:
        total += race.count(letter, start, edge)
        totals.append(total)
        start = edge
    return totals
