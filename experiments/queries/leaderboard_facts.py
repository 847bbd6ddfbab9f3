"""What stands beside a system on the leaderboard, and where its cells lead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection

from experiments.models import Dataset

# The latest runs of each system stand for all: a board of fifty must not read fifty experiments.
RUNS = 300

_FACTS = """
SELECT experiment.name, experiment.uid, taken.latency, taken.tokens, taken.cost
FROM experiments_experiment experiment
LEFT JOIN LATERAL (
    SELECT percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM run.end_time - run.start_time)::float8) AS latency,
           avg(run.total_tokens)::float8 AS tokens, avg(run.total_cost) AS cost
    FROM (
        SELECT start_time, end_time, total_tokens, total_cost FROM experiments_run
        WHERE experiment_id = experiment.id AND is_root
        ORDER BY start_time DESC, id DESC LIMIT %(runs)s
    ) run
) taken ON true
WHERE experiment.dataset_id = %(dataset)s AND experiment.workspace_id = %(workspace)s
ORDER BY experiment.start_time
"""

_NEWEST = """
SELECT DISTINCT ON (a.name, b.name) a.name, b.name, comparison.uid
FROM experiments_comparison comparison
JOIN experiments_comparisonside a ON a.comparison_id = comparison.id AND a.position = 0
JOIN experiments_comparisonside b ON b.comparison_id = comparison.id AND b.position = 1
WHERE comparison.dataset_id = %(dataset)s AND comparison.workspace_id = %(workspace)s
ORDER BY a.name, b.name, comparison.created_at DESC
"""


@dataclass(frozen=True)
class SystemFacts:
    """The latest experiment of this name: median seconds, mean tokens and US dollars of a run."""

    experiment_uid: UUID
    latency: float | None
    tokens: float | None
    cost: Decimal | None


def facts_of(dataset: Dataset) -> dict[str, SystemFacts]:
    """By the system's name; systems whose experiment is gone have none."""
    return {name: SystemFacts(*facts) for name, *facts in _read(_FACTS, dataset)}


def newest_comparisons(dataset: Dataset) -> Mapping[tuple[str, str], UUID]:
    """The newest comparison of each pair of systems, under both orders of their names."""
    found: dict[tuple[str, str], UUID] = {}
    for a, b, uid in _read(_NEWEST, dataset):
        found[a, b] = uid
        found.setdefault((b, a), uid)
    return found


def _read(query: str, dataset: Dataset) -> list[tuple[Any, ...]]:
    values = {"dataset": dataset.pk, "workspace": dataset.workspace_id, "runs": RUNS}
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())
