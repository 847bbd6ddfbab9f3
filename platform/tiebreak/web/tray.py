"""The tray of lists of experiments: what is ticked, over pages, and what to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from experiments.models import Dataset, Experiment
from experiments.queries.baselines import baseline_of
from experiments.queries.experiment_pages import ExperimentRow
from experiments.queries.score_comparison import MAX_EXPERIMENTS
from tiebreak.accounts.models import Role
from tiebreak.web.address import with_changes
from tiebreak.web.evaluating import EvaluateForm
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.scores import experiment_ids

# So many ids still make a good address.
MOST_TICKED = 50


def tray_context(request: HtmxHttpRequest, rows: Sequence[ExperimentRow]) -> dict[str, Any]:
    """What the tray of a list shows; the address holds what is ticked, also on other pages."""
    ticked = {row.uid: row for row in _ticked(request)}
    here = {row.experiment.uid for row in rows}
    return {
        "ticked": ticked,
        "ticked_elsewhere": [row for uid, row in ticked.items() if uid not in here],
        "most_ticked": MAX_EXPERIMENTS,
        "untick": with_changes(request.GET, {"exp": None}),
    }


@dataclass(frozen=True)
class Offer:
    """What most people want to see: the newest against the baseline, else the one before."""

    newest: Experiment
    other: Experiment
    href: str


def offer_of(dataset: Dataset) -> Offer | None:
    """What is offered while nothing is ticked."""
    newest = list(dataset.experiments.order_by("-start_time", "-pk")[:2])
    baseline = baseline_of(dataset)
    pair = [row for row in newest if row != baseline][: 1 if baseline else 2]
    pair += [baseline] if baseline else []
    if len(pair) < 2:
        return None
    return Offer(pair[0], pair[1], side_by_side_address(dataset, pair[::-1]))


def _ticked(request: HtmxHttpRequest) -> list[Experiment]:
    """The experiments in the address, the oldest first: what was before is compared with."""
    rows = Experiment.objects.filter(
        workspace=request.workspace, dataset__isnull=False, uid__in=_asked(request)
    )
    return list(rows.select_related("dataset").order_by("start_time", "pk"))


def _asked(request: HtmxHttpRequest) -> list[UUID]:
    return list(dict.fromkeys(experiment_ids(request.GET)))[:MOST_TICKED]


@dataclass(frozen=True)
class Refusal:
    """Why something cannot be done with what is ticked."""

    title: str
    reason: str


@require_GET
@needs(Role.VIEWER)
def experiments_ticked(request: HtmxHttpRequest) -> HttpResponse:
    """Where `do` leads with the experiments under `exp`, or why it leads nowhere."""
    ticked, do = _ticked(request), request.GET.get("do", "compare")
    pairwise = do == "pairwise"
    if do == "evaluate" and ticked:
        chosen = {"exp": [str(row.uid) for row in ticked]}
        return HttpResponseRedirect(reverse("experiments_evaluate", query=chosen))
    refusal = _refusal(ticked, len(_asked(request)), pairwise=pairwise)
    if refusal:
        context = {
            "section": "experiments",
            "refusal": refusal,
            "ticked": ticked,
            "back": _back(request, ticked),
        }
        return render_page(request, "experiments/refused.html", context, partial="page", status=422)
    dataset = ticked[0].dataset
    assert dataset is not None
    ordered = baseline_first(ticked)
    return HttpResponseRedirect(
        _launch(dataset, ordered) if pairwise else side_by_side_address(dataset, ordered)
    )


def baseline_first(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Experiments with the dataset's baseline before the others."""
    return sorted(experiments, key=lambda row: not row.is_baseline)


def side_by_side_address(dataset: Dataset, experiments: Sequence[Experiment]) -> str:
    """The side-by-side of experiments in their order."""
    query = {"exp": [str(row.uid) for row in experiments]}
    return reverse("side_by_side", args=[dataset.uid], query=query)


def _launch(dataset: Dataset, pair: Sequence[Experiment]) -> str:
    """The launch form with the newer as A, the one it is compared with as B."""
    query = {"a": str(pair[1].uid), "b": str(pair[0].uid)}
    return reverse("dataset_comparisons", args=[dataset.uid], query=query, fragment="launch")


def _refusal(ticked: Sequence[Experiment], asked: int, *, pairwise: bool) -> Refusal | None:
    number = len(ticked)
    if asked > number:
        return Refusal(
            "Some of these are gone",
            f"Of {asked} that were ticked {asked - number} no longer exist.",
        )
    if len({row.dataset_id for row in ticked}) > 1:
        names = sorted({row.dataset.name for row in ticked if row.dataset})
        return Refusal(
            "These ran over different datasets",
            f"Only experiments of one dataset can be compared. Theirs are {', '.join(names)}.",
        )
    if pairwise and number != 2:
        return Refusal("A pairwise comparison takes exactly two", f"Ticked are {number or 'none'}.")
    if number < 2:
        return Refusal("Tick at least two", "One experiment alone has nothing to be compared with.")
    if number > MAX_EXPERIMENTS:
        return Refusal(
            f"Side by side there is room for {MAX_EXPERIMENTS}",
            f"Ticked are {number}: take {number - MAX_EXPERIMENTS} away.",
        )
    return None


def _back(request: HtmxHttpRequest, ticked: Sequence[Experiment]) -> str:
    """The list that this came from, with everything still ticked."""
    query = {"exp": [str(row.uid) for row in ticked]}
    of_one = {row.dataset.uid for row in ticked if row.dataset}
    if request.GET.get("from") == "dataset" and len(of_one) == 1:
        return reverse("dataset_experiments", args=[of_one.pop()], query=query)
    return reverse("experiment_list", query=query)


@needs(Role.EDITOR)
def experiments_evaluate(request: HtmxHttpRequest) -> HttpResponse:
    """The form for several experiments at once; sent, each gets an evaluation of its own."""
    ticked = _ticked(request)
    posted = request.method == "POST"
    form = EvaluateForm(request.workspace, request.POST if posted else None)
    evaluator = form.told(ticked, request.user) if posted and ticked and form.is_valid() else None
    if evaluator:
        messages.success(request, f"{evaluator.name} is queued for {len(ticked)} experiments.")
        return HttpResponseRedirect(_back(request, ticked))
    context = {
        "section": "experiments",
        "ticked": ticked,
        "form": form,
        "kinds": form.kinds.values(),
        "back": _back(request, ticked),
    }
    status = 422 if posted else 200
    return render_page(request, "experiments/evaluate.html", context, partial="page", status=status)
