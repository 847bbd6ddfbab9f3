"""Scores of several experiments on the same examples: who scores higher, and how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from django.db import connection

from evaluators.statistics import OPS
from experiments.models import Dataset, Experiment

MAX_EXPERIMENTS = 10
MAX_KEYS = 20
ALPHA = 0.05

# A repeated example and several scores of one run come to one value: the example is the unit.
MEAN_SCORES = """
SELECT feedback.key, run.experiment_id, run.example_uid, avg(feedback.score)::float8
FROM experiments_feedback feedback
JOIN experiments_run run
  ON run.workspace_id = feedback.workspace_id AND run.uid = feedback.run_uid
WHERE feedback.workspace_id = %(workspace)s AND feedback.experiment_id = ANY(%(experiments)s)
  AND run.experiment_id = feedback.experiment_id AND run.is_root
  AND run.example_uid IS NOT NULL AND feedback.score IS NOT NULL
  AND NOT feedback.is_error AND feedback.comparison_uid IS NULL
  AND (%(every)s OR feedback.key = ANY(%(keys)s))
GROUP BY 1, 2, 3
"""

# The rows of a dataset that belong together: those whose metadata say the same under one key.
_CLUSTERS = """
SELECT example.uid::text, revision.metadata ->> %(group)s
FROM experiments_examplerevision revision
JOIN experiments_example example ON example.id = revision.example_id
WHERE revision.dataset_id = %(dataset)s AND revision.valid_to IS NULL
  AND revision.metadata ->> %(group)s IS NOT NULL
"""

_METADATA_KEYS = """
SELECT DISTINCT field.key FROM (
    SELECT metadata FROM experiments_examplerevision
    WHERE dataset_id = %(dataset)s AND valid_to IS NULL ORDER BY example_id DESC LIMIT 200
) newest
CROSS JOIN LATERAL jsonb_each(newest.metadata) field
WHERE jsonb_typeof(field.value) IN ('string', 'number', 'boolean')
ORDER BY 1 LIMIT 30
"""

FEW_CLUSTERS = 10

Scores = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Difference:
    """One experiment against the baseline on one key; in the scores' unit, baseline subtracted."""

    key: str
    experiment: str
    shared: int
    only_one: int
    mean: float | None
    baseline_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    method: str | None
    better: int
    worse: int
    same: int
    reason: str | None
    clusters: int | None = None
    adjusted_p: float | None = None
    lower_is_better: bool = False

    @property
    def settled(self) -> bool:
        """Whether test and interval agree; in skewed scores they may not."""
        if self.low is not None and self.high is not None and self.low <= 0 <= self.high:
            return False
        return self.adjusted_p is not None and self.adjusted_p < ALPHA

    @property
    def sentence(self) -> str:
        """What the numbers say, in words."""
        if self.difference is None:
            return "No example has both scores."
        if not self.settled:
            return "Not settled."
        higher = self.difference > 0
        said = "Scores higher" if higher else "Scores lower"
        if self.lower_is_better:
            return f"{said}, which is {'worse' if higher else 'better'} here."
        return f"{said}."


@dataclass(frozen=True)
class ScoreComparison:
    """All differences to the first experiment, corrected together (Holm)."""

    baseline: str
    tests: int
    differences: Sequence[Difference]
    group: str = ""

    @property
    def few_clusters(self) -> bool:
        """Whether there are so few clusters that their intervals are too narrow."""
        known = [row.clusters for row in self.differences if row.clusters is not None]
        return bool(known) and min(known) < FEW_CLUSTERS

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def chosen_experiments(dataset: Dataset, uids: Sequence[UUID]) -> list[Experiment]:
    """Experiments of this dataset in the order asked for; others are left out."""
    found = {row.uid: row for row in dataset.experiments.filter(uid__in=uids[:MAX_EXPERIMENTS])}
    return [found[uid] for uid in dict.fromkeys(uids) if uid in found]


def compare_scores(
    experiments: Sequence[Experiment],
    *,
    keys: Sequence[str] = (),
    group: str = "",
    lower: Collection[str] = (),
) -> ScoreComparison:
    """Each further experiment against the first on these keys (none: all).

    With a `group`, rows whose metadata agree under that key are taken as one cluster. Of the keys
    in `lower`, lower scores are better.
    """
    baseline, *others = experiments
    by_key = scores_of(experiments, keys)
    clusters = clusters_of(baseline, group) if group else None
    rows = [
        difference(key, other.name, scores.get(other.pk, {}), scores.get(baseline.pk, {}), clusters)
        for key, scores in sorted(by_key.items())[:MAX_KEYS]
        for other in others
    ]
    found = OPS["adjust_p_values"](p_values=[row.p_value for row in rows])
    adjusted = [
        replace(row, adjusted_p=p, lower_is_better=row.key in lower)
        for row, p in zip(rows, found["holm"], strict=True)
    ]
    return ScoreComparison(baseline.name, found["family_size"], adjusted, group)


def score_keys(experiments: Sequence[Experiment]) -> list[str]:
    """The scores that any of these experiments has on its runs."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT key FROM experiments_feedback WHERE experiment_id = ANY(%s) "
            "AND run_uid IS NOT NULL AND score IS NOT NULL AND comparison_uid IS NULL ORDER BY 1",
            [[row.pk for row in experiments]],
        )
        return [key for (key,) in cursor.fetchall()]


def metadata_keys(dataset: Dataset) -> list[str]:
    """Keys by which rows may belong together, from the newest examples."""
    with connection.cursor() as cursor:
        cursor.execute(_METADATA_KEYS, {"dataset": dataset.pk})
        return [key for (key,) in cursor.fetchall()]


def clusters_of(experiment: Experiment, group: str) -> dict[str, str]:
    """The value of a metadata key by example; examples without it stand alone."""
    with connection.cursor() as cursor:
        cursor.execute(_CLUSTERS, {"group": group, "dataset": experiment.dataset_id})
        return dict(cursor.fetchall())


def scores_of(experiments: Sequence[Experiment], keys: Sequence[str]) -> dict[str, Scores]:
    """Mean score by key, experiment and example."""
    values: dict[str, Any] = {
        "workspace": experiments[0].workspace_id,
        "experiments": [row.pk for row in experiments],
        "every": not keys,
        "keys": list(keys),
    }
    found: dict[str, dict[int, dict[str, float]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key, experiment, example::text, score "  # noqa: S608
            f"FROM ({MEAN_SCORES}) AS one(key, experiment, example, score)",
            values,
        )
        for key, experiment, example, score in cursor.fetchall():
            found.setdefault(key, {}).setdefault(experiment, {})[example] = score
    return dict(found)


def difference(
    key: str,
    name: str,
    ours: Mapping[str, float],
    theirs: Mapping[str, float],
    clusters: Mapping[str, str] | None = None,
) -> Difference:
    """The paired difference over the examples that both have scores for."""
    shared = sorted(ours.keys() & theirs.keys())
    a, b = [ours[one] for one in shared], [theirs[one] for one in shared]
    found = OPS["paired_difference"](a=a, b=b)
    plain = Difference(
        key=key,
        experiment=name,
        shared=len(shared),
        only_one=len(ours.keys() ^ theirs.keys()),
        mean=sum(a) / len(a) if a else None,
        baseline_mean=sum(b) / len(b) if b else None,
        difference=found["mean_diff"],
        low=found["t_low"],
        high=found["t_high"],
        p_value=found["permutation_p"],
        method=found["permutation_method"],
        better=found["wins_a"],
        worse=found["wins_b"],
        same=found["ties"],
        reason=found["reason"],
    )
    if clusters is not None:
        return _clustered(plain, a, b, [clusters.get(one) for one in shared])
    return _pass_or_fail(plain, a, b) if shared and {*a, *b} <= {0.0, 1.0} else plain


def _clustered(
    plain: Difference, a: Sequence[float], b: Sequence[float], clusters: Sequence[str | None]
) -> Difference:
    """The same difference, allowing for rows that belong together."""
    found = OPS["clustered_mean"](
        values=[x - y for x, y in zip(a, b, strict=True)], clusters=clusters
    )
    return replace(
        plain,
        low=found["t_low"],
        high=found["t_high"],
        p_value=found["t_p"],
        method="clustered t",
        clusters=found["n_clusters"],
        reason=found["reason"],
    )


def _pass_or_fail(plain: Difference, a: Sequence[float], b: Sequence[float]) -> Difference:
    """Pass rates: only rows on which the two differ count, in an exact test (McNemar)."""
    both = sum(x == y == 1.0 for x, y in zip(a, b, strict=True))
    found = OPS["mcnemar"](both, plain.better, plain.worse, plain.same - both)
    return replace(plain, p_value=found["exact_p"], method="exact McNemar")
