"""The leaderboard of a dataset: every system that was compared, rated from all of its games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, get_args

from evaluators.statistics import OPS
from evaluators.statistics.rankings import cycles_in, next_best_pair, rating_intervals, win_matrix
from experiments.models import Comparison, Dataset
from experiments.queries.leaderboard_games import Games, games_of
from experiments.queries.paging import Slice, page_by_time
from tiebreak.accounts.models import Workspace

Model = Literal["bradley_terry", "davidson"]
MODELS: tuple[Model, ...] = get_args(Model)
RESAMPLES = 400
FEWEST_RESAMPLES = 100
FITS = 6_000
FEW_ROWS = 30
MANY_TIES = 0.1
FEW_GAMES = 30
MAX_CYCLES = 50
# Every triple is looked at: beyond so many systems that is more than a page can wait for.
CYCLE_SYSTEMS = 80


@dataclass(frozen=True)
class System:
    """A line of the board; strengths are natural logs with mean 0, shares lie in 0..1."""

    name: str
    games: int
    wins: int
    ties: int
    losses: int
    half_win_rate: float | None
    strength: float | None
    low: float | None
    high: float | None
    rank: int | None
    rank_best: int | None
    rank_worst: int | None


@dataclass(frozen=True)
class Board:
    """All of it, ready for a page, a file or JSON."""

    model: Model
    systems: Sequence[System]
    reason: str | None
    warnings: Sequence[str]
    matrix: Mapping[str, Mapping[str, Mapping[str, Any]]]
    cycles: Sequence[Mapping[str, Any]]
    next_pair: Sequence[str] | None
    next_gain: float | None
    games: int
    rows: int
    resamples: int
    seed: int
    sources: Mapping[str, int]
    evaluators: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def datasets_with_comparisons(
    workspace: Workspace, *, size: int, after: str = "", before: str = ""
) -> Slice[Dataset]:
    """Datasets that have something to rate, by last change."""
    compared = Comparison.objects.filter(workspace=workspace).values("dataset")
    rows = Dataset.objects.filter(workspace=workspace, pk__in=compared)
    return page_by_time(rows, "modified_at", size=size, after=after, before=before)


def board_of(
    dataset: Dataset,
    *,
    model: Model = "bradley_terry",
    source: str = "",
    evaluators: Sequence[str] = (),
) -> Board:
    """Rate all systems, from the games of one source and some evaluators or of all."""
    return rated(games_of(dataset, source=source, evaluators=evaluators), model)


def rated(found: Games, model: Model) -> Board:
    """The board of these games; their order makes no difference.

    Drawing the intervals is most of the work, and the same games give the same ones: the boards
    that were asked for last are remembered.
    """
    return _rated(_Remembered(sha256(repr(found).encode()).digest(), found), model)


@dataclass(frozen=True)
class _Remembered:
    """Games that are told apart by a digest of all they say."""

    digest: bytes
    games: Games = field(compare=False)


@lru_cache(maxsize=16)
def _rated(remembered: _Remembered, model: Model) -> Board:
    found = remembered.games
    rating = rating_intervals(
        rows=found.rows, row_counts=found.row_counts, model=model, resamples=resamples_of(found)
    )
    matrix = win_matrix(found.pairs)["cells"]
    following = next_best_pair(found.pairs)
    return Board(
        model=model,
        systems=_systems(matrix, rating),
        reason=rating["reason"],
        warnings=_warnings(found, matrix),
        matrix=matrix,
        cycles=_cycles(matrix),
        next_pair=following["pair"],
        next_gain=following["gain"],
        games=found.games,
        rows=rating["rows"],
        resamples=rating["resamples"],
        seed=rating["seed"],
        sources=found.sources,
        evaluators=found.evaluators,
    )


def _cycles(
    matrix: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> Sequence[Mapping[str, Any]]:
    if len(matrix) > CYCLE_SYSTEMS:
        return []
    triples: list[dict[str, Any]] = cycles_in(matrix)["cycles"]
    return triples[:MAX_CYCLES]


def resamples_of(found: Games) -> int:
    """How many resamples a page can wait for: a fit takes longer the more systems there are."""
    systems = len({name for pair in found.pairs for name in (pair["a"], pair["b"])})
    return max(FEWEST_RESAMPLES, min(RESAMPLES, FITS // max(1, systems)))


def _systems(
    matrix: Mapping[str, Mapping[str, Mapping[str, Any]]], rating: Mapping[str, Any]
) -> list[System]:
    lines = [_system(name, cells, rating) for name, cells in matrix.items()]
    return sorted(lines, key=lambda one: (one.rank or 0, -(one.half_win_rate or 0), one.name))


def _system(name: str, cells: Mapping[str, Mapping[str, Any]], rating: Mapping[str, Any]) -> System:
    games, wins, ties = (
        sum(cell[key] for cell in cells.values()) for key in ("games", "wins", "ties")
    )

    def of(key: str) -> Any:
        return (rating.get(key) or {}).get(name)

    return System(
        name=name,
        games=games,
        wins=wins,
        ties=ties,
        losses=games - wins - ties,
        half_win_rate=OPS["tie_summary"](wins, games - wins - ties, ties)["half_win_rate"],
        strength=of("strength"),
        low=of("low"),
        high=of("high"),
        rank=of("rank"),
        rank_best=of("rank_best"),
        rank_worst=of("rank_worst"),
    )


def _warnings(found: Games, matrix: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """What a reader must know before trusting the order."""
    if not found.pairs:
        return []
    graph = OPS["bt_identifiable"](games=found.pairs)
    told = [f"{name} never lost: it has no finite rating." for name in graph["never_lost"]]
    told += [f"{name} never won: it has no finite rating." for name in graph["never_won"]]
    if len(graph["islands"]) > 1:
        told.append(f"{len(graph['islands'])} groups of systems never met.")
    few = sum(
        sum(cell["games"] for cell in cells.values()) < FEW_GAMES for cells in matrix.values()
    )
    if few:
        told.append(f"{few} of {len(matrix)} systems have fewer than {FEW_GAMES} games.")
    if found.row_counts is None and len(found.rows) < FEW_ROWS:
        told.append(f"Only {len(found.rows)} examples: intervals drawn from so few are too narrow.")
    if found.repetitions_apart:
        told.append("Repetitions of an example are drawn one by one: intervals are too narrow.")
    if len(found.sources) > 1:
        told.append("Judges, scripts and people are mixed: choose one source to keep them apart.")
    elif len(found.evaluators) > 1:
        told.append(f"Verdicts of {len(found.evaluators)} evaluators are mixed.")
    if found.ties > MANY_TIES * found.games:
        told.append("More than a tenth are ties: Davidson’s model has a place for them.")
    return told
