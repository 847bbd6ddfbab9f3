"""A dataset's tab of examples: the list, one in the drawer, and what is done to many."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET, require_POST

from experiments.models import Dataset
from experiments.queries.dataset_pages import (
    ExampleRow,
    example_page,
    find_example,
    history_of,
    splits_of,
)
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import with_changes
from tiebreak.web.dataset_tabs import tabs_of
from tiebreak.web.datasets import paging_links, place_of, search_of
from tiebreak.web.example_forms import ExampleForm
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.many_examples import ticked_context

NEW = "new"


@require_GET
@needs(Role.VIEWER)
def dataset_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The examples as they are or as they stood at a moment; with `row`, the drawer as well."""
    dataset = access.dataset(request.workspace, uid)
    return _page(request, dataset, request.GET.get("row", ""), None)


@require_POST
@needs(Role.EDITOR)
def example_new(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Add the example of the form as a new version."""
    dataset, form = access.dataset(request.workspace, uid), ExampleForm(request.POST)
    added = form.add(dataset, request.user) if form.is_valid() else None
    if added is None:
        return _page(request, dataset, NEW, form)
    messages.success(request, "The example was added, as a new version of the dataset.")
    return _open(dataset, added)


@require_POST
@needs(Role.EDITOR)
def example_save(request: HtmxHttpRequest, uid: UUID, example: UUID) -> HttpResponse:
    """Write what was changed in the drawer as a new version."""
    dataset, form = access.dataset(request.workspace, uid), ExampleForm(request.POST)
    row = find_example(dataset, str(example))
    if row is None:
        raise Http404("Example not found")
    before = dataset.modified_at
    if not form.is_valid() or not form.save(dataset, row.revision, request.user):
        return _page(request, dataset, str(example), form)
    dataset.refresh_from_db()
    changed = dataset.modified_at != before
    told = "Saved as a new version of the dataset." if changed else "Nothing was changed."
    messages.success(request, told)
    return _open(dataset, str(example))


def _open(dataset: Dataset, key: str) -> HttpResponse:
    address = reverse("dataset_detail", args=[dataset.uid], query={"row": key})
    return HttpResponseRedirect(address)


def _page(
    request: HtmxHttpRequest, dataset: Dataset, key: str, form: ExampleForm | None
) -> HttpResponse:
    as_of = moment_of(dataset, request.GET.get("ver", "").replace("\x00", ""))
    split, q = request.GET.get("split", "").replace("\x00", ""), search_of(request)
    page = example_page(dataset, q=q, split=split, as_of=as_of, **place_of(request))
    context = {
        "section": "datasets",
        "dataset": dataset,
        "list_address": reverse("dataset_detail", args=[dataset.uid]),
        "tabs": tabs_of(dataset, "examples"),
        "rows": page.rows,
        "splits": splits_of(dataset),
        "split": split,
        "q": q,
        "as_of": as_of,
        "here": with_changes(request.GET, {"row": None}),
        "new_link": with_changes(request.GET, {"row": NEW}),
        "row_links": [
            (row, with_changes(request.GET, {"row": str(row.example.uid)})) for row in page.rows
        ],
        **ticked_context(
            request.GET, dataset, [row.example.uid for row in page.rows], q=q, split=split
        ),
        **paging_links(request, page.newer, page.older),
        **_drawer(request, dataset, key, page.rows, as_of, form),
    }
    status = 422 if form is not None else 200
    partial = "drawer" if request.headers.get("HX-Target") == "drawer" else "list"
    return render_page(request, "datasets/detail.html", context, partial=partial, status=status)


def _drawer(
    request: HtmxHttpRequest,
    dataset: Dataset,
    key: str,
    rows: list[ExampleRow],
    as_of: datetime | None,
    form: ExampleForm | None,
) -> dict[str, Any]:
    may_edit = request.role.allows(Role.EDITOR) and as_of is None
    if key == NEW and may_edit:
        return {"drawer": NEW, "example_form": form or ExampleForm()}
    if not key:
        return {"drawer": ""}
    row = find_example(dataset, key, as_of)
    if row is None:
        return {"drawer": "", "row_is_gone": True}
    keys = [str(one.example.uid) for one in rows]
    place = keys.index(key) if key in keys else -1
    around = {"previous_row": place - 1, "next_row": place + 1} if place >= 0 else {}
    return {
        "drawer": key,
        "open_row": row,
        "history": history_of(row.example),
        "example_form": (form or ExampleForm.of(row.revision)) if may_edit else None,
        **{
            name: with_changes(request.GET, {"row": keys[number]})
            for name, number in around.items()
            if 0 <= number < len(keys)
        },
    }


def moment_of(dataset: Dataset, text: str) -> datetime | None:
    """The moment that the address names, as a time or a tag; None for now."""
    tag = dataset.tags.filter(tag=text).first() if text else None
    if tag is not None:
        return tag.as_of
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None
