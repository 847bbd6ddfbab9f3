"""What goes on while a comparison is judged, and what may be done about it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.models import Comparison, ComparisonEvaluator, Job
from experiments.queries.outcome_counts import OutcomeCounts
from experiments.queries.progress import failures_by_kind, progress_of
from experiments.queries.verdict_card import race_of
from experiments.services.budgets import Budget
from experiments.services.jobs import allowed_steps
from experiments.tasks import set_budget, steer
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.http import HtmxHttpRequest, needs

# What a step is called on its button, and what is said when it was taken.
STEPS: dict[str, tuple[str, str]] = {
    "pause": ("Pause", "Paused. Calls in flight are kept."),
    "resume": ("Resume", "Going on."),
    "cancel": ("Cancel", "Cancelled. What was judged stays."),
    "retry": ("Judge again what failed", "Judging what failed or was left."),
    "rejudge": ("Judge again what the order changed", "Judging again what the order changed."),
    "extend": ("Add what came since", "Judging what came since, if anything did."),
}


class BudgetFields(forms.Form):
    """The most that judging may take; both empty for no limit."""

    max_calls = forms.IntegerField(
        label="Most calls", required=False, min_value=1, max_value=1_000_000_000
    )
    max_cost = forms.DecimalField(
        label="Most US dollars",
        required=False,
        min_value=Decimal("0.0001"),
        max_value=Decimal(1_000_000_000),
        max_digits=20,
        decimal_places=10,
    )

    def budget(self) -> Budget:
        return Budget(self.cleaned_data["max_calls"], self.cleaned_data["max_cost"])


def job_context(
    comparison: Comparison, evaluator: ComparisonEvaluator, counts: OutcomeCounts
) -> dict[str, Any]:
    """How far judging is, what it took, what failed, and the steps that can be taken now."""
    job = comparison.job
    if job is None:
        return {"progress": None}
    return {
        "progress": progress_of(job),
        "failures": failures_by_kind(evaluator.pk) if counts.failed else [],
        "early_stop": race_of(evaluator),
        "steps": [(step, STEPS[step][0]) for step in useful_steps(job, counts)],
        "may_set_budget": job.state != Job.State.COMPLETE,
    }


def useful_steps(job: Job, counts: OutcomeCounts) -> list[str]:
    """The allowed steps that would change something; what a paused job left is left to resume."""
    useless = {
        "retry": job.state == Job.State.PAUSED
        or not (counts.failed or counts.pending or job.state == Job.State.FAILED),
        "rejudge": not counts.order_changed,
        "extend": job.state == Job.State.PAUSED,
    }
    return [step for step in allowed_steps(job) if not useless.get(step)]


@require_POST
@needs(Role.EDITOR)
def comparison_step(request: HtmxHttpRequest, uid: UUID, step: str) -> HttpResponse:
    """Pause, resume, cancel, judge again, or add what came since."""
    comparison = access.comparison(request.workspace, uid)
    if _take(request, comparison.job, step):
        messages.success(request, STEPS[step][1])
    return HttpResponseRedirect(reverse("comparison_detail", args=[uid]))


def _take(request: HtmxHttpRequest, job: Job | None, step: str) -> bool:
    """Take a step; one that cannot be taken now is told, one that does not exist is 404."""
    if step not in STEPS:
        raise Http404("There is no such step")
    try:
        steer(job, step)
    except ConflictError as error:
        messages.error(request, str(error))
        return False
    return True


@require_POST
@needs(Role.EDITOR)
def comparison_budget(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Set the budget; a comparison that waited for it goes on."""
    comparison = access.comparison(request.workspace, uid)
    form = BudgetFields(request.POST)
    try:
        if form.is_valid():
            set_budget(comparison.job, form.budget())
            messages.success(request, "The budget is set.")
        for field, errors in form.errors.items():
            messages.error(request, f"{form.fields[field].label}: {' '.join(map(str, errors))}")
    except (ConflictError, InvalidError) as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(reverse("comparison_detail", args=[uid]))


@require_POST
@needs(Role.EDITOR)
def evaluation_step(request: HtmxHttpRequest, uid: UUID, step: str) -> HttpResponse:
    """Pause, resume or cancel an evaluation, or score again what failed."""
    evaluation = access.evaluation(request.workspace, uid)
    _take(request, evaluation.job, step)
    target = reverse("experiment_detail", args=[evaluation.experiment.uid])
    return HttpResponseRedirect(target)
