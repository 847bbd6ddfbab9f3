"""The report below a comparison's verdict."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from experiments.models import Comparison
from experiments.queries.judging_report import Report, report_of
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import one_of
from tiebreak.web.charts import parts_chart, running_chart
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs


@require_GET
@needs(Role.VIEWER)
def comparison_report(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """One evaluator's report: a page of its own, or the part that the comparison's page loads."""
    comparison = access.comparison(request.workspace, uid)
    evaluators = {row.key: row for row in comparison.evaluators.select_related("evaluator")}
    first = next(iter(evaluators), "")
    evaluator = evaluators.get(one_of(request.GET, "ev", evaluators, first))
    context = {
        "section": "datasets",
        "comparison": comparison,
        "dataset": comparison.dataset,
        "sides": list(comparison.sides.all()),
        "evaluator": evaluator,
        **(_numbers(comparison, report_of(comparison, evaluator)) if evaluator else {}),
    }
    return render_page(request, "comparisons/report.html", context, partial="report")


def _numbers(comparison: Comparison, report: Report) -> dict[str, Any]:
    return {
        "report": report,
        "running_chart": running_chart(report.running) if report.running.rows else "",
        "split_chart": parts_chart(report.splits) if report.splits else "",
        "length_chart": parts_chart(report.lengths) if report.lengths else "",
        "checkpoints": list(
            zip(
                report.running.rows,
                report.running.rate,
                report.running.low,
                report.running.high,
                strict=True,
            )
        ),
        "judging": comparison.job is not None and comparison.job.is_open,
    }
