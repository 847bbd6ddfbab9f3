"""The report of a comparison as it was added up last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from experiments.models import ComparisonEvaluator, JudgingReport
from experiments.queries.judging_report import Report
from experiments.rawjson import loads


@dataclass(frozen=True)
class StoredReport:
    """A report, when it was added up, and whether that was after the last verdict."""

    report: Report
    added_up_at: datetime
    fresh: bool


def stored_report(evaluator: ComparisonEvaluator) -> StoredReport | None:
    """The report kept of this evaluator, in one query; None before the first, or of older shape."""
    found = JudgingReport.objects.filter(evaluator=evaluator).select_related("evaluator").first()
    if found is None:
        return None
    try:
        report = Report.from_dict(loads(found.body))
    except (KeyError, TypeError):
        return None
    fresh = not found.evaluator.report_stale and found.added_up_at == found.begun_at
    return StoredReport(report, found.added_up_at, fresh=fresh)
