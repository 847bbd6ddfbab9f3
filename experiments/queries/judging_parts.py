"""A's share part by part: by split, by difference in length, and as the race went on."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluators.statistics import OPS
from evaluators.statistics.sequential import running_band
from experiments.models import Comparison
from experiments.queries.outcome_counts import OutcomeCounts

CHECKPOINTS = 200
LENGTH_BINS = 5
MAX_SPLITS = 200


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
class Running:
    """A's share of the decided rows after so many judged rows, with the always-valid band."""

    rows: Sequence[int]
    rate: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]
    stop_at: int | None
    reason: str | None


def length_parts(rows: Sequence[tuple[float, int, int]]) -> list[Part]:
    """A's share of the decided rows, from those where A is much shorter to much longer."""
    ordered = sorted((a - b, score) for score, a, b in rows)
    edges = [len(ordered) * n // LENGTH_BINS for n in range(LENGTH_BINS + 1)]
    bins = [ordered[low:high] for low, high in itertools.pairwise(edges)]
    return adjusted([_bin(rows) for rows in bins if rows])


def _bin(rows: Sequence[tuple[int, float]]) -> Part:
    scores = [score for _, score in rows]
    name = f"{rows[0][0]:+,} to {rows[-1][0]:+,}"
    return part(name, scores.count(1.0), scores.count(0.5), scores.count(0.0))


def split_parts(by_split: Mapping[str, OutcomeCounts]) -> list[Part]:
    """A's share by split; p-values corrected for looking at so many (false discovery)."""
    named = sorted((name, counts) for name, counts in by_split.items() if name and counts.judged)
    return adjusted(
        [part(name, counts.a, counts.ties, counts.b) for name, counts in named[:MAX_SPLITS]]
    )


def part(name: str, a: int, ties: int, b: int) -> Part:
    found = OPS["wilson_interval"](wins=a, n=a + b)
    p = OPS["sign_test"](wins=a, losses=b)["p_value"]
    return Part(name, a, ties, b, found["rate"], found["low"], found["high"], p)


def adjusted(parts: Sequence[Part]) -> list[Part]:
    """The same parts with Benjamini–Hochberg p-values."""
    corrected = OPS["adjust_p_values"](p_values=[one.p_value for one in parts])["bh"]
    return [replace(one, adjusted_p=p) for one, p in zip(parts, corrected, strict=True)]


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
