"""What any set of runs comes to."""

from typing import Any

from django.db.models import (
    Aggregate,
    Count,
    F,
    FloatField,
    Max,
    Q,
    QuerySet,
    Sum,
)
from django.db.models.functions import Cast, Extract, Greatest

from experiments.models import Feedback, Run
from experiments.queries.feedback import Figures, figures

SECONDS = Greatest(
    0.0,
    Cast(Extract(F("end_time") - F("start_time"), "epoch"), FloatField()),
    output_field=FloatField(),
)


class Percentile(Aggregate):
    """A continuous percentile of a number."""

    template = "percentile_cont(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: Any, share: float, **extra: Any) -> None:
        super().__init__(expression, share=share, **extra)


def run_statistics(rows: QuerySet[Run]) -> dict[str, Any]:
    """Counts, latency, tokens and cost; runs without an end have no latency."""
    timed = Q(end_time__gte=F("start_time"))
    found = rows.order_by().aggregate(
        run_count=Count("pk"),
        error_count=Count("pk", filter=Q(status="error")),
        latency_p50=Percentile(SECONDS, 0.5, filter=timed),
        latency_p99=Percentile(SECONDS, 0.99, filter=timed),
        total_tokens=Sum("total_tokens"),
        prompt_tokens=Sum("prompt_tokens"),
        completion_tokens=Sum("completion_tokens"),
        total_cost=Sum("total_cost"),
        prompt_cost=Sum("prompt_cost"),
        completion_cost=Sum("completion_cost"),
        last_run_start_time=Max("start_time"),
    )
    failed = found.pop("error_count")
    found["error_rate"] = failed / found["run_count"] if found["run_count"] else None
    return found


def figures_of_set(rows: QuerySet[Run]) -> Figures:
    """Feedback on a set of runs, by key."""
    marks = Feedback.objects.filter(
        workspace__in=rows.values("workspace").distinct(),
        run_uid__in=rows.order_by().values("uid"),
        comparison_uid=None,
    )
    by_key: dict[str, list[Feedback]] = {}
    for row in marks.order_by("key", "pk").iterator():
        by_key.setdefault(row.key, []).append(row)
    return {key: figures(group) for key, group in by_key.items()}
