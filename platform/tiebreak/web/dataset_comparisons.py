"""A dataset's tab of pairwise experiments, with the launch form beside the list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from evaluators.statistics.verdict import Verdict
from experiments.errors import InvalidError
from experiments.models import Comparison, ComparisonEvaluator, Dataset
from experiments.queries.comparison_list import comparisons_of
from experiments.queries.corrections import corrections_of
from experiments.queries.outcome_counts import OutcomeCounts, all_counts, repeated_in
from experiments.queries.progress import Progress, progress_of
from experiments.queries.verdict_card import verdict_of
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.dataset_tabs import tabs_of
from tiebreak.web.datasets import paging_links, place_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.launching import LaunchForm, launch_context, start

FIELD_OF = {"evaluators": "evaluator", "settings": "evaluator", "experiments": "experiment_a"}


@dataclass(frozen=True)
class Line:
    """A comparison in the list, with the verdict of its first evaluator."""

    comparison: Comparison
    evaluators: Sequence[ComparisonEvaluator]
    counts: OutcomeCounts
    verdict: Verdict | None
    progress: Progress | None


@require_GET
@needs(Role.VIEWER)
def dataset_comparisons(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The list and the form."""
    return comparisons_page(request, access.dataset(request.workspace, uid), None)


@require_POST
@needs(Role.EDITOR)
def launch(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Launch, or show the form again with what is wrong at its fields."""
    dataset = access.dataset(request.workspace, uid)
    form = LaunchForm(dataset, request.POST)
    if form.is_valid():
        try:
            comparison = start(form, request.user)
        except InvalidError as error:
            field = FIELD_OF.get(error.field, error.field)
            form.add_error(field if field in form.fields else None, error.message)
        else:
            return HttpResponseRedirect(reverse("comparison_detail", args=[comparison.uid]))
    return comparisons_page(request, dataset, form)


def comparisons_page(
    request: HtmxHttpRequest, dataset: Dataset, form: LaunchForm | None
) -> HttpResponse:
    """The tab; with a form that was refused, status 422."""
    page = comparisons_of(dataset, **place_of(request))
    data = request.POST if form is not None else request.GET
    context = {
        "section": "datasets",
        "dataset": dataset,
        "tabs": tabs_of(dataset, "comparisons"),
        "lines": _lines(page.rows),
        "corrections": corrections_of(dataset),
        "polls": any(row.job and row.job.is_open for row in page.rows),
        **paging_links(request, page.newer, page.older),
        **launch_context(dataset, data, form),
    }
    status = 422 if form is not None else 200
    partial = "launch" if request.headers.get("HX-Target") == "launch" else "list"
    return render_page(request, "comparisons/list.html", context, partial=partial, status=status)


def _lines(comparisons: Sequence[Comparison]) -> list[Line]:
    firsts = [next(iter(row.evaluators.all())) for row in comparisons if row.evaluators.all()]
    counts = all_counts(firsts)
    repeated = repeated_in(row.pk for row in comparisons)
    return [_line(row, counts, row.pk in repeated) for row in comparisons]


def _line(
    comparison: Comparison, counts: dict[int, dict[str, OutcomeCounts]], repeated: bool
) -> Line:
    evaluators = list(comparison.evaluators.all())
    found = counts.get(evaluators[0].pk, {}).get("") if evaluators else None
    job = comparison.job
    return Line(
        comparison=comparison,
        evaluators=evaluators,
        counts=found or OutcomeCounts(),
        verdict=(
            verdict_of(comparison, evaluators[0], found, repeated=repeated) if found else None
        ),
        progress=progress_of(job) if job and job.is_open else None,
    )
