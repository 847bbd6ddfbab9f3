"""Two versions of a dataset side by side, and an earlier one restored."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET, require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.models import Dataset
from experiments.queries.changes import changes_between, count_changes
from experiments.queries.examples import moment_of_tag
from experiments.services.datasets import update_dataset
from experiments.services.reinstating import restore_version
from experiments.services.schema_inference import adopt_schemas
from experiments.services.splits import assign_splits, split_ratios
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.dataset_tabs import tabs_of
from tiebreak.web.datasets import paging_links, place_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs


def _moment(dataset: Dataset, text: str) -> datetime:
    text = text.replace("\x00", "")
    if text in ("", "latest"):
        return dataset.modified_at
    try:
        moment = moment_of_tag(dataset, text) or parse_datetime(text.replace(" 00:00", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Http404("No such version")
    return moment


@require_GET
@needs(Role.VIEWER)
def dataset_changes(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The rows that differ between two versions, page by page."""
    dataset = access.dataset(request.workspace, uid)
    earlier, later = sorted(_moment(dataset, request.GET.get(key, "")) for key in ("from", "to"))
    place = place_of(request)
    size, cursor = int(place["size"]), str(place.get("after") or "")
    page = changes_between(dataset, earlier, later, size=size, cursor=cursor)
    context = {
        "section": "datasets",
        "dataset": dataset,
        "tabs": tabs_of(dataset, "versions"),
        "earlier": earlier,
        "later": later,
        "counts": count_changes(dataset, earlier, later),
        "rows": page.rows,
        **paging_links(request, "", page.older),
    }
    return render_page(request, "datasets/changes.html", context, partial="list")


@require_POST
@needs(Role.EDITOR)
def dataset_restore(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Let an earlier version stand again, as a new one."""
    dataset = access.dataset(request.workspace, uid)
    moment = _moment(dataset, request.POST.get("as_of", ""))
    try:
        version = restore_version(dataset, as_of=moment, author=request.user)
    except ConflictError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            f"Restored as a new version: {version.added:,} added, {version.changed:,} changed, "
            f"{version.removed:,} taken out.",
        )
    return HttpResponseRedirect(reverse("dataset_versions", args=[uid]))


@require_POST
@needs(Role.EDITOR)
def dataset_splits(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Put every example into one of some splits at random, by a seed that is shown."""
    dataset = access.dataset(request.workspace, uid)
    try:
        ratios = split_ratios(request.POST.get("ratios", ""))
        seed = request.POST.get("seed", "").strip()
        written = assign_splits(
            dataset=dataset, ratios=ratios, seed=int(seed) if seed else None, author=request.user
        )
    except (InvalidError, ValueError) as error:
        messages.error(request, getattr(error, "message", "The seed must be a whole number."))
        return HttpResponseRedirect(reverse("dataset_detail", args=[uid]))
    told = ", ".join(f"{name} {count:,}" for name, count in written.counts.items())
    messages.success(request, f"Split at random with the seed {written.seed}: {told}.")
    address = reverse("dataset_detail", args=[uid])
    return HttpResponseRedirect(f"{address}?{urlencode({'split': next(iter(ratios))})}")


@require_POST
@needs(Role.EDITOR)
def dataset_schemas(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Enforce what all examples have in common from now on, or nothing any more."""
    dataset = access.dataset(request.workspace, uid)
    if request.POST.get("step") == "drop":
        update_dataset(dataset, inputs_schema=None, outputs_schema=None)
        messages.success(request, "Examples may have any shape again.")
    else:
        try:
            adopt_schemas(dataset)
            messages.success(request, "From now on new examples must have this shape.")
        except ConflictError as error:
            messages.error(request, str(error))
    return HttpResponseRedirect(reverse("dataset_detail", args=[uid]))
