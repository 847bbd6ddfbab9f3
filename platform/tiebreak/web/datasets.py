"""Datasets: the list, and the tabs of one."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.queries.dataset_pages import (
    dataset_list as list_datasets,
)
from experiments.queries.dataset_pages import (
    version_page,
)
from experiments.queries.experiment_pages import experiment_page
from experiments.services.datasets import create_dataset
from experiments.services.sample import compare_sample, load_sample
from experiments.services.summaries import quick_rows
from experiments.tasks import start_job
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import number, with_changes
from tiebreak.web.baselines import list_context
from tiebreak.web.dataset_tabs import tabs_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.tray import offer_of, tray_context

SIZES = (25, 50, 100)


class DatasetForm(forms.Form):
    """A new, empty dataset."""

    name = forms.CharField(label="Name", max_length=400)
    description = forms.CharField(label="Description", max_length=4000, required=False)


def place_of(request: HtmxHttpRequest) -> dict[str, Any]:
    """Where in a list the address points."""
    return {
        "size": number(request.GET, "size", SIZES, 50),
        "after": request.GET.get("after", ""),
        "before": request.GET.get("before", ""),
    }


def paging_links(request: HtmxHttpRequest, newer: str, older: str) -> dict[str, str]:
    """Addresses of the neighbouring pages, empty where there is none."""
    query = request.GET
    return {
        "newer": with_changes(query, {"before": newer}, drop=("after",)) if newer else "",
        "older": with_changes(query, {"after": older}, drop=("before",)) if older else "",
    }


def search_of(request: HtmxHttpRequest) -> str:
    return request.GET.get("q", "").strip().replace("\x00", "")[:200]


@require_GET
@needs(Role.VIEWER)
def dataset_list(request: HtmxHttpRequest) -> HttpResponse:
    """All datasets of the workspace."""
    return _list(request, DatasetForm())


def _list(request: HtmxHttpRequest, form: DatasetForm) -> HttpResponse:
    q = search_of(request)
    page = list_datasets(request.workspace, q=q, **place_of(request))
    context = {
        "section": "datasets",
        "datasets": page.rows,
        "q": q,
        "form": form,
        **paging_links(request, page.newer, page.older),
    }
    status = 422 if form.errors else 200
    return render_page(request, "datasets/list.html", context, partial="list", status=status)


@require_POST
@needs(Role.EDITOR)
def dataset_create(request: HtmxHttpRequest) -> HttpResponse:
    """Create an empty dataset."""
    form = DatasetForm(request.POST)
    if form.is_valid():
        try:
            dataset = create_dataset(workspace=request.workspace, **form.cleaned_data)
        except (ConflictError, InvalidError) as error:
            form.add_error("name", getattr(error, "message", str(error)))
        else:
            return HttpResponseRedirect(reverse("dataset_detail", args=[dataset.uid]))
    return _list(request, form)


@require_POST
@needs(Role.EDITOR)
def sample_load(request: HtmxHttpRequest) -> HttpResponse:
    """Load the sample dataset with its two experiments, and have them compared."""
    dataset = load_sample(request.workspace)
    with transaction.atomic():
        comparison, is_new = compare_sample(dataset, author=request.user)
        if is_new and comparison.job:
            start_job(comparison.job)
    return HttpResponseRedirect(reverse("comparison_detail", args=[comparison.uid]))


@require_GET
@needs(Role.VIEWER)
def dataset_experiments(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The tab of experiments."""
    dataset = access.dataset(request.workspace, uid)
    q = search_of(request)
    page = experiment_page(dataset.experiments.all(), q=q, **place_of(request))
    rows = quick_rows(page.rows)
    context = {
        "section": "datasets",
        "dataset": dataset,
        "tabs": tabs_of(dataset, "experiments"),
        **list_context(request.workspace, rows),
        "q": q,
        "offer": offer_of(dataset),
        **tray_context(request, rows),
        **paging_links(request, page.newer, page.older),
    }
    return render_page(request, "datasets/experiments.html", context, partial="list")


@require_GET
@needs(Role.VIEWER)
def dataset_versions(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The tab of versions."""
    dataset = access.dataset(request.workspace, uid)
    page = version_page(dataset, **place_of(request))
    tags: dict[datetime, list[str]] = {}
    for tag in dataset.tags.order_by("tag"):
        tags.setdefault(tag.as_of, []).append(tag.tag)
    context = {
        "section": "datasets",
        "dataset": dataset,
        "tabs": tabs_of(dataset, "versions"),
        "rows": [(version, tags.get(version.as_of, [])) for version in page.rows],
        **paging_links(request, page.newer, page.older),
    }
    return render_page(request, "datasets/versions.html", context, partial="list")
