"""The baseline of a dataset: choosing it, and what lists of experiments show against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from experiments.errors import ConflictError
from experiments.queries.baselines import baselines_of, changes_to
from experiments.queries.experiment_pages import ExperimentRow
from experiments.queries.metric_directions import lower_is_better
from experiments.services.experiments import choose_baseline
from experiments.services.summaries import quick_rows
from experiments.tasks import start_summaries
from tiebreak import access
from tiebreak.accounts.models import Role, Workspace
from tiebreak.web.http import HtmxHttpRequest, needs


def list_context(workspace: Workspace, rows: Sequence[ExperimentRow]) -> dict[str, Any]:
    """What a list of experiments shows: the scores as columns, and each against its baseline."""
    known = {row.experiment.pk: row for row in rows}
    baselines = baselines_of(row.experiment for row in rows)
    elsewhere = quick_rows([one for one in baselines if one.pk not in known])
    keys = sorted({key for row in rows for key in row.summary.metrics})
    lower = lower_is_better(workspace, keys) if keys else frozenset[str]()
    here = [known[one.pk] for one in baselines if one.pk in known]
    return {
        "rows": rows,
        "keys": keys,
        "lower": lower,
        "changes": changes_to([*here, *elsewhere], rows, lower),
        "polls": start_summaries([*rows, *elsewhere]),
    }


@require_POST
@needs(Role.EDITOR)
def experiment_baseline(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Make an experiment the baseline of its dataset; with `end`, there is none any more."""
    experiment = access.experiment(request.workspace, uid)
    chosen = "end" not in request.POST
    try:
        choose_baseline(experiment, chosen=chosen)
    except ConflictError as error:
        messages.error(request, str(error))
    else:
        told = "is the baseline now" if chosen else "is no longer the baseline"
        messages.success(request, f"{experiment.name} {told}.")
    back = request.POST.get("back", "")
    here = back if back.startswith("/") and url_has_allowed_host_and_scheme(back, None) else ""
    return HttpResponseRedirect(here or reverse("experiment_detail", args=[uid]))
