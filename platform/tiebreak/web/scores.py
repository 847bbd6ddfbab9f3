"""Scores of several experiments side by side, tested on the examples they share."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from experiments.queries.score_comparison import (
    MAX_EXPERIMENTS,
    chosen_experiments,
    compare_scores,
    metadata_keys,
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
    experiments = chosen_experiments(dataset, _uids(request.GET.getlist("exp")))
    group = request.GET.get("group", "").replace("\x00", "")[:400]
    enough = len(experiments) > 1
    context = {
        "section": "datasets",
        "dataset": dataset,
        "experiments": experiments,
        "keys": keys,
        "most": MAX_EXPERIMENTS,
        "group": group,
        "group_keys": metadata_keys(dataset) if enough else [],
        "found": compare_scores(experiments, keys=keys, group=group) if enough else None,
    }
    return render_page(request, "datasets/scores.html", context, partial="page")


def _uids(texts: list[str]) -> list[UUID]:
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found
