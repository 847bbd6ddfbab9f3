"""Annotation queues: made, filled, emptied."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from experiments.errors import ConflictError
from experiments.ids import uuid7
from experiments.models import AnnotationQueue, QueuedRun, Run
from experiments.services.datasets import clean_name
from tiebreak.accounts.models import Workspace


def create_queue(
    *,
    workspace: Workspace,
    name: str,
    uid: UUID | None = None,
    description: str | None = None,
    rubric_instructions: str | None = None,
    rubric_items: str | None = None,
) -> AnnotationQueue:
    """Create an empty queue."""
    if uid and AnnotationQueue.objects.filter(workspace=workspace, uid=uid).exists():
        raise ConflictError("An annotation queue with this id already exists.")
    return AnnotationQueue.objects.create(
        workspace=workspace,
        uid=uid or uuid7(),
        name=clean_name("name", name),
        description=description,
        rubric_instructions=rubric_instructions,
        rubric_items=rubric_items,
    )


def update_queue(queue: AnnotationQueue, **changes: Any) -> AnnotationQueue:
    """Change what is given."""
    if "name" in changes:
        changes["name"] = clean_name("name", changes["name"])
    for field, value in changes.items():
        setattr(queue, field, value)
    queue.modified_at = timezone.now()
    queue.save()
    return queue


def add_runs(*, queue: AnnotationQueue, run_uids: Sequence[UUID]) -> list[QueuedRun]:
    """Put runs at the end of a queue; one that is in it already keeps its place."""
    known = set(
        Run.objects.filter(workspace=queue.workspace_id, uid__in=run_uids).values_list(
            "uid", flat=True
        )
    )
    missing = [uid for uid in run_uids if uid not in known]
    if missing:
        raise LookupError(f"Run {missing[0]} not found")
    QueuedRun.objects.bulk_create(
        [QueuedRun(queue=queue, uid=uuid7(), run_uid=uid) for uid in dict.fromkeys(run_uids)],
        ignore_conflicts=True,
    )
    return list(queue.runs.filter(run_uid__in=run_uids).order_by("pk"))


def remove_run(*, queue: AnnotationQueue, run_uid: UUID) -> None:
    """Take a run out of a queue."""
    if not queue.runs.filter(run_uid=run_uid).delete()[0]:
        raise LookupError(f"Run {run_uid} is not in this queue")


def mark_reviewed(entry: QueuedRun, moment: datetime | None) -> QueuedRun:
    """Note that somebody has looked at a run, or that it is to be looked at again."""
    entry.reviewed_at = moment
    entry.save(update_fields=["reviewed_at"])
    return entry
