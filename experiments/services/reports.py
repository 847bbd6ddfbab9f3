"""Reports of comparisons, added up once and kept until another verdict comes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from experiments.models import ComparisonEvaluator, Job, JudgingReport
from experiments.queries.judging_report import Report, report_of
from experiments.queries.outcome_counts import outcome_counts
from experiments.queries.stored_report import StoredReport, stored_report
from experiments.rawjson import dumps

REPORT_LOCK = 0x7265706F
# What is kept of a report before the first was added up.
UNKNOWN, NEVER = "{}", datetime(1970, 1, 1, tzinfo=UTC)
# While verdicts come in, a report is not added up more often than this.
PATIENCE = timedelta(seconds=20)
# So many verdicts are added up in less time than anybody notices; more is work for a worker.
ADDED_UP_AT_ONCE = 5_000


def outdate(evaluator_ids: Iterable[int]) -> None:
    """Note, at the end of a transaction that changes verdicts, that their reports are behind.

    The shared lock lets writers pass each other and makes `add_up` wait for those under way.
    """
    ids = sorted(set(evaluator_ids))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock_shared(%s, hashint8(id)) FROM unnest(%s::int8[]) id",
            [REPORT_LOCK, ids],
        )
    ComparisonEvaluator.objects.filter(pk__in=ids, report_stale=False).update(report_stale=True)


def due(job_id: int) -> list[int]:
    """Evaluators whose comparison this job has finished, with verdicts since their last report."""
    rows = ComparisonEvaluator.objects.filter(
        comparison__job=job_id, comparison__job__state=Job.State.COMPLETE, report_stale=True
    )
    return list(rows.values_list("pk", flat=True))


def refresh(evaluator_id: int) -> None:
    """Add up a report that is behind, unless that was begun a moment ago."""
    evaluator = (
        ComparisonEvaluator.objects.filter(pk=evaluator_id).select_related("comparison").first()
    )
    if evaluator is None:
        return
    found = stored_report(evaluator)
    begun = JudgingReport.objects.filter(
        evaluator=evaluator, begun_at__gt=timezone.now() - PATIENCE
    ).exclude(begun_at=F("added_up_at"))
    recent = found is not None and found.added_up_at > timezone.now() - PATIENCE
    job = evaluator.comparison.job
    waits = begun.exists() or (recent and job is not None and job.is_open)
    if (found is None or not found.fresh) and not waits:
        add_up(evaluator)


def add_up(evaluator: ComparisonEvaluator) -> Report:
    """Add up the report of an evaluator and keep it, unless a later one is there already."""
    begun = timezone.now()
    try:
        _begin(evaluator, begun)
    except IntegrityError:
        # The comparison was deleted meanwhile.
        return report_of(evaluator.comparison, evaluator)
    report = report_of(evaluator.comparison, evaluator)
    kept = JudgingReport.objects.filter(evaluator=evaluator, added_up_at__lt=begun)
    kept.update(body=dumps(report.as_dict()), added_up_at=begun)
    return report


@transaction.atomic
def _begin(evaluator: ComparisonEvaluator, begun: datetime) -> None:
    """Wait for verdicts that are being written; those that come later make it stale again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s, hashint8(%s))", [REPORT_LOCK, evaluator.pk]
        )
    ComparisonEvaluator.objects.filter(pk=evaluator.pk).update(report_stale=False)
    JudgingReport.objects.bulk_create(
        [JudgingReport(evaluator=evaluator, body=UNKNOWN, begun_at=begun, added_up_at=NEVER)],
        update_conflicts=True,
        unique_fields=["evaluator"],
        update_fields=["begun_at"],
    )


def current_report(evaluator: ComparisonEvaluator) -> Report:
    """The report of all verdicts until now, however long that takes to add up."""
    found = stored_report(evaluator)
    return found.report if found and found.fresh else add_up(evaluator)


def quick_report(
    evaluator: ComparisonEvaluator, *, judged: int | None = None
) -> StoredReport | None:
    """What can be shown at once; None, or one that is not fresh, when a worker must add it up.

    `judged` says how many verdicts there are, where the caller knows already.
    """
    found = stored_report(evaluator)
    if found and found.fresh:
        return found
    if (outcome_counts(evaluator).judged if judged is None else judged) > ADDED_UP_AT_ONCE:
        return found
    return StoredReport(add_up(evaluator), timezone.now(), fresh=True)
