"""How far a job has come, what it took, and whether anybody is working on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Count, Max, Q, Sum
from django.utils import timezone

from experiments.models import Game, Job, Lane, Pace, QueueItem, WorkerSign

STALLED_AFTER = timedelta(seconds=60)
UNNOTICED_AFTER = timedelta(seconds=15)
# Workers give a sign every ten seconds.
SILENT_AFTER = timedelta(seconds=45)
KINDS = {
    "rate_limit": "Rate limit",
    "timeout": "Too late",
    "too_long": "Prompt too long",
    "key": "Key refused",
    "provider": "Server failed",
    "unreadable": "Unreadable reply",
    "error": "Other error",
}


@dataclass(frozen=True)
class Usage:
    """What a job's calls took; `money` in US dollars, `unpriced` calls are not part of it."""

    calls: int
    money: Decimal
    unpriced: int
    tokens: int
    budget_calls: int | None
    budget_money: Decimal | None


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
    has_worker: bool
    waits_until: datetime | None
    error: str
    cause: str
    usage: Usage

    @property
    def share(self) -> float:
        """Per cent done, for the bar."""
        return 100 * self.done / self.total if self.total else 0.0


def progress_of(job: Job) -> Progress:
    """Progress from the queue: what is no longer in it is done."""
    left = QueueItem.objects.filter(job=job).count() if job.planned else 0
    total = max(job.total, left)
    rate = _rate(job, left)
    running = job.state in (Job.State.QUEUED, Job.State.RUNNING)
    return Progress(
        state=job.state,
        label=job.get_state_display(),
        total=total,
        done=total - left,
        rate=rate,
        seconds_left=left / rate if rate and running else None,
        is_stalled=running and timezone.now() - job.touched_at > _patience(job),
        has_worker=not running or is_worker_alive(),
        waits_until=_waits_until(job) if running else None,
        error=job.error,
        cause=job.cause,
        usage=usage_of_job(job),
    )


def is_worker_alive() -> bool:
    """Whether any worker gave a sign of life lately."""
    return WorkerSign.objects.filter(seen_at__gt=timezone.now() - SILENT_AFTER).exists()


def usage_of_job(job: Job) -> Usage:
    """What all calls of a job took, failed ones included."""
    names = ("calls", "money", "unpriced", "prompt_tokens", "completion_tokens")
    sums = Lane.objects.filter(job=job).aggregate(**{f"sum_{name}": Sum(name) for name in names})
    return Usage(
        calls=sums["sum_calls"] or 0,
        money=sums["sum_money"] or Decimal(0),
        unpriced=sums["sum_unpriced"] or 0,
        tokens=(sums["sum_prompt_tokens"] or 0) + (sums["sum_completion_tokens"] or 0),
        budget_calls=job.budget_calls,
        budget_money=job.budget_money,
    )


def _patience(job: Job) -> timedelta:
    """A queued job that nobody takes for some seconds means that no worker runs."""
    return UNNOTICED_AFTER if job.started_at is None else STALLED_AFTER


def _rate(job: Job, left: int) -> float | None:
    """Items a second since the job was last set going."""
    if job.paced_from is None or left >= job.paced_left:
        return None
    spent = ((job.finished_at or timezone.now()) - job.paced_from).total_seconds()
    return (job.paced_left - left) / spent if spent > 0 else None


def _waits_until(job: Job) -> datetime | None:
    """Until when a provider of this job asked to be left alone; None when none does."""
    ours = Q(provider__evaluators__comparison_evaluators__comparison__job=job) | Q(
        provider__evaluators__evaluations__job=job
    )
    blocked = Pace.objects.filter(ours, blocked_until__gt=timezone.now())
    until: datetime | None = blocked.aggregate(until=Max("blocked_until"))["until"]
    return until


@dataclass(frozen=True)
class FailureKind:
    """Failed verdicts of one kind: what people call it, one of the messages, how many."""

    kind: str
    label: str
    message: str
    count: int


def failures_by_kind(evaluator_id: int) -> list[FailureKind]:
    """Verdicts that have failed, grouped by what failed last, the most frequent kind first."""
    rows = (
        Game.objects.filter(judgment__evaluator=evaluator_id, judgment__outcome="failed")
        .exclude(error_kind="")
        .values_list("error_kind")
        .annotate(count=Count("judgment", distinct=True), message=Max("error"))
        .order_by("-count", "error_kind")
    )
    return [
        FailureKind(kind, KINDS.get(kind, kind), message, count) for kind, count, message in rows
    ]
