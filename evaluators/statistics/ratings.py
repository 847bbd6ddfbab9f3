"""Ratings of many systems: Bradley-Terry, Davidson (with ties) and Elo."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from .games import Game, Matrix, Pairs, add_up, identifiability, sides_of
from .inputs import Floats, Result, Whole, finite, not_negative, nothing, report

ELO_PER_STRENGTH = 400 / math.log(10)
ELO_MEAN = 1000
POINTS = {"A": 1.0, "T": 0.5, "B": 0.0}
STEPS = 200
CLOSE_ENOUGH = 1e-11


def bradley_terry(games: Iterable[Game]) -> Result:
    """Fit strengths (natural log, mean 0) so that A beats B with chance 1 / (1 + exp(B - A)).

    A tie is half a win for each. `diff_se` is model-based (a tied game is one observation). All
    null, with the reason, when no finite strengths exist. Source: Bradley and Terry 1952.
    """
    pairs = add_up(games)
    graph = identifiability(pairs)
    keys = ("strength", "win_probability", "elo_scale_mean_1000", "diff_se")
    if not graph["identifiable"]:
        return nothing(graph["reason"], *keys, excluded=pairs.excluded)
    strength = fit_bradley_terry(pairs)
    errors = difference_errors(pairs, strength)
    names = pairs.systems
    couples = list(combinations(range(len(names)), 2))
    chances = {f"{names[i]}>{names[j]}": chance(strength[i] - strength[j]) for i, j in couples}
    return report(
        strength=by_name(names, strength),
        win_probability=chances,
        elo_scale_mean_1000=by_name(names, ELO_MEAN + ELO_PER_STRENGTH * strength),
        diff_se={f"{names[i]}-{names[j]}": errors[i, j] for i, j in couples},
        excluded=pairs.excluded,
    )


def davidson(games: Iterable[Game]) -> Result:
    """Fit strengths (natural log, mean 0) with ties of their own: P(tie) ~ nu * sqrt(pi_a * pi_b).

    nu is 0 without ties. All null, with the reason, when no finite fit exists.
    Source: Davidson 1970.
    """
    pairs = add_up(games)
    reason = identifiability(pairs)["reason"] or no_finite_tie_model(pairs)
    if reason:
        return nothing(reason, "strength", "nu", excluded=pairs.excluded)
    if not pairs.counts[:, 2].any():
        fitted = by_name(pairs.systems, fit_bradley_terry(pairs))
        return report(strength=fitted, nu=0.0, excluded=pairs.excluded)
    strength, log_nu = fit_davidson(pairs)
    fitted = by_name(pairs.systems, strength)
    return report(strength=fitted, nu=math.exp(log_nu), excluded=pairs.excluded)


def by_name(names: Sequence[str], values: Floats | Whole) -> dict[str, Any]:
    return dict(zip(names, values.tolist(), strict=True))


def chance(difference: float) -> float:
    """Return the chance of winning at a difference of strengths."""
    return float(scipy.special.expit(difference))


def fit_bradley_terry(pairs: Pairs) -> Floats:
    """Return the maximum-likelihood strengths, centred; the games must be identifiable."""
    return centred(newton(pairs, with_half_ties(pairs.counts)))


def with_half_ties(counts: Floats) -> Floats:
    """Return wins and losses, a tie being half of each."""
    return np.asarray(counts[:, :2] + counts[:, 2:] / 2)


def fit_davidson(pairs: Pairs) -> tuple[Floats, float]:
    """Return the maximum-likelihood strengths, centred, and log nu."""
    fitted = newton(pairs, pairs.counts)
    return centred(fitted[:-1]), float(fitted[-1])


def centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean())


def newton(
    pairs: Pairs, counts: Floats, start: Floats | None = None, close_enough: float = CLOSE_ENOUGH
) -> Floats:
    """Maximise the likelihood of wins and losses (and ties) by pair, by damped Newton steps.

    Gives the strengths, and log nu behind them where `counts` has a third column, of ties. The
    likelihood is concave; a common shift of the strengths changes nothing and gets no step.
    """
    systems, ties = len(pairs.systems), int(counts.shape[1] == 3)
    parameters = np.zeros(systems + ties) if start is None else start
    shift = np.concatenate([np.ones(systems), np.zeros(ties)])
    value = log_likelihood(pairs, counts, parameters)
    for _ in range(STEPS):
        gradient, information = slope(pairs, counts, parameters)
        level = np.trace(information) / len(parameters) or 1.0
        # What the shift gets here it does not get in the step: the gradient has nothing along it.
        step = solved(information + level * np.outer(shift, shift), gradient)
        while (new := log_likelihood(pairs, counts, parameters + step)) < value - 1e-9:
            step /= 2
        parameters, value = parameters + step, new
        if np.abs(step).max() < close_enough:
            break
    return parameters


def logits(pairs: Pairs, counts: Floats, parameters: Floats) -> Floats:
    """Return logits[pair, outcome]: half the difference either way, and the tie term."""
    half = (parameters[pairs.first] - parameters[pairs.second]) / 2
    columns = [half, -half]
    if counts.shape[1] == 3:
        columns.append(np.full(len(half), parameters[-1]))
    return np.stack(columns, axis=1)


def log_likelihood(pairs: Pairs, counts: Floats, parameters: Floats) -> float:
    chances = scipy.special.log_softmax(logits(pairs, counts, parameters), axis=1)
    return float((counts * chances).sum())


def slope(pairs: Pairs, counts: Floats, parameters: Floats) -> tuple[Floats, Matrix]:
    """Return the gradient and the expected information, from what each pair adds to them."""
    chances = scipy.special.softmax(logits(pairs, counts, parameters), axis=1)
    totals = counts.sum(axis=1)
    lead = (chances[:, 0] - chances[:, 1]) / 2
    spread = (chances[:, 0] + chances[:, 1]) / 4 - lead**2
    gradient = to_systems(pairs, (counts[:, 0] - counts[:, 1]) / 2 - totals * lead)
    information = between_systems(pairs, totals * spread)
    if counts.shape[1] == 2:
        return gradient, information
    tie = chances[:, 2]
    across = to_systems(pairs, -totals * lead * tie)[:, None]
    own = np.array([[(totals * tie * (1 - tie)).sum()]])
    gradient = np.append(gradient, (counts[:, 2] - totals * tie).sum())
    return gradient, np.block([[information, across], [across.T, own]])


def to_systems(pairs: Pairs, values: Floats) -> Floats:
    """Add what each pair says to its first system, and take it from its second."""
    size = len(pairs.systems)
    given = np.bincount(pairs.first, values, size) - np.bincount(pairs.second, values, size)
    return np.asarray(given)


def between_systems(pairs: Pairs, weights: Floats) -> Matrix:
    """Return the Laplacian of the graph whose edges are the pairs with these weights."""
    size = len(pairs.systems)
    edges = np.bincount(pairs.first * size + pairs.second, weights, size * size)
    edges = edges.reshape(size, size)
    edges = edges + edges.T
    return np.asarray(np.diag(edges.sum(axis=1)) - edges)


def solved(matrix: Matrix, vector: Floats) -> Floats:
    """Solve a linear system; by least squares where it has no single solution."""
    try:
        return np.asarray(np.linalg.solve(matrix, vector))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, vector, rcond=1e-12)[0])


def difference_errors(pairs: Pairs, strength: Floats) -> Matrix:
    """Return the standard error of every difference of strengths."""
    inverse = np.linalg.pinv(laplacian(pairs, strength), hermitian=True)
    own = np.diag(inverse)
    return np.asarray(np.sqrt(np.maximum(0.0, own[:, None] + own[None, :] - 2 * inverse)))


def laplacian(pairs: Pairs, strength: Floats) -> Matrix:
    """Return the information about strengths: each game adds p (1 - p) to its pair."""
    p = scipy.special.expit(strength[pairs.first] - strength[pairs.second])
    return between_systems(pairs, pairs.counts.sum(axis=1) * p * (1 - p))


def no_finite_tie_model(pairs: Pairs) -> str | None:
    """Say why Davidson's likelihood has no maximum although the games hang together, or nothing.

    Ties bind strengths less than wins do: with ties that become ever likelier and every winner ever
    further ahead the likelihood may rise for ever. It does exactly when each win can be put two
    steps ahead and each tie at most two apart, which a graph without negative cycles allows.
    """
    if not pairs.counts[:, 2].any():
        return None
    steps = np.where(pairs.ties_matrix > 0, 2.0, np.inf)
    steps[pairs.wins_matrix > 0] = -2.0
    beaten_back = (pairs.wins_matrix > 0) & (pairs.wins_matrix.T > 0)
    if beaten_back.any():
        return None
    try:
        scipy.sparse.csgraph.bellman_ford(scipy.sparse.csgraph.csgraph_from_dense(steps, np.inf))
    except scipy.sparse.csgraph.NegativeCycleError:
        return None
    return "Wins all point one way and the rest are ties; no finite rating with ties."


def expected_score(difference: float, base: float) -> float:
    """Return 1 / (1 + base ** -difference), also where the power does not fit into a float."""
    return float(scipy.special.expit(difference * math.log(base)))


def elo_online(
    games: Iterable[Game],
    k: float = 32,
    initial: float = 1000,
    scale: float = 400,
    base: float = 10,
) -> Result:
    """Rate games {a, b, outcome "A" | "B" | "T"} one after the other; depends on their order.

    For live feeds only; ValueError for another outcome. Source: Elo 1978.
    """
    k, initial = not_negative("k", k), finite("initial", initial)
    if not_negative("scale", scale) == 0 or not_negative("base", base) == 0:
        raise ValueError("scale and base must be above 0.")
    rating: dict[str, float] = {}
    for game in games:
        a, b = sides_of(game)
        outcome = game.get("outcome")
        if outcome not in POINTS:
            raise ValueError(f"outcome must be A, B or T, not {outcome!r}.")
        own, other = rating.setdefault(a, initial), rating.setdefault(b, initial)
        gain = k * (POINTS[outcome] - expected_score((own - other) / scale, base))
        if a != b:
            rating[a], rating[b] = own + gain, other - gain
    return report([] if rating else ["No games."], rating=rating)
