"""Results of many systems, added up by pair and order-free, and the graph of who beat whom."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy

from .inputs import Floats, Result, Truths, fields, report, whole

Game = Mapping[str, Any]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Results by pair of systems: row p says how often first[p] beat second[p], lost, tied."""

    systems: tuple[str, ...]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    counts: Floats
    excluded: int

    @property
    def couples(self) -> list[tuple[str, str]]:
        """The names of each pair."""
        indices = zip(self.first.tolist(), self.second.tolist(), strict=True)
        return [(self.systems[i], self.systems[j]) for i, j in indices]

    def with_counts(self, counts: Floats) -> "Pairs":
        """The same pairs with other results."""
        return replace(self, counts=counts)

    @property
    def wins_matrix(self) -> Matrix:
        """Wins of the row system over the column system, ties not counted."""
        wins = np.zeros((len(self.systems),) * 2)
        wins[self.first, self.second] = self.counts[:, 0]
        wins[self.second, self.first] = self.counts[:, 1]
        return wins

    @property
    def ties_matrix(self) -> Matrix:
        """Ties between the row system and the column system, symmetric."""
        ties = np.zeros((len(self.systems),) * 2)
        ties[self.first, self.second] = ties[self.second, self.first] = self.counts[:, 2]
        return ties


def add_up(games: Iterable[Game]) -> Pairs:
    """Add up games {a, b, wins_a, wins_b, ties} by pair; systems and pairs come out sorted.

    Games of a system against itself are left out and counted. ValueError for bad counts.
    """
    sums: dict[tuple[str, str], list[int]] = {}
    systems, excluded = set(), 0
    for game in games:
        a, b = sides_of(game)
        result = [whole(key, game.get(key, 0)) for key in ("wins_a", "wins_b", "ties")]
        systems |= {a, b}
        if a == b:
            excluded += sum(result)
            continue
        if a > b:
            a, b, result = b, a, [result[1], result[0], result[2]]
        total = sums.setdefault((a, b), [0, 0, 0])
        total[:] = [x + y for x, y in zip(total, result, strict=True)]
    names = tuple(sorted(systems))
    place = {name: index for index, name in enumerate(names)}
    met = sorted(pair for pair, total in sums.items() if any(total))
    return Pairs(
        names,
        np.array([place[a] for a, _ in met], dtype=np.int64),
        np.array([place[b] for _, b in met], dtype=np.int64),
        np.array([sums[pair] for pair in met], dtype=np.float64).reshape(-1, 3),
        excluded,
    )


def sides_of(game: Game) -> tuple[str, str]:
    """Return the names of the two systems; ValueError unless both are texts."""
    a, b = (fields("games", game).get(side) for side in ("a", "b"))
    if isinstance(a, str) and isinstance(b, str):
        return a, b
    raise ValueError(f"a and b must be the names of two systems, not {a!r} and {b!r}.")


def bt_identifiable(games: Iterable[Game]) -> Result:
    """Tell whether Bradley-Terry strengths are finite: can each reach each by wins or ties?

    Also lists systems that never lost or never won, and islands that never met, with a sentence.
    Source: Ford 1957; Hunter 2004.
    """
    return identifiability(add_up(games))


def identifiability(pairs: Pairs) -> Result:
    """Do the same from added-up results."""
    graph = (pairs.wins_matrix + pairs.ties_matrix) > 0
    weak, islands = components(graph, "weak", pairs.systems)
    strong, _ = components(graph, "strong", pairs.systems)
    won, lost = graph.sum(axis=1) > 0, graph.sum(axis=0) > 0
    never_lost = names_where(pairs, won & ~lost)
    never_won = names_where(pairs, lost & ~won)
    reasons = [] if strong == 1 else not_identifiable(pairs, islands, never_lost, never_won)
    return report(
        reasons,
        identifiable=strong == 1,
        weak_components=weak,
        strong_components=strong,
        never_lost=never_lost,
        never_won=never_won,
        islands=islands,
    )


def components(
    graph: Truths, kind: Literal["weak", "strong"], systems: tuple[str, ...]
) -> tuple[int, list[list[str]]]:
    """Return the number of connected components and the systems in each."""
    if not systems:
        return 0, []
    count, labels = scipy.sparse.csgraph.connected_components(graph, connection=kind)
    named = list(zip(systems, labels.tolist(), strict=True))
    groups = [[name for name, own in named if own == label] for label in range(count)]
    return int(count), groups


def names_where(pairs: Pairs, chosen: Truths) -> list[str]:
    return [name for name, is_in in zip(pairs.systems, chosen, strict=True) if is_in]


def not_identifiable(
    pairs: Pairs, islands: list[list[str]], never_lost: list[str], never_won: list[str]
) -> list[str]:
    """Say in words why there is no finite rating."""
    if not pairs.systems:
        return ["No games."]
    if len(islands) > 1:
        groups = " and ".join("{" + ", ".join(group) + "}" for group in islands)
        return [f"Groups that never met have no common scale: {groups}."]
    reasons = [f"{name} never lost; no finite rating." for name in never_lost]
    reasons += [f"{name} never won; no finite rating." for name in never_won]
    return reasons or ["One group never lost to the rest; no finite rating between them."]
