"""What experiments come to in a line: runs, latency, tokens, cost and the mean of every score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from math import sqrt
from typing import Any

from django.db.models import Avg, Count
from django.db.models.aggregates import StdDev
from django.utils.dateparse import parse_datetime

from experiments.models import ExperimentSummary, Feedback
from experiments.queries.experiment_statistics import ExperimentStatistics, statistics_of
from experiments.rawjson import dumps, loads

# Two-sided 95% of the normal distribution.
Z = 1.959963984540054
_COSTS = ("total_cost", "prompt_cost", "completion_cost")


@dataclass(frozen=True)
class Metric:
    """The mean of one feedback key over the runs that have a score, and how far they scatter."""

    key: str
    mean: float
    n: int
    deviation: float | None = None

    @property
    def margin(self) -> float | None:
        """Half the width of the mean's 95% interval (normal); None below two scores."""
        if self.deviation is None or self.n < 2:
            return None
        return Z * self.deviation / sqrt(self.n)


@dataclass(frozen=True)
class Summary:
    """What an experiment came to at `added_up_at`; `fresh` when nothing came since."""

    statistics: ExperimentStatistics = field(default_factory=ExperimentStatistics)
    metrics: dict[str, Metric] = field(default_factory=dict)
    added_up_at: datetime | None = None
    fresh: bool = False

    def body(self) -> str:
        """As JSON, to be kept."""
        statistics = asdict(self.statistics)
        last = self.statistics.last_run_start_time
        statistics["last_run_start_time"] = last.isoformat() if last else None
        for name in _COSTS:
            statistics[name] = None if statistics[name] is None else str(statistics[name])
        metrics = [asdict(metric) for metric in self.metrics.values()]
        return dumps({"statistics": statistics, "metrics": metrics})

    @classmethod
    def from_body(cls, body: str) -> Summary:
        """Raises KeyError or TypeError for what an older version kept."""
        kept: dict[str, Any] = loads(body)
        statistics = dict(kept["statistics"])
        last = statistics["last_run_start_time"]
        statistics["last_run_start_time"] = parse_datetime(last) if last else None
        for name in _COSTS:
            statistics[name] = None if statistics[name] is None else Decimal(statistics[name])
        metrics = [Metric(**metric) for metric in kept["metrics"]]
        return cls(ExperimentStatistics(**statistics), {metric.key: metric for metric in metrics})


def stored_summaries(ids: Sequence[int]) -> dict[int, Summary]:
    """By experiment, in one query; what was never added up is left out."""
    found = {}
    for row in ExperimentSummary.objects.filter(experiment__in=ids, added_up_at__isnull=False):
        try:
            summary = Summary.from_body(row.body)
        except (KeyError, TypeError):
            continue
        fresh = not row.stale and row.added_up_at == row.begun_at
        found[row.pk] = replace(summary, added_up_at=row.added_up_at, fresh=fresh)
    return found


def counted_summaries(ids: Sequence[int]) -> dict[int, Summary]:
    """By experiment, added up from the rows: three queries, in time with the runs."""
    statistics, metrics = statistics_of(ids), _mean_scores(ids)
    return {pk: Summary(statistics[pk], metrics.get(pk, {})) for pk in ids}


def _mean_scores(ids: Sequence[int]) -> dict[int, dict[str, Metric]]:
    """Mean scores on runs by experiment and key; errors and pairwise verdicts are left out."""
    rows = (
        Feedback.objects.filter(
            experiment__in=ids,
            score__isnull=False,
            is_error=False,
            comparison_uid=None,
            run_uid__isnull=False,
        )
        .values_list("experiment", "key")
        .annotate(mean=Avg("score"), n=Count("pk"), deviation=StdDev("score", sample=True))
        .order_by("key")
    )
    found: dict[int, dict[str, Metric]] = {}
    for experiment, key, mean, n, deviation in rows:
        if experiment is not None and mean is not None:
            found.setdefault(experiment, {})[key] = Metric(key, mean, n, deviation)
    return found
