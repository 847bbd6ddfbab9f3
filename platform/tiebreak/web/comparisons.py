"""The pairwise comparison view, and what can be done with a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

from django.contrib import messages
from django.db.models import Prefetch, prefetch_related_objects
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET

from experiments.models import Comparison, ComparisonEvaluator, ComparisonSide, SharedLink
from experiments.queries.changes import version_note
from experiments.queries.comparison_search import search_rows
from experiments.queries.comparison_table import (
    Page,
    bounded_counts,
    find_row,
    table_page,
)
from experiments.queries.corrections import corrections_of
from experiments.queries.games import games_of
from experiments.queries.mirroring import mirrored_counts, mirrored_page, mirrored_row
from experiments.queries.outcome_counts import OutcomeCounts, counts_by_split, repeated_in
from experiments.services.deletion import delete_comparison
from experiments.services.evaluators import kind_of
from experiments.services.sharing import link_of
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import one_of, with_changes
from tiebreak.web.comparison_filters import (
    Choices,
    paging,
    segments,
    shown,
    swap_link,
    thumb_pairs,
    view_links,
)
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.overrides import SET_BY_HAND, rejudging_of
from tiebreak.web.reports import sides_of
from tiebreak.web.steering import job_context
from tiebreak.web.verdicts import verdict_context


@require_GET
@needs(Role.VIEWER)
def comparison_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The verdict, the filters and the rows; with `row`, the drawer as well."""
    comparison = access.comparison(request.workspace, uid)
    link = link_of(comparison)
    context = {
        **comparison_context(comparison, request.GET),
        "version_note": version_note(comparison) if partial_of(request) == "judged" else None,
        "report_address": reverse("comparison_report", args=[uid]),
        "link": link,
        "link_address": _link_address(request, link),
        "link_shows": SharedLink.Shows.choices,
    }
    return render_page(request, "comparisons/detail.html", context, partial=partial_of(request))


def partial_of(request: HtmxHttpRequest) -> Literal["drawer", "judged"]:
    """The part of the page that htmx asks for."""
    return "drawer" if request.headers.get("HX-Target") == "drawer" else "judged"


def _link_address(request: HtmxHttpRequest, link: SharedLink | None) -> str:
    if link is None:
        return ""
    return request.build_absolute_uri(reverse("shared_comparison", args=[link.token]))


def comparison_context(
    comparison: Comparison, query: QueryDict, *, drawer: bool = True
) -> dict[str, Any]:
    """All that the page shows; without a `drawer` no row can be opened."""
    evaluators = list(comparison.evaluators.select_related("evaluator__provider", "race"))
    both = ComparisonSide.objects.select_related("experiment")
    prefetch_related_objects([comparison], Prefetch("sides", both))
    stored = list(comparison.sides.all())
    sides = sides_of(comparison, swap=query.get("swap") == "1")
    context = {
        "section": "datasets",
        "comparison": comparison,
        "dataset": comparison.dataset,
        "sides": sides,
        "evaluators": evaluators,
        "query": query,
        "polls": comparison.job is not None and comparison.job.state in ("queued", "running"),
        "here": with_changes(query, {"row": None}),
        "name_says_it": comparison.name == " vs ".join(side.name for side in stored[:2]),
    }
    if not evaluators:
        return {**context, "evaluator": None}
    judged = _judged(comparison, _chosen(evaluators, query), query)
    return {**context, **judged, **({} if drawer else {"open_row": None})}


def _chosen(evaluators: Sequence[ComparisonEvaluator], query: QueryDict) -> ComparisonEvaluator:
    key = one_of(query, "ev", [row.key for row in evaluators], evaluators[0].key)
    return next(row for row in evaluators if row.key == key)


def _judged(
    comparison: Comparison, evaluator: ComparisonEvaluator, query: QueryDict
) -> dict[str, Any]:
    evaluator.comparison = comparison
    choices = Choices.of(query)
    repeated = bool(repeated_in([comparison.pk]))
    by_split = counts_by_split(evaluator)
    stored = by_split.get("", OutcomeCounts())
    counts, more = by_split.get(choices.split, OutcomeCounts()), False
    if choices.q:
        found = search_rows(
            evaluator,
            choices.q,
            replace(choices, q="").rows(evaluator, every_outcome=True),
            outcomes=choices.outcomes,
            size=choices.size,
            after=choices.after,
            before=choices.before,
        )
        page, counts, more = found.page, found.counts, found.more
    else:
        if choices.meta:
            counts, more = bounded_counts(choices.rows(evaluator, every_outcome=True))
        page = table_page(
            choices.rows(evaluator), size=choices.size, after=choices.after, before=choices.before
        )
    everything = stored
    if choices.swap:
        page = mirrored_page(page)
        counts, everything = mirrored_counts(counts), mirrored_counts(stored)
    return {
        "evaluator": evaluator,
        "order_matters": _sees_order(evaluator),
        "choices": choices,
        "splits": sorted(split for split in by_split if split),
        "counts": counts,
        "everything": everything,
        "more": more,
        **verdict_context(
            comparison, evaluator, stored, query, repeated=repeated, swap=choices.swap
        ),
        "repeated": repeated,
        "correction": corrections_of(comparison.dataset).get(evaluator.pk),
        **job_context(comparison, evaluator, everything),
        "segments": segments(query, choices, counts),
        "thumbs": thumb_pairs(query, choices, counts),
        "view_links": view_links(query, choices),
        "swap_link": swap_link(query, choices),
        "page": page,
        "shown": shown(choices, page, counts),
        **paging(query, choices, page),
        **_drawer(evaluator, query, page, choices),
    }


def _sees_order(evaluator: ComparisonEvaluator) -> bool:
    """Whether the judge could be swayed by the order; unknown ones could."""
    try:
        return evaluator.evaluator is None or kind_of(evaluator.evaluator).order_matters
    except ValueError:
        return True


def _drawer(
    evaluator: ComparisonEvaluator, query: QueryDict, page: Page, choices: Choices
) -> dict[str, Any]:
    key = query.get("row", "")
    if not key:
        return {"open_row": None}
    row = next((row for row in page.rows if row.key == key), None)
    if row is None:
        row = find_row(evaluator, key)
        row = mirrored_row(row) if row and choices.swap else row
    if row is None:
        return {"open_row": None, "row_is_gone": True}
    keys = [one.key for one in page.rows]
    place = keys.index(key) if key in keys else None
    neighbours: dict[str, str] = {}
    if place is not None:
        neighbours = {
            "previous_row": with_changes(query, {"row": keys[place - 1]}) if place else "",
            "next_row": (
                with_changes(query, {"row": keys[place + 1]}) if place + 1 < len(keys) else ""
            ),
        }
    return {
        "open_row": row,
        "row_number": None if place is None else choices.start + place + 1,
        "games": games_of(row.judgment, swap=choices.swap),
        "settable": SET_BY_HAND.items(),
        "rejudging": rejudging_of(row.judgment),
        **neighbours,
    }


@needs(Role.EDITOR)
def comparison_delete(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Ask first, saying what goes; then delete."""
    comparison = access.comparison(request.workspace, uid)
    dataset = comparison.dataset
    if request.method != "POST":
        context = {
            "section": "datasets",
            "title": f"Delete {comparison.name}?",
            "goes": {"judgments": comparison.judgments.count()},
            "stays": "The dataset, both experiments and their runs stay.",
            "back": reverse("comparison_detail", args=[uid]),
        }
        return render_page(request, "components/confirm_delete.html", context, partial="page")
    delete_comparison(comparison)
    messages.success(request, f"{comparison.name} was deleted.")
    return HttpResponseRedirect(reverse("dataset_comparisons", args=[dataset.uid]))
