"""Writes of feedback: stored once per id, and kept when its run has not come yet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from experiments.models import Comparison, Experiment, Feedback, Run
from experiments.services import judgments
from experiments.services.feedback_configs import note_configs
from tiebreak.accounts.models import Workspace

DEFAULT_SOURCE = '{"type":"api"}'


@dataclass
class FeedbackEntry:
    """Feedback as it comes in; texts are JSON. `experiment_uid` is what the client named."""

    uid: UUID
    key: str
    run_uid: UUID | None = None
    trace_uid: UUID | None = None
    experiment_uid: UUID | None = None
    score: float | None = None
    score_text: str | None = None
    value: str | None = None
    comment: str | None = None
    correction: str | None = None
    source: str = DEFAULT_SOURCE
    source_type: str = "api"
    extra: str | None = None
    is_error: bool = False
    comparison_uid: UUID | None = None
    group_uid: UUID | None = None
    created_at: datetime | None = None
    modified_at: datetime | None = None
    config: str | None = None


_REPLACED = [
    "run_uid",
    "trace_uid",
    "experiment",
    "key",
    "score",
    "score_text",
    "value",
    "comment",
    "correction",
    "source_type",
    "source",
    "extra",
    "is_error",
    "comparison_uid",
    "group_uid",
    "modified_at",
]


def store_feedback(*, workspace: Workspace, entries: Sequence[FeedbackEntry]) -> list[Feedback]:
    """Store feedback and make judgments of what names a comparison; sent twice, it is one."""
    with transaction.atomic():
        rows = write_feedback(workspace, entries)
    link_feedback(workspace, run_uids={row.run_uid for row in rows if row.run_uid})
    return rows


def write_feedback(workspace: Workspace, entries: Sequence[FeedbackEntry]) -> list[Feedback]:
    """The part of storing that belongs into one transaction with the runs of the same request."""
    latest = {entry.uid: entry for entry in entries}
    entries = [latest[uid] for uid in sorted(latest)]
    if not entries:
        return []
    runs = _runs(workspace, {e.run_uid for e in entries if e.run_uid})
    experiments = _experiments(workspace, {e.experiment_uid for e in entries if e.experiment_uid})
    rows = [_row(workspace, entry, runs, experiments) for entry in entries]
    Feedback.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["workspace", "uid"],
        update_fields=_REPLACED,
        batch_size=1000,
    )
    note_configs(workspace, {e.key: e.config for e in entries if e.config})
    compared = [row.pk for row in rows if row.comparison_uid]
    if compared:
        judgments.settle_feedback(workspace=workspace, feedback_ids=compared)
    return rows


def _runs(workspace: Workspace, uids: set[UUID]) -> dict[UUID, Run]:
    rows = Run.objects.filter(workspace=workspace, uid__in=uids)
    return {run.uid: run for run in rows.only("uid", "trace_uid", "experiment_id")}


def _experiments(workspace: Workspace, uids: set[UUID]) -> dict[UUID, int]:
    rows = Experiment.objects.filter(workspace=workspace, uid__in=uids)
    return dict(rows.values_list("uid", "pk"))


def _row(
    workspace: Workspace,
    entry: FeedbackEntry,
    runs: dict[UUID, Run],
    experiments: dict[UUID, int],
) -> Feedback:
    run = runs.get(entry.run_uid) if entry.run_uid else None
    named = experiments.get(entry.experiment_uid) if entry.experiment_uid else None
    moment = timezone.now()
    return Feedback(
        workspace=workspace,
        uid=entry.uid,
        run_uid=entry.run_uid,
        trace_uid=run.trace_uid if run else entry.trace_uid,
        experiment_id=run.experiment_id if run else named,
        key=entry.key,
        score=entry.score,
        score_text=entry.score_text,
        value=entry.value,
        comment=entry.comment,
        correction=entry.correction,
        source=entry.source,
        source_type=entry.source_type,
        extra=entry.extra,
        is_error=entry.is_error,
        comparison_uid=entry.comparison_uid,
        group_uid=entry.group_uid,
        created_at=entry.created_at or moment,
        modified_at=entry.modified_at or entry.created_at or moment,
    )


@transaction.atomic
def link_feedback(workspace: Workspace, run_uids: Iterable[UUID]) -> None:
    """Join feedback to runs that came after it.

    Called when the rows are committed: of two requests that could not see each other, one holding
    the run and one its feedback, the later one finds both.
    """
    unlinked = Q(trace_uid=None) | Q(experiment=None)
    waiting = Feedback.objects.filter(unlinked, workspace=workspace, run_uid__in=list(run_uids))
    runs = _runs(workspace, {uid for uid in waiting.values_list("run_uid", flat=True) if uid})
    for run in runs.values():
        rows = Feedback.objects.filter(workspace=workspace, run_uid=run.uid)
        rows.update(trace_uid=run.trace_uid, experiment=run.experiment_id)


def update_feedback(feedback: Feedback, changes: dict[str, object]) -> Feedback:
    """Change score, value, comment or correction; a judgment that hangs on it follows."""
    with transaction.atomic():
        Feedback.objects.filter(pk=feedback.pk).update(**changes, modified_at=timezone.now())
        if feedback.comparison_uid:
            judgments.settle_feedback(workspace=feedback.workspace, feedback_ids=[feedback.pk])
    feedback.refresh_from_db()
    return feedback


def known_comparisons(workspace: Workspace, uids: Iterable[UUID]) -> set[UUID]:
    rows = Comparison.objects.filter(workspace=workspace, uid__in=list(uids))
    return set(rows.values_list("uid", flat=True))
