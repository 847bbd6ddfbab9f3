"""The states of a job, and the only ways from one to another."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from experiments.errors import ConflictError, InvalidError
from experiments.models import (
    Comparison,
    Evaluation,
    Evaluator,
    Feedback,
    Job,
    Judgment,
    Lane,
    Outcome,
    QueueItem,
)
from experiments.services.budgets import Budget, check_budget, has_room
from experiments.services.lanes import open_lanes
from experiments.services.planning import (
    learn_sizes,
    plan_comparison,
    plan_evaluation,
    requeue,
    requeue_failed_runs,
    requeue_one,
    take_in_what_came,
)
from experiments.services.stopping import JUDGED, go_on, halted
from tiebreak.accounts.models import User, Workspace

MAX_CONCURRENCY = 1024
State = Job.State
OPEN = (State.QUEUED, State.RUNNING, State.PAUSED)
ENDED = (State.CANCELLED, State.COMPLETE, State.FAILED)
AT_REST = (State.PAUSED, *ENDED)

# Every step, the states it may be taken in, and where it leads. What leads to RUNNING leads to
# QUEUED as long as the job is not planned.
MOVES: Mapping[str, tuple[tuple[State, ...], State]] = {
    "start": ((State.QUEUED,), State.RUNNING),
    "pause": ((State.QUEUED, State.RUNNING), State.PAUSED),
    "resume": ((State.PAUSED,), State.RUNNING),
    "cancel": (OPEN, State.CANCELLED),
    "retry": (AT_REST, State.RUNNING),
    "rejudge": (AT_REST, State.RUNNING),
    "extend": (AT_REST, State.QUEUED),
    "complete": ((State.RUNNING,), State.COMPLETE),
    "fail": ((State.QUEUED, State.RUNNING), State.FAILED),
}
# The steps that people and scripts may take.
STEPS = ("pause", "resume", "cancel", "retry", "rejudge", "extend")
# Those that only a comparison knows.
OF_PAIRS = frozenset({"rejudge", "extend"})


def allowed_steps(job: Job) -> list[str]:
    """What a person may do with a job in its state."""
    possible = [step for step in STEPS if job.state in MOVES[step][0]]
    if not OF_PAIRS.isdisjoint(possible) and not Comparison.objects.filter(job=job).exists():
        return [step for step in possible if step not in OF_PAIRS]
    return possible


def _possible(job: Job) -> str:
    return ", ".join(allowed_steps(Job.objects.get(pk=job.pk))) or "nothing"


def create_job(
    *,
    workspace: Workspace,
    max_concurrency: int,
    budget: Budget,
    author: User | None,
) -> Job:
    """A job that waits to be planned."""
    return Job.objects.create(
        workspace=workspace,
        max_concurrency=max_concurrency,
        budget_calls=budget.calls,
        budget_money=budget.money,
        author=author,
    )


def move(job: Job, step: str, *, error: str = "", cause: Job.Cause = Job.Cause.NONE) -> Job:
    """Take one allowed step, or say why it is not allowed."""
    allowed, target = MOVES[step]
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if locked.state not in allowed:
            state = locked.get_state_display().lower()
            raise ConflictError(f"Cannot {step}: it is {state}. Possible now: {_possible(locked)}.")
        if target == State.RUNNING and not locked.planned:
            target = State.QUEUED
        moment = timezone.now()
        locked.state, locked.error, locked.cause = target, error, cause
        locked.touched_at = moment
        locked.finished_at = moment if target in ENDED else None
        if target == State.RUNNING:
            locked.started_at = locked.started_at or moment
        locked.save()
    return locked


def steer(job: Job, step: str) -> list[Lane]:
    """Take a step that somebody asked for; the lanes that now need a message."""
    if step not in STEPS:
        raise InvalidError("step", f"must be one of {', '.join(STEPS)}")
    with transaction.atomic():
        comparison = Comparison.objects.filter(job=job).first()
        if step in OF_PAIRS and comparison is None:
            raise ConflictError(
                f"Cannot {step}: this job scores single outputs. Possible now: {_possible(job)}."
            )
        was_paused = Job.objects.filter(pk=job.pk, state=State.PAUSED).exists()
        if step == "rejudge":
            _leave_the_rest(job)
        job = move(job, step)
        if step == "extend" and comparison is not None:
            go_on(comparison)
            take_in_what_came(comparison, job, goes_on=was_paused)
        elif step in ("retry", "rejudge") and job.planned:
            _requeue(job, comparison, step)
        return _go(job)


def rejudge_row(judgment: Judgment) -> list[Lane]:
    """Ask once more about one row; its earlier games stay, the verdict is that of the new ones."""
    comparison = judgment.comparison
    if comparison.job is None:
        raise ConflictError("A script judges this comparison; it cannot be asked from here.")
    if judgment.outcome in (Outcome.MISSING, Outcome.PENDING):
        raise ConflictError("Only a row that was judged can be judged again.")
    with transaction.atomic():
        _leave_the_rest(comparison.job)
        job = move(comparison.job, "rejudge")
        go_on(comparison)
        requeue_one(judgment, job)
        return _go(job)


def _leave_the_rest(job: Job) -> None:
    """What was left when a job ended is not asked because something else is judged again."""
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.state in ENDED and not job.planned:
        raise ConflictError("Nothing was judged yet that could be judged again.")
    if job.state in ENDED:
        QueueItem.objects.filter(job=job).delete()


def _requeue(job: Job, comparison: Comparison | None, step: str) -> None:
    if comparison is None:
        requeue_failed_runs(Evaluation.objects.get(job=job), job)
        return
    go_on(comparison)
    requeue(comparison, job, only_order_changed=step == "rejudge")


def _go(job: Job) -> list[Lane]:
    """Open the lanes of a running job, where something is to be done."""
    if job.state != State.RUNNING or complete_if_done(job):
        return []
    job.paced_from = timezone.now()
    job.paced_left = QueueItem.objects.filter(job=job).count()
    job.save(update_fields=["paced_from", "paced_left"])
    return list(open_lanes(job))


def plan(job: Job) -> list[Lane]:
    """Queue a job's work and open its lanes; asked twice, the second does nothing."""
    comparison = Comparison.objects.filter(job=job).first()
    if comparison is not None:
        learn_sizes(comparison)
    return _plan(job, comparison)


@transaction.atomic
def _plan(job: Job, comparison: Comparison | None) -> list[Lane]:
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.state != State.QUEUED:
        return []
    if comparison is not None:
        plan_comparison(comparison, job)
    else:
        plan_evaluation(Evaluation.objects.get(job=job), job)
    job.refresh_from_db()
    return _go(move(job, "start"))


def set_budget(job: Job, budget: Budget) -> list[Lane]:
    """Set a job's budget; one that paused because it was used up goes on if there is room now."""
    check_budget(budget, evaluators_of(job))
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        locked.budget_calls, locked.budget_money = budget.calls, budget.money
        locked.save(update_fields=["budget_calls", "budget_money"])
        waits = locked.state == State.PAUSED and locked.cause == Job.Cause.BUDGET
        return steer(locked, "resume") if waits and has_room(locked) else []


def evaluators_of(job: Job) -> list[Evaluator]:
    """The evaluators that a job asks, with their providers."""
    rows = Evaluator.objects.select_related("provider__fallback__fallback__fallback")
    of_job = Q(comparison_evaluators__comparison__job=job) | Q(evaluations__job=job)
    return list(rows.filter(of_job).distinct())


def complete_if_done(job: Job) -> bool:
    """Mark a job complete when nothing is left in its queue; say whether it has ended."""
    if QueueItem.objects.filter(job=job).exists():
        return False
    comparison = Comparison.objects.filter(job=job).first()
    is_certain = comparison is not None and bool(halted(comparison))
    with contextlib.suppress(ConflictError):
        move(job, "complete", cause=Job.Cause.CERTAIN if is_certain else Job.Cause.NONE)
    return True


def stop_asking(job: Job, reason: str, cause: Job.Cause) -> None:
    """Pause a job that cannot go on by itself, and say why; what it has stays."""
    with contextlib.suppress(ConflictError):
        move(job, "pause", error=reason, cause=cause)


def failures_so_far(job: Job) -> int:
    """How many verdicts have failed, as long as none of this job has come to anything; else 0."""
    comparison = Comparison.objects.filter(job=job).first()
    if comparison is None:
        evaluation = Evaluation.objects.select_related("evaluator").get(job=job)
        given = Feedback.objects.filter(
            experiment=evaluation.experiment_id,
            key=evaluation.evaluator.name,
            modified_at__gte=job.started_at or job.created_at,
        )
        return 0 if given.filter(is_error=False).exists() else given.count()
    judged = Judgment.objects.filter(evaluator__in=list(comparison.evaluators.all()))
    if judged.filter(outcome__in=JUDGED).exists():
        return 0
    return judged.filter(outcome=Outcome.FAILED).count()
