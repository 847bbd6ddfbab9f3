"""Leaderboards: intervals of ratings, rank ranges, the win matrix, cycles, what to run next."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import scipy

from .games import Game, Pairs, add_up, identifiability
from .inputs import Floats, Result, Whole, fraction, nothing, report, whole
from .intervals import tie_summary
from .ratings import (
    CLOSE_ENOUGH,
    by_name,
    centred,
    laplacian,
    newton,
    no_finite_tie_model,
    with_half_ties,
)

Model = Literal["bradley_terry", "davidson"]
INTERVAL_KEYS = ("low", "high", "rank_best", "rank_worst")
USABLE = 0.9
# Newton's last step, squared by the next one: far below the scatter of resamples.
CLOSE_ENOUGH_IN_A_RESAMPLE = 1e-5
Patterns = Any


def rating_intervals(
    rows: Sequence[Sequence[Game]],
    row_counts: Sequence[int] | None = None,
    model: Model = "bradley_terry",
    confidence: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> Result:
    """Rate systems from rows of games, with bootstrap intervals over rows and ranges of ranks.

    `row_counts` says how many rows are like each one given. Strengths are natural logs with mean 0.
    All games of a row are drawn together. Null, with the reason, when no finite strengths exist;
    intervals are null when over a tenth of the resamples have none. Source: Efron 1979.
    """
    level, draws = fraction("confidence", confidence), whole("resamples", resamples)
    pairs, patterns, repeats = row_patterns(rows, row_counts)
    about: Result = {"rows": int(repeats.sum()), "seed": seed, "resamples": draws, "model": model}
    reason = no_fit(pairs, model)
    if reason:
        return nothing(reason, "strength", "rank", *INTERVAL_KEYS, **about)
    strength = fitter(pairs, model)(pairs.counts)
    drawn = resampled_strengths(pairs, patterns, repeats, model, draws, seed)
    ranks = 1 + np.argsort(np.argsort(-strength, kind="stable"))
    about |= {"strength": by_name(pairs.systems, strength), "rank": by_name(pairs.systems, ranks)}
    about |= {"resamples_used": len(drawn)}
    if len(drawn) < max(1, USABLE * draws):
        reason = "Too few games: many resamples have no finite strengths."
        return nothing(reason, *INTERVAL_KEYS, **about)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    columns = (low, high, *rank_range(low, high))
    named = [by_name(pairs.systems, column) for column in columns]
    return report(**dict(zip(INTERVAL_KEYS, named, strict=True)), **about)


def rank_range(low: Floats, high: Floats) -> tuple[Whole, Whole]:
    """Return the best and the worst rank that fit with the intervals of all systems."""
    best = 1 + (low[None, :] > high[:, None]).sum(axis=1)
    worst = len(low) - (high[None, :] < low[:, None]).sum(axis=1)
    return best, worst


def row_patterns(
    rows: Sequence[Sequence[Game]], row_counts: Sequence[int] | None
) -> tuple[Pairs, Patterns, Floats]:
    """Return the results added up, the distinct rows as count vectors, and how many of each.

    A row counts three outcomes of each pair, mostly none: row r holds them in patterns[r, 3 p + o].
    """
    given = [1] * len(rows) if row_counts is None else [whole("row_counts", n) for n in row_counts]
    weighted = [
        {**game, **{key: n * game.get(key, 0) for key in ("wins_a", "wins_b", "ties")}}
        for row, n in zip(rows, given, strict=True)
        for game in row
    ]
    pairs = add_up(weighted)
    place = {couple: 3 * p for p, couple in enumerate(pairs.couples)}
    seen: dict[tuple[tuple[int, float], ...], int] = {}
    for row, n in zip(rows, given, strict=True):
        one = add_up(row)
        key = tuple(
            (place[couple] + outcome, count)
            for couple, counts in zip(one.couples, one.counts.tolist(), strict=True)
            if couple in place
            for outcome, count in enumerate(counts)
            if count
        )
        seen[key] = seen.get(key, 0) + n
    # Sorted, so that the same seed gives the same digits in whatever order rows arrive.
    ordered = sorted(seen.items())
    cells = [(r, column, count) for r, (key, _) in enumerate(ordered) for column, count in key]
    at_row, at_column, values = np.array(cells, dtype=np.float64).reshape(-1, 3).T
    patterns = scipy.sparse.csr_array(
        (values, (at_row.astype(np.int64), at_column.astype(np.int64))),
        shape=(len(ordered), 3 * len(place)),
    )
    return pairs, patterns, np.array([n for _, n in ordered], dtype=np.float64)


def no_fit(pairs: Pairs, model: Model) -> str | None:
    """Say why the model has no finite strengths, or nothing."""
    reason: str | None = identifiability(pairs)["reason"]
    return reason or (no_finite_tie_model(pairs) if model == "davidson" else None)


def has_fit(pairs: Pairs, model: Model) -> bool:
    """Tell the same without the words."""
    met = (pairs.wins_matrix + pairs.ties_matrix) > 0
    groups, _ = scipy.sparse.csgraph.connected_components(met, connection="strong")
    return groups == 1 and not (model == "davidson" and no_finite_tie_model(pairs))


def fitter(
    pairs: Pairs, model: Model, close_enough: float = CLOSE_ENOUGH
) -> Callable[[Floats], Floats]:
    """Return a function from counts by pair to centred strengths, started at the full fit."""
    if model == "davidson" and pairs.counts[:, 2].any():
        start = newton(pairs, pairs.counts)
        return lambda counts: centred(newton(pairs, counts, start, close_enough)[:-1])
    begin = newton(pairs, with_half_ties(pairs.counts))
    return lambda counts: centred(newton(pairs, with_half_ties(counts), begin, close_enough))


def resampled_strengths(
    pairs: Pairs,
    patterns: Patterns,
    repeats: Floats,
    model: Model,
    resamples: int,
    seed: int,
) -> Floats:
    """Return the strengths of resamples of rows, without those that have no finite ones."""
    rng = np.random.default_rng(seed)
    total = int(repeats.sum())
    fit = fitter(pairs, model, CLOSE_ENOUGH_IN_A_RESAMPLE)
    fitted = []
    for _ in range(resamples):
        drawn = rng.multinomial(total, repeats / total)
        counts = (drawn @ patterns).reshape(-1, 3)
        if has_fit(pairs.with_counts(counts), model):
            fitted.append(fit(counts))
    return np.array(fitted)


def win_matrix(games: Iterable[Game], confidence: float = 0.95) -> Result:
    """Give every pair that met, from both sides: games, wins, ties, half-win rate and interval.

    Returns {"cells": {a: {b: {...}}}}; rates in 0..1. Source: Wilson 1927.
    """
    pairs = add_up(games)
    cells: dict[str, dict[str, Result]] = {name: {} for name in pairs.systems}
    for (first, second), row in zip(pairs.couples, pairs.counts.astype(int).tolist(), strict=True):
        wins, losses, ties = row
        cells[first][second] = cell = win_cell(wins, losses, ties, confidence)
        cells[second][first] = seen_from_the_other_side(cell, losses)
    return report([] if pairs.couples else ["No games."], cells=cells)


def win_cell(wins: int, losses: int, ties: int, confidence: float) -> Result:
    """Return one side's view of a pair."""
    summary = tie_summary(wins, losses, ties, confidence)
    return {
        "games": summary["n"],
        "wins": wins,
        "ties": ties,
        "half_win_rate": summary["half_win_rate"],
        "low": summary["half_win_low"],
        "high": summary["half_win_high"],
    }


def seen_from_the_other_side(cell: Result, wins: int) -> Result:
    """Return the same pair as the other system sees it."""
    return {
        **cell,
        "wins": wins,
        "half_win_rate": 1 - cell["half_win_rate"],
        "low": 1 - cell["high"],
        "high": 1 - cell["low"],
    }


def cycles(games: Iterable[Game], confidence: float = 0.95) -> Result:
    """List triples in which each beats the next by half-win rate, so that no ranking fits them.

    `clear` when all three intervals exclude one half. Source: Kendall and Babington Smith 1940.
    """
    return cycles_in(win_matrix(games, confidence)["cells"])


def cycles_in(cells: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Result:
    """List the same from the cells of a win matrix."""

    def beats(a: str, b: str) -> bool:
        return b in cells[a] and cells[a][b]["half_win_rate"] > 0.5

    found = []
    for first, second, third in combinations(cells, 3):
        for x, y, z in ((first, second, third), (first, third, second)):
            if beats(x, y) and beats(y, z) and beats(z, x):
                clear = all(cells[a][b]["low"] > 0.5 for a, b in ((x, y), (y, z), (z, x)))
                found.append({"systems": [x, y, z], "clear": clear})
    return report(cycles=found)


def next_best_pair(games: Iterable[Game]) -> Result:
    """Name the pair whose next game narrows all strength differences most, and by what share.

    `gain` is the share of the summed variance that one game removes. Where no finite strengths
    exist it names a pair that helps to join the groups, without a gain.
    Source: A-optimal design; Glickman and Jensen 2005.
    """
    pairs = add_up(games)
    graph = identifiability(pairs)
    if len(pairs.systems) < 2:
        return nothing("It takes two systems.", "pair", "gain")
    if not graph["identifiable"]:
        return report([graph["reason"]], pair=bridging_pair(pairs), gain=None)
    strength = fitter(pairs, "bradley_terry")(pairs.counts)
    inverse = np.asarray(np.linalg.pinv(laplacian(pairs, strength), hermitian=True))
    gains = {
        (i, j): game_gain(inverse, strength, i, j) for i, j in combinations(range(len(strength)), 2)
    }
    (i, j), gain = max(gains.items(), key=lambda item: item[1])
    return report(pair=[pairs.systems[i], pairs.systems[j]], gain=gain)


def game_gain(inverse: Floats, strength: Floats, i: int, j: int) -> float:
    """Return the share of the summed variance of differences that a game of i and j removes."""
    chance = 1 / (1 + np.exp(strength[j] - strength[i]))
    information = float(chance * (1 - chance))
    reach = inverse[i] - inverse[j]
    removed = information * float(reach @ reach) / (1 + information * float(reach[i] - reach[j]))
    return removed / float(np.trace(inverse))


def bridging_pair(pairs: Pairs) -> list[str]:
    """Return the pair with the fewest games of those whose result could join two groups."""
    reached = reachable(pairs)
    played = pairs.wins_matrix + pairs.wins_matrix.T + pairs.ties_matrix
    apart = [
        (played[i, j], i, j)
        for i, j in combinations(range(len(pairs.systems)), 2)
        if not (reached[i, j] and reached[j, i])
    ]
    _, i, j = min(apart)
    return [pairs.systems[i], pairs.systems[j]]


def reachable(pairs: Pairs) -> Floats:
    """Return which system reaches which by a chain of wins or ties."""
    steps = (pairs.wins_matrix + pairs.ties_matrix > 0) | np.eye(len(pairs.systems), dtype=bool)
    power = steps.astype(np.float64)
    for _ in range(len(pairs.systems)):
        power = np.minimum(1.0, power @ power)
    return power
