"""Experiments: the list, one experiment with its runs, and evaluating it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from evaluators.kinds import Kind
from evaluators.registry import available
from experiments.errors import InvalidError
from experiments.models import Comparison, Evaluation, Experiment, Feedback, Provider, Run
from experiments.queries.evaluator_list import newest_evaluators
from experiments.queries.experiment_pages import (
    child_runs,
    experiment_page,
    run_page,
    run_rows,
    session_scores,
)
from experiments.queries.progress import progress_of
from experiments.services.comparisons import create_evaluation
from experiments.services.deletion import delete_experiment
from experiments.services.evaluators import configure_evaluator
from experiments.services.jobs import MAX_CONCURRENCY
from experiments.services.summaries import quick_rows
from experiments.tasks import start_job, start_summaries
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.datasets import paging_links, place_of, search_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.launching import MOST_SAVED, evaluator_choices
from tiebreak.web.steering import BudgetFields


def single_kinds() -> list[Kind]:
    """The kinds that score one output and need nothing that a form cannot give."""
    return [
        kind
        for kind in available()
        if kind.family == "string"
        and kind.available
        and not kind.needs_embeddings
        and not any(setting.required for setting in kind.settings)
    ]


class EvaluateForm(BudgetFields):
    """Score the outputs of an experiment without running its system again."""

    evaluator = forms.ChoiceField(label="Evaluator")
    provider = forms.ChoiceField(label="Model", required=False)
    max_concurrency = forms.IntegerField(
        label="Calls at once", min_value=1, max_value=MAX_CONCURRENCY, initial=8
    )

    def __init__(self, experiment: Experiment, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.experiment = experiment
        self.kinds = {kind.name: kind for kind in single_kinds()}
        rows = Provider.objects.filter(workspace=experiment.workspace_id, archived_at=None)
        self.providers = {str(row.uid): row for row in rows.order_by("name")}
        evaluator, provider = self.fields["evaluator"], self.fields["provider"]
        assert isinstance(evaluator, forms.ChoiceField)
        assert isinstance(provider, forms.ChoiceField)
        known = [one.name for one in available() if one.family == "string" and one.available]
        saved = newest_evaluators(experiment.workspace, known).order_by("name")[:MOST_SAVED]
        self.saved = {str(row.uid): row for row in saved}
        evaluator.choices = evaluator_choices(self.kinds.values(), self.saved)
        models = [(uid, f"{row.name} · {row.model}") for uid, row in self.providers.items()]
        provider.choices = [("", "None"), *models]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = self.kinds.get(cleaned.get("evaluator", ""))
        if kind and kind.needs_model and not cleaned.get("provider"):
            self.add_error("provider", "This evaluator asks a model: choose one.")
        return cleaned

    @transaction.atomic
    def launch(self, author: Any) -> Evaluation:
        """Queue the evaluation."""
        cleaned = self.cleaned_data
        evaluator = self.saved.get(cleaned["evaluator"]) or configure_evaluator(
            workspace=self.experiment.workspace,
            kind=cleaned["evaluator"],
            provider=self.providers.get(cleaned["provider"]),
        )
        evaluation = create_evaluation(
            experiment=self.experiment,
            evaluator=evaluator,
            max_concurrency=cleaned["max_concurrency"],
            budget=self.budget(),
            author=author,
        )
        start_job(evaluation.job)
        return evaluation


@require_GET
@needs(Role.VIEWER)
def experiment_list(request: HtmxHttpRequest) -> HttpResponse:
    """All experiments of the workspace, whatever their dataset."""
    q = search_of(request)
    rows = Experiment.objects.filter(workspace=request.workspace, dataset__isnull=False)
    page = experiment_page(rows, q=q, **place_of(request))
    shown = quick_rows(page.rows)
    context = {
        "section": "experiments",
        "rows": shown,
        "keys": sorted({key for row in shown for key in row.summary.metrics}),
        "polls": start_summaries(shown),
        "q": q,
        "with_dataset": True,
        **paging_links(request, page.newer, page.older),
    }
    return render_page(request, "experiments/list.html", context, partial="list")


@require_GET
@needs(Role.VIEWER)
def experiment_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """One experiment: what its runs come to, and the runs."""
    experiment = access.experiment(request.workspace, uid)
    return _detail(request, experiment, EvaluateForm(experiment))


def _detail(request: HtmxHttpRequest, experiment: Experiment, form: EvaluateForm) -> HttpResponse:
    q, status = search_of(request), request.GET.get("status", "")
    page, rows = run_page(experiment, q=q, status=status, **place_of(request))
    evaluations = experiment.evaluations.select_related("job", "evaluator").order_by("-pk")[:10]
    jobs = [(row, progress_of(row.job)) for row in evaluations]
    (summed,) = quick_rows([experiment])
    behind = start_summaries([summed])
    context = {
        "section": "datasets" if experiment.dataset else "experiments",
        "experiment": experiment,
        "dataset": experiment.dataset,
        "summed": summed,
        "session_scores": session_scores(experiment),
        "rows": rows,
        "keys": sorted({key for row in rows for key in row.feedback}),
        "q": q,
        "status": status,
        "statuses": Run.Status.choices,
        "form": form,
        "kinds": form.kinds.values(),
        "jobs": jobs,
        "polls": behind or any(row.job.state in ("queued", "running") for row, _ in jobs),
        **paging_links(request, page.newer, page.older),
    }
    status_code = 422 if form.errors else 200
    return render_page(
        request, "experiments/detail.html", context, partial="runs", status=status_code
    )


@require_POST
@needs(Role.EDITOR)
def experiment_evaluate(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Launch an evaluator over the experiment's outputs."""
    experiment = access.experiment(request.workspace, uid)
    form = EvaluateForm(experiment, request.POST)
    if form.is_valid():
        try:
            evaluation = form.launch(request.user)
        except InvalidError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, f"{evaluation.evaluator.name} is queued.")
            return HttpResponseRedirect(reverse("experiment_detail", args=[uid]))
    return _detail(request, experiment, form)


@require_GET
@needs(Role.VIEWER)
def run_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """One run with its trace and feedback."""
    run = access.run(request.workspace, uid)
    context = {
        "section": "experiments",
        "run": run,
        "experiment": run.experiment,
        "row": run_rows(run.experiment, [run])[0],
        "children": child_runs(run),
    }
    return render_page(request, "experiments/run.html", context, partial="page")


@needs(Role.EDITOR)
def experiment_delete(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Ask first, saying what goes; then delete."""
    experiment = access.experiment(request.workspace, uid)
    if request.method != "POST":
        context = {
            "section": "experiments",
            "title": f"Delete {experiment.name}?",
            "goes": {
                "runs": Run.objects.filter(experiment=experiment).count(),
                "scores": Feedback.objects.filter(experiment=experiment).count(),
            },
            "stays": _stays(experiment),
            "back": reverse("experiment_detail", args=[uid]),
        }
        return render_page(request, "components/confirm_delete.html", context, partial="page")
    dataset = experiment.dataset
    delete_experiment(experiment)
    messages.success(request, f"{experiment.name} was deleted.")
    target = reverse("dataset_experiments", args=[dataset.uid]) if dataset else "/experiments"
    return HttpResponseRedirect(target)


def _stays(experiment: Experiment) -> str:
    count = Comparison.objects.filter(sides__experiment=experiment).distinct().count()
    if not count:
        return ""
    return f"{count} pairwise experiments keep their verdicts, but lose these outputs."
