"""Ratings of many systems: Bradley-Terry, Davidson (with ties) and Elo."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from .games import Game, Matrix, Pairs, add_up, identifiability
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
    halves = pairs.counts[:, :2] + pairs.counts[:, 2:] / 2
    return centred(newton(outcome_features(pairs)[:, :2, :-1], halves))


def fit_davidson(pairs: Pairs) -> tuple[Floats, float]:
    """Return the maximum-likelihood strengths, centred, and log nu."""
    fitted = newton(outcome_features(pairs), pairs.counts)
    return centred(fitted[:-1]), float(fitted[-1])


def centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean())


def outcome_features(pairs: Pairs) -> Floats:
    """Return features[pair, outcome, parameter]: half the strength difference, or the tie term."""
    rows, systems = len(pairs.first), len(pairs.systems)
    features = np.zeros((rows, 3, systems + 1))
    row = np.arange(rows)
    for outcome, sign in ((0, 0.5), (1, -0.5)):
        features[row, outcome, pairs.first] = sign
        features[row, outcome, pairs.second] = -sign
    features[:, 2, systems] = 1
    return features


def newton(features: Floats, counts: Floats, start: Floats | None = None) -> Floats:
    """Maximise a multinomial log-likelihood, linear in its parameters, by damped Newton steps.

    The likelihood is concave; directions that change nothing (a common shift) get no step.
    """
    parameters = np.zeros(features.shape[2]) if start is None else start
    value = log_likelihood(features, counts, parameters)
    for _ in range(STEPS):
        chances = scipy.special.softmax(features @ parameters, axis=1)
        totals = counts.sum(axis=1)
        gradient = np.einsum("po,poj->j", counts - totals[:, None] * chances, features)
        information = fisher_information(features, chances, totals)
        step = np.linalg.lstsq(information, gradient, rcond=1e-12)[0]
        while (new := log_likelihood(features, counts, parameters + step)) < value - 1e-9:
            step /= 2
        parameters, value = parameters + step, new
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return parameters


def log_likelihood(features: Floats, counts: Floats, parameters: Floats) -> float:
    return float((counts * scipy.special.log_softmax(features @ parameters, axis=1)).sum())


def fisher_information(features: Floats, chances: Floats, totals: Floats) -> Matrix:
    """Return the expected information: the features' covariance under the model, summed."""
    spread = features - np.einsum("po,poj->pj", chances, features)[:, None, :]
    weighted = spread * (chances * totals[:, None])[:, :, None]
    return np.asarray(np.einsum("poi,poj->ij", weighted, spread))


def difference_errors(pairs: Pairs, strength: Floats) -> Matrix:
    """Return the standard error of every difference of strengths."""
    inverse = np.linalg.pinv(laplacian(pairs, strength), hermitian=True)
    own = np.diag(inverse)
    return np.asarray(np.sqrt(np.maximum(0.0, own[:, None] + own[None, :] - 2 * inverse)))


def laplacian(pairs: Pairs, strength: Floats) -> Matrix:
    """Return the information about strengths: each game adds p (1 - p) to its pair."""
    p = scipy.special.expit(strength[pairs.first] - strength[pairs.second])
    weights = np.zeros((len(strength),) * 2)
    np.add.at(weights, (pairs.first, pairs.second), pairs.counts.sum(axis=1) * p * (1 - p))
    weights += weights.T
    return np.diag(weights.sum(axis=1)) - weights


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
        a, b, outcome = game["a"], game["b"], game["outcome"]
        if outcome not in POINTS:
            raise ValueError(f"outcome must be A, B or T, not {outcome!r}.")
        own, other = rating.setdefault(a, initial), rating.setdefault(b, initial)
        gain = k * (POINTS[outcome] - 1 / (1 + base ** ((other - own) / scale)))
        if a != b:
            rating[a], rating[b] = own + gain, other - gain
    return report([] if rating else ["No games."], rating=rating)
