"""Sharing a comparison by a link, and the pages that whoever has a link sees: read-only."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from experiments.errors import InvalidError
from experiments.models import SharedLink
from experiments.queries.dataset_pages import example_page, splits_of
from experiments.services.sharing import share_comparison, unshare
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.row_filters import text
from tiebreak.web.comparisons import comparison_context, partial_of
from tiebreak.web.datasets import paging_links, place_of, search_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.reports import report_context


@require_POST
@needs(Role.EDITOR)
def comparison_share(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Make the link, change what it shows, or end it at once."""
    comparison = access.comparison(request.workspace, uid)
    if "end" in request.POST:
        kind = SharedLink.Kind.COMPARISON
        unshare(workspace=request.workspace, kind=kind, target_uid=comparison.uid)
        messages.success(request, "The link no longer works.")
    else:
        days = request.POST.get("days", "")
        try:
            share_comparison(
                comparison=comparison,
                shows=request.POST.get("shows", ""),
                days=int(days) if days.isdecimal() and len(days) < 6 else None,
            )
            messages.success(request, "Whoever has the link can read this comparison.")
        except InvalidError as error:
            messages.error(request, str(error))
    return HttpResponseRedirect(reverse("comparison_detail", args=[uid]))


@require_GET
def shared_dataset(request: HtmxHttpRequest, token: UUID) -> HttpResponse:
    """The examples, and nothing of what was done with them."""
    link = _link(token, SharedLink.Kind.DATASET)
    dataset = access.dataset(link.workspace, link.target_uid)
    q, split = search_of(request), text(request.GET, "split")
    page = example_page(dataset, q=q, split=split, **place_of(request))
    context = {
        "dataset": dataset,
        "rows": page.rows,
        "splits": splits_of(dataset),
        "split": split,
        "q": q,
        **paging_links(request, page.newer, page.older),
        **_public(link),
    }
    return _unlisted(render_page(request, "datasets/shared.html", context, partial="list"))


@require_GET
def shared_comparison(request: HtmxHttpRequest, token: UUID) -> HttpResponse:
    """The comparison as members see it, without whatever leads elsewhere or changes anything."""
    link = _link(token, SharedLink.Kind.COMPARISON)
    comparison = access.comparison(link.workspace, link.target_uid)
    context = {
        **comparison_context(
            comparison, request.GET, drawer=link.shows != SharedLink.Shows.SUMMARY
        ),
        **_public(link),
    }
    return _unlisted(
        render_page(request, "comparisons/detail.html", context, partial=partial_of(request))
    )


@require_GET
def shared_report(request: HtmxHttpRequest, token: UUID) -> HttpResponse:
    """The report below the verdict, by the same link."""
    link = _link(token, SharedLink.Kind.COMPARISON)
    comparison = access.comparison(link.workspace, link.target_uid)
    context = {**report_context(comparison, request.GET), **_public(link)}
    return _unlisted(render_page(request, "comparisons/report.html", context, partial="report"))


def _link(token: UUID, kind: SharedLink.Kind) -> SharedLink:
    links = SharedLink.objects.select_related("workspace")
    link = links.filter(token=token, kind=kind).first()
    if link is None or (link.expires_at and link.expires_at < timezone.now()):
        raise Http404("This link does not work, or no longer.")
    return link


def _public(link: SharedLink) -> dict[str, object]:
    """Nobody is signed in for this page, whoever looks at it."""
    return {
        "public": link,
        "shows": link.shows,
        "may_edit": False,
        "may_annotate": False,
        "may_administer": False,
        "report_address": reverse("shared_report", args=[link.token]),
    }


def _unlisted(response: HttpResponse) -> HttpResponse:
    response["X-Robots-Tag"] = "noindex, nofollow"
    response["Referrer-Policy"] = "no-referrer"
    return response
