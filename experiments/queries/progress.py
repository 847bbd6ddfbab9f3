"""How far a job has come, and whether anybody is working on it."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count
from django.utils import timezone

from experiments.models import Game, Job, QueueItem

STALLED_AFTER = timedelta(seconds=60)
UNNOTICED_AFTER = timedelta(seconds=15)


@dataclass(frozen=True)
class Progress:
    """A job in numbers; `seconds_left` is None until there is a rate."""

    state: str
    label: str
    total: int
    done: int
    rate: float | None
    seconds_left: float | None
    is_stalled: bool
    error: str

    @property
    def share(self) -> float:
        """Per cent done, for the bar."""
        return 100 * self.done / self.total if self.total else 0.0


def progress_of(job: Job) -> Progress:
    """Progress from the queue: what is no longer in it is done."""
    left = QueueItem.objects.filter(job=job).count() if job.planned else 0
    total = max(job.total, left)
    done = total - left
    rate = _rate(job, done)
    running = job.state in (Job.State.QUEUED, Job.State.RUNNING)
    return Progress(
        state=job.state,
        label=job.get_state_display(),
        total=total,
        done=done,
        rate=rate,
        seconds_left=left / rate if rate and running else None,
        is_stalled=running and timezone.now() - job.touched_at > _patience(job),
        error=job.error,
    )


def _patience(job: Job) -> timedelta:
    """A queued job that nobody takes for some seconds means that no worker runs."""
    return UNNOTICED_AFTER if job.started_at is None else STALLED_AFTER


def _rate(job: Job, done: int) -> float | None:
    if job.started_at is None or not done:
        return None
    spent = ((job.finished_at or timezone.now()) - job.started_at).total_seconds()
    return done / spent if spent > 0 else None


def failures_by_kind(comparison_id: int) -> list[tuple[str, str, int]]:
    """Failed games grouped by kind: the kind, one message, how many."""
    rows = (
        Game.objects.filter(judgment__comparison=comparison_id, judgment__outcome="failed")
        .exclude(error_kind="")
        .values_list("error_kind", "error")
        .annotate(times=Count("pk"))
        .order_by("-times")[:20]
    )
    return [(kind, error, times) for kind, error, times in rows]
