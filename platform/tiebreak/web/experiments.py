"""Experiments: the list, one experiment with its runs, and evaluating it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from experiments.models import Comparison, Experiment, Feedback, Run
from experiments.queries.baselines import baseline_of
from experiments.queries.experiment_pages import (
    child_runs,
    experiment_page,
    run_page,
    run_rows,
    session_scores,
)
from experiments.queries.progress import progress_of
from experiments.services.deletion import delete_experiment
from experiments.services.summaries import quick_rows
from experiments.tasks import start_summaries
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.attached import attached_file
from tiebreak.web.baselines import list_context
from tiebreak.web.datasets import paging_links, place_of, search_of
from tiebreak.web.evaluating import EvaluateForm
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.tray import side_by_side_address, tray_context


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
        **list_context(request.workspace, shown),
        "q": q,
        "with_dataset": True,
        **tray_context(request, shown),
        **paging_links(request, page.newer, page.older),
    }
    return render_page(request, "experiments/list.html", context, partial="list")


@require_GET
@needs(Role.VIEWER)
def experiment_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """One experiment: what its runs come to, and the runs."""
    experiment = access.experiment(request.workspace, uid)
    return _detail(request, experiment, EvaluateForm(request.workspace))


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
        "compared_with": _compared_with(experiment),
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


def _compared_with(experiment: Experiment) -> tuple[Experiment, str] | None:
    """The baseline, else the experiment before this one, and where the two are side by side."""
    dataset = experiment.dataset
    if dataset is None:
        return None
    earlier = dataset.experiments.filter(start_time__lte=experiment.start_time)
    before = earlier.exclude(pk=experiment.pk).order_by("-start_time", "-pk").first()
    other = None if experiment.is_baseline else (baseline_of(dataset) or before)
    return (other, side_by_side_address(dataset, [other, experiment])) if other else None


@require_POST
@needs(Role.EDITOR)
def experiment_evaluate(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Launch an evaluator over the experiment's outputs."""
    experiment = access.experiment(request.workspace, uid)
    form = EvaluateForm(request.workspace, request.POST)
    evaluator = form.told([experiment], request.user) if form.is_valid() else None
    if evaluator:
        messages.success(request, f"{evaluator.name} is queued.")
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
        "files": run.attachments.order_by("name"),
    }
    return render_page(request, "experiments/run.html", context, partial="page")


@require_GET
@needs(Role.VIEWER)
def run_file(request: HtmxHttpRequest, uid: UUID, number: int) -> HttpResponseBase:
    """A file that came with a run, as a download."""
    run = access.run(request.workspace, uid)
    return attached_file(run.attachments.filter(pk=number).first())


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
