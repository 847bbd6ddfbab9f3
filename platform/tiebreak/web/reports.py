"""The report below a comparison's verdict."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from experiments.models import Comparison, ComparisonEvaluator, ComparisonSide
from experiments.queries.judging_report import Report
from experiments.queries.mirroring import mirrored_report
from experiments.services.reports import quick_report
from experiments.tasks import start_report
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import one_of
from tiebreak.web.charts import parts_chart, running_chart, swaps_chart
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs


@require_GET
@needs(Role.VIEWER)
def comparison_report(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """One evaluator's report: a page of its own, or the part that the comparison's page loads."""
    context = report_context(access.comparison(request.workspace, uid), request.GET)
    return render_page(request, "comparisons/report.html", context, partial="report")


def report_context(comparison: Comparison, query: QueryDict) -> dict[str, Any]:
    """What the report shows of the evaluator in the address, else of the first."""
    evaluators = {row.key: row for row in comparison.evaluators.select_related("evaluator")}
    first = next(iter(evaluators), "")
    evaluator = evaluators.get(one_of(query, "ev", evaluators, first))
    swap = query.get("swap") == "1"
    return {
        "section": "datasets",
        "comparison": comparison,
        "dataset": comparison.dataset,
        "sides": sides_of(comparison, swap=swap),
        "swap": swap,
        "evaluator": evaluator,
        "judging": comparison.job is not None and comparison.job.is_open,
        **(_numbers(comparison, evaluator, swap=swap) if evaluator else {}),
    }


def sides_of(comparison: Comparison, *, swap: bool) -> list[ComparisonSide]:
    """The sides in their order; with `swap` the first two change places."""
    sides = list(comparison.sides.all())
    return [*sides[1::-1], *sides[2:]] if swap else sides


def _numbers(
    comparison: Comparison, evaluator: ComparisonEvaluator, *, swap: bool
) -> dict[str, Any]:
    evaluator.comparison = comparison
    found = quick_report(evaluator)
    if found is None or not found.fresh:
        start_report(evaluator)
    if found is None:
        return {"adding_up": True}
    report = mirrored_report(found.report) if swap else found.report
    return {"adding_up": not found.fresh, "added_up_at": found.added_up_at, **_plots(report)}


def _plots(report: Report) -> dict[str, Any]:
    running = report.running
    return {
        "report": report,
        "running_chart": running_chart(running) if running.rows else "",
        "swap_chart": swaps_chart(report.swaps) if report.swaps else "",
        "slice_charts": [
            (name, key, parts, parts_chart(parts))
            for name, key, parts in [
                ("Split", "split", report.splits),
                *((one.key, f"meta.{one.key}", one.parts) for one in report.slices),
            ]
            if len(parts) > 1
        ],
        "length_chart": parts_chart(report.lengths) if report.lengths else "",
        "checkpoints": list(
            zip(running.rows, running.rate, running.low, running.high, strict=True)
        ),
    }
