"""The evaluators of a workspace: list, form, versions, and a trial before anything is saved."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from evaluators.kinds import Kind
from experiments.errors import InvalidError
from experiments.models import Evaluator, Experiment
from experiments.queries.evaluator_list import evaluator_page, uses_of, versions_of
from experiments.services.evaluators import archive_evaluator
from experiments.services.run_trials import try_out_runs
from experiments.services.trials import TRIAL_ROWS, try_out
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.datasets import paging_links, place_of, search_of
from tiebreak.web.evaluator_forms import EvaluatorForm, offered_kinds
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs

RECENT = 50


@require_GET
@needs(Role.VIEWER)
def evaluator_list(request: HtmxHttpRequest) -> HttpResponse:
    """The newest version of each, and the kinds that a new one can be of."""
    q = search_of(request)
    page = evaluator_page(request.workspace, q=q, **place_of(request))
    uses = uses_of(request.workspace, [row.name for row in page.rows])
    known: dict[str, Kind] = offered_kinds()
    kinds: list[Kind] = sorted(known.values(), key=_order)
    context = {
        "section": "evaluators",
        "lines": [(row, known.get(row.kind), *uses[row.name]) for row in page.rows],
        "kinds": kinds,
        "q": q,
        **paging_links(request, page.newer, page.older),
    }
    return render_page(request, "evaluators/list.html", context, partial="list")


def _order(kind: Kind) -> tuple[bool, str]:
    return not kind.pairwise, kind.title


@needs(Role.EDITOR)
def evaluator_new(request: HtmxHttpRequest, kind: str) -> HttpResponse:
    """A new evaluator of a kind."""
    return _edit(request, _kind(kind), None)


@needs(Role.EDITOR)
def evaluator_edit(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Change an evaluator: saving makes a new version, earlier results keep theirs."""
    evaluator = access.evaluator(request.workspace, uid)
    return _edit(request, _kind(evaluator.kind), evaluator)


def _kind(name: str) -> Kind:
    try:
        return offered_kinds()[name]
    except KeyError:
        raise Http404(f"No kind of evaluator is named {name}") from None


def _edit(request: HtmxHttpRequest, kind: Kind, evaluator: Evaluator | None) -> HttpResponse:
    form = EvaluatorForm(request.workspace, kind, request.POST or None, evaluator=evaluator)
    if evaluator is None and not form.is_bound:
        form.initial["name"] = kind.name
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        try:
            if "try" in request.POST:
                context = _trial(request, form)
            else:
                saved = form.save()
                messages.success(request, f"{saved.name} is saved as version {saved.version}.")
                return HttpResponseRedirect(reverse("evaluator_list"))
        except InvalidError as error:
            form.add_error(None, error.message)
    context |= {
        "section": "evaluators",
        "form": form,
        "kind": kind,
        "evaluator": evaluator,
        "versions": versions_of(evaluator) if evaluator else [],
        "experiments": _recent(request),
        "chosen": request.POST.getlist("experiment"),
        "variables": _variables(kind),
    }
    status = 422 if form.is_bound and form.errors else 200
    return render_page(request, "evaluators/edit.html", context, partial="page", status=status)


def _variables(kind: Kind) -> list[str]:
    """What a prompt of this kind is filled with."""
    sides = ["prediction", "prediction_b"] if kind.pairwise else ["prediction"]
    return ["input", *sides, "reference", "criteria"]


def _recent(request: HtmxHttpRequest) -> list[Experiment]:
    rows = Experiment.objects.filter(workspace=request.workspace, dataset__isnull=False)
    return list(rows.select_related("dataset").order_by("-start_time", "-pk")[:RECENT])


def _trial(request: HtmxHttpRequest, form: EvaluatorForm) -> dict[str, Any]:
    """Judge a few rows of the chosen experiments with what the form says, unsaved."""
    wanted = 2 if form.kind.pairwise else 1
    uids = request.POST.getlist("experiment")[:wanted]
    experiments = [access.experiment(request.workspace, uid) for uid in uids if uid]
    if len(experiments) < wanted or len({row.dataset_id for row in experiments}) > 1:
        many = "two experiments on one dataset" if wanted == 2 else "an experiment"
        raise InvalidError("experiment", f"choose {many} to try it on")
    if wanted == 2:
        rows = try_out(experiments=experiments, evaluator=form.unsaved(), order="both")
        return {"rows": rows, "sides": experiments, "most": TRIAL_ROWS, "tried": True}
    scored = try_out_runs(experiment=experiments[0], evaluator=form.unsaved())
    return {"scored": scored, "sides": experiments, "most": TRIAL_ROWS, "tried": True}


@require_POST
@needs(Role.EDITOR)
def evaluator_archive(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Take it out of the lists; what it judged stays."""
    evaluator = access.evaluator(request.workspace, uid)
    archive_evaluator(evaluator)
    messages.success(request, f"{evaluator.name} is archived. What it judged stays.")
    return HttpResponseRedirect(reverse("evaluator_list"))
