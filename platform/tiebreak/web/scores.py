"""Scores of several experiments side by side, tested on the examples they share."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from experiments.queries.metric_directions import lower_is_better
from experiments.queries.score_comparison import (
    MAX_EXPERIMENTS,
    chosen_experiments,
    compare_scores,
    metadata_keys,
    score_keys,
)
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs


@require_GET
@needs(Role.VIEWER)
def dataset_scores(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """`exp` (repeated, the first is the baseline), `key` (repeated; none: all), `group`."""
    dataset = access.dataset(request.workspace, uid)
    keys = [key.replace("\x00", "") for key in request.GET.getlist("key") if key]
    experiments = chosen_experiments(dataset, experiment_ids(request.GET))
    group = request.GET.get("group", "").replace("\x00", "")[:400]
    enough = len(experiments) > 1
    lower = lower_is_better(request.workspace, score_keys(experiments)) if enough else frozenset()
    context = {
        "section": "datasets",
        "dataset": dataset,
        "experiments": experiments,
        "keys": keys,
        "most": MAX_EXPERIMENTS,
        "group": group,
        "group_keys": metadata_keys(dataset) if enough else [],
        "lower": lower,
        "found": (
            compare_scores(experiments, keys=keys, group=group, lower=lower) if enough else None
        ),
    }
    partial = "differences" if request.headers.get("HX-Target") == "differences" else "page"
    return render_page(request, "datasets/scores.html", context, partial=partial)


def experiment_ids(query: QueryDict) -> list[UUID]:
    """The ids under `exp`, in their order; what is none is left out."""
    found = []
    for text in query.getlist("exp"):
        with suppress(ValueError):
            found.append(UUID(text))
    return found
