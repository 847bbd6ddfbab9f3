"""The games of a dataset, added up by pair of systems, and by row where there are not too many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from experiments.models import Dataset, Pair

# Up to so many judgments the bootstrap draws rows with all their games, beyond it single games.
ROWS_OF_GAMES = 20_000

SOURCES = {"judge": "Judges", "sdk": "Scripts", "people": "People"}

_SOURCE = """CASE WHEN {judge} <> '' THEN 'people'
    WHEN comparison.source = 'sdk' THEN 'sdk' ELSE 'judge' END"""

_FROM = """
JOIN experiments_comparisonevaluator evaluator ON evaluator.id = {table}.evaluator_id
JOIN experiments_comparison comparison ON comparison.id = evaluator.comparison_id
JOIN experiments_comparisonside a ON a.comparison_id = comparison.id AND a.position = 0
JOIN experiments_comparisonside b ON b.comparison_id = comparison.id AND b.position = 1
WHERE comparison.dataset_id = %(dataset)s AND comparison.workspace_id = %(workspace)s
  AND {table}.outcome IN ('a', 'b', 'tie', 'both_good', 'both_bad')
"""

_SUMS = f"""
SELECT a.name, b.name, {_SOURCE.format(judge="delta.judge")}, evaluator.key, delta.outcome,
       sum(delta.amount)::int8
FROM experiments_outcomedelta delta
{_FROM.format(table="delta")} AND delta.split = ''
GROUP BY 1, 2, 3, 4, 5 HAVING sum(delta.amount) > 0
"""  # noqa: S608

_BY_ROW = f"""
SELECT pair.example_uid::text, a.name, b.name, judgment.outcome, count(*)
FROM experiments_judgment judgment JOIN experiments_pair pair ON pair.id = judgment.pair_id
{_FROM.format(table="judgment")}
  AND (%(source)s = '' OR {_SOURCE.format(judge="judgment.judge")} = %(source)s)
  AND (%(every)s OR evaluator.key = ANY(%(keys)s))
GROUP BY 1, 2, 3, 4
"""  # noqa: S608

Game = dict[str, Any]
FIELDS = {"a": "wins_a", "b": "wins_b"}


@dataclass(frozen=True)
class Games:
    """Sums by pair, the rows to draw from, and how many verdicts came from where.

    `repetitions_apart`: single games are drawn though some are repetitions of one example.
    """

    pairs: Sequence[Game]
    rows: Sequence[Sequence[Game]]
    row_counts: Sequence[int] | None
    sources: Mapping[str, int]
    evaluators: Mapping[str, int]
    repetitions_apart: bool = False

    @property
    def games(self) -> int:
        return sum(pair["wins_a"] + pair["wins_b"] + pair["ties"] for pair in self.pairs)

    @property
    def ties(self) -> int:
        return sum(pair["ties"] for pair in self.pairs)


def games_of(dataset: Dataset, *, source: str = "", evaluators: Sequence[str] = ()) -> Games:
    """The games of one source (empty: all) and of these evaluators (none: all), in two queries."""
    values = {
        "dataset": dataset.pk,
        "workspace": dataset.workspace_id,
        "source": source,
        "every": not evaluators,
        "keys": list(evaluators),
    }
    sums = _read(_SUMS, values)
    chosen = [
        row for row in sums if source in ("", row[2]) and (not evaluators or row[3] in evaluators)
    ]
    pairs = added_up((a, b, outcome, count) for a, b, _, _, outcome, count in chosen)
    judged = sum(row[5] for row in chosen)
    sources, keys = _totals(sums, 2), _totals(chosen, 3)
    if judged <= ROWS_OF_GAMES:
        return Games(pairs, _by_row(_read(_BY_ROW, values)), None, sources, keys)
    repeated = Pair.objects.filter(comparison__dataset=dataset, repetition__gt=0).exists()
    return Games(pairs, *_by_game(pairs), sources, keys, repetitions_apart=repeated)


def added_up(results: Iterable[tuple[str, str, str, int]]) -> list[Game]:
    """Wins, losses and ties of each pair, in the order of names."""
    sums: dict[tuple[str, str], Game] = {}
    for a, b, outcome, count in results:
        none = {"a": a, "b": b, "wins_a": 0, "wins_b": 0, "ties": 0}
        sums.setdefault((a, b), none)[FIELDS.get(outcome, "ties")] += count
    return [game for _, game in sorted(sums.items())]


def _by_row(found: Sequence[tuple[Any, ...]]) -> list[list[Game]]:
    rows: dict[str, list[tuple[str, str, str, int]]] = {}
    for example, *result in found:
        rows.setdefault(example, []).append((result[0], result[1], result[2], result[3]))
    return [added_up(results) for _, results in sorted(rows.items())]


def _by_game(pairs: Sequence[Game]) -> tuple[list[list[Game]], list[int]]:
    rows, counts = [], []
    for pair in pairs:
        for field in ("wins_a", "wins_b", "ties"):
            if pair[field]:
                rows.append([{**pair, "wins_a": 0, "wins_b": 0, "ties": 0, field: 1}])
                counts.append(pair[field])
    return rows, counts


def _totals(rows: Sequence[tuple[Any, ...]], place: int) -> dict[str, int]:
    totals: dict[str, int] = {}
    for row in rows:
        totals[row[place]] = totals.get(row[place], 0) + row[5]
    return dict(sorted(totals.items()))


def _read(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())
