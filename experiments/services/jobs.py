"""The states of a job, and the only ways from one to another."""

import contextlib

from django.db import transaction
from django.utils import timezone

from experiments.errors import ConflictError
from experiments.models import Comparison, Evaluation, Job, Lane, Outcome, QueueItem
from experiments.services.lanes import free_items, open_lanes
from experiments.services.planning import plan_comparison, plan_evaluation, requeue_failed
from tiebreak.accounts.models import User, Workspace

MAX_CONCURRENCY = 1024

MOVES: dict[str, tuple[set[str], str]] = {
    "start": ({Job.State.QUEUED}, Job.State.RUNNING),
    "pause": ({Job.State.QUEUED, Job.State.RUNNING}, Job.State.PAUSED),
    "resume": ({Job.State.PAUSED}, Job.State.RUNNING),
    "queue": ({Job.State.PAUSED}, Job.State.QUEUED),
    "cancel": ({Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED}, Job.State.CANCELLED),
    "retry": (
        {Job.State.COMPLETE, Job.State.CANCELLED, Job.State.FAILED, Job.State.PAUSED},
        Job.State.RUNNING,
    ),
    "complete": ({Job.State.RUNNING}, Job.State.COMPLETE),
    "fail": ({Job.State.QUEUED, Job.State.RUNNING}, Job.State.FAILED),
}
SAID = {"queue": "resume"}
ENDED = {Job.State.COMPLETE, Job.State.CANCELLED, Job.State.FAILED}


def create_job(*, workspace: Workspace, max_concurrency: int, author: User | None) -> Job:
    """A job that waits to be planned."""
    return Job.objects.create(workspace=workspace, max_concurrency=max_concurrency, author=author)


def move(job: Job, step: str, *, error: str = "") -> Job:
    """Take one allowed step, or say why it is not allowed."""
    allowed, target = MOVES[step]
    moment = timezone.now()
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if locked.state not in allowed:
            state = locked.get_state_display().lower()
            raise ConflictError(f"Cannot {SAID.get(step, step)}: it is {state}.")
        locked.state = target
        locked.error = error
        locked.touched_at = moment
        locked.started_at = locked.started_at or (moment if step == "start" else None)
        locked.finished_at = moment if target in ENDED else None
        locked.save()
    return locked


@transaction.atomic
def plan(job: Job) -> list[Lane]:
    """Queue a job's work and open its lanes; asked twice, the second does nothing."""
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.state != Job.State.QUEUED:
        return []
    comparison = Comparison.objects.filter(job=job).first()
    if comparison is not None:
        plan_comparison(comparison, job)
    else:
        plan_evaluation(Evaluation.objects.get(job=job), job)
    job = move(job, "start")
    return list(open_lanes(job)) if not complete_if_done(job) else []


def resume(job: Job) -> list[Lane]:
    """Let a paused job go on; one that was paused before it was planned is planned first."""
    if job.planned:
        return list(open_lanes(move(job, "resume")))
    move(job, "queue")
    return plan(job)


@transaction.atomic
def retry(job: Job) -> list[Lane]:
    """Judge again what failed or was left when the job was cancelled, and nothing else."""
    job = move(job, "retry")
    comparison = Comparison.objects.filter(job=job).first()
    if comparison is not None:
        requeue_failed(comparison, job)
    return list(open_lanes(job)) if not complete_if_done(job) else []


def complete_if_done(job: Job) -> bool:
    """Mark a job complete when nothing is left in its queue; say whether it has ended."""
    if QueueItem.objects.filter(job=job).exists():
        return False
    with contextlib.suppress(ConflictError):
        move(job, "complete")
    return True


def stop_asking(job: Job, reason: str) -> None:
    """Pause a job whose calls all fail, and say why; what it has stays."""
    try:
        move(job, "pause", error=reason)
    except ConflictError:
        return
    free_items(job)


def has_succeeded(job: Job) -> bool:
    """Whether any judgment of this job has come to a verdict yet."""
    comparison = Comparison.objects.filter(job=job).first()
    if comparison is None:
        return QueueItem.objects.filter(job=job).count() < job.total
    unsettled = (Outcome.PENDING, Outcome.FAILED, Outcome.MISSING)
    return comparison.judgments.exclude(outcome__in=unsettled).exists()
