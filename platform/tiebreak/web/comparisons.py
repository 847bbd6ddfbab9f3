"""The pairwise comparison view, and what can be done with a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET

from experiments.models import Comparison, ComparisonEvaluator
from experiments.queries.comparison_table import (
    FILTERS,
    Cursor,
    Page,
    bounded_counts,
    find_row,
    judgments_of,
    table_page,
)
from experiments.queries.corrections import corrections_of
from experiments.queries.games import games_of
from experiments.queries.outcome_counts import OutcomeCounts, counts_by_split, repeated_in
from experiments.services.deletion import delete_comparison
from experiments.services.evaluators import kind_of
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import number, one_of, with_changes
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.overrides import SET_BY_HAND
from tiebreak.web.steering import job_context
from tiebreak.web.verdicts import verdict_context

SIZES = (25, 50, 100)
PLACE = ("after", "before", "n")


@dataclass(frozen=True)
class Choices:
    """What the address asks for."""

    q: str
    split: str
    outcomes: frozenset[str]
    size: int
    after: Cursor | None
    before: Cursor | None
    start: int

    @classmethod
    def of(cls, query: QueryDict) -> Choices:
        thumbs, start = _thumbs(query), query.get("n", "")
        known = {one.key for one in FILTERS}
        return cls(
            q=query.get("q", "").strip().replace("\x00", "")[:200],
            split=query.get("split", "").replace("\x00", ""),
            outcomes=frozenset(thumbs or (set(query.getlist("out")) & known)),
            size=number(query, "size", SIZES, 50),
            after=Cursor.parse(query.get("after", "")),
            before=Cursor.parse(query.get("before", "")),
            start=int(start) if start.isdigit() and len(start) < 10 else 0,
        )


def _thumbs(query: QueryDict) -> set[str]:
    """Up on A and down on B are one and the same: A won."""
    wins = {("a", "up"): "a", ("b", "down"): "a", ("b", "up"): "b", ("a", "down"): "b"}
    found = {wins.get((side, query.get(side, ""))) for side in ("a", "b")}
    return {winner for winner in found if winner}


@dataclass(frozen=True)
class Segment:
    """A toggle of the filter bar or a thumb: where it leads, its count, whether it is pressed."""

    key: str
    label: str
    count: int
    pressed: bool
    href: str


@require_GET
@needs(Role.VIEWER)
def comparison_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The verdict, the filters and the rows; with `row`, the drawer as well."""
    comparison = access.comparison(request.workspace, uid)
    target = request.headers.get("HX-Target", "judged")
    partial: Literal["drawer", "judged"] = "drawer" if target == "drawer" else "judged"
    context = _context(comparison, request.GET)
    return render_page(request, "comparisons/detail.html", context, partial=partial)


def _context(comparison: Comparison, query: QueryDict) -> dict[str, Any]:
    evaluators = list(comparison.evaluators.select_related("evaluator__provider"))
    sides = list(comparison.sides.select_related("experiment"))
    context = {
        "section": "datasets",
        "comparison": comparison,
        "dataset": comparison.dataset,
        "sides": sides,
        "evaluators": evaluators,
        "query": query,
        "polls": comparison.job is not None and comparison.job.state in ("queued", "running"),
        "here": with_changes(query, {"row": None}),
        "name_says_it": comparison.name == " vs ".join(side.name for side in sides[:2]),
    }
    if not evaluators:
        return {**context, "evaluator": None}
    return {**context, **_judged(comparison, _chosen(evaluators, query), query)}


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
    everything = by_split.get("", OutcomeCounts())
    counts, more = by_split.get(choices.split, OutcomeCounts()), False
    if choices.q:
        found = judgments_of(evaluator, split=choices.split, q=choices.q)
        counts, more = bounded_counts(found)
    rows = judgments_of(evaluator, outcomes=choices.outcomes, split=choices.split, q=choices.q)
    page = table_page(rows, size=choices.size, after=choices.after, before=choices.before)
    return {
        "evaluator": evaluator,
        "order_matters": _sees_order(evaluator),
        "choices": choices,
        "splits": sorted(split for split in by_split if split),
        "counts": counts,
        "everything": everything,
        "more": more,
        **verdict_context(comparison, evaluator, everything, query, repeated=repeated),
        "repeated": repeated,
        "correction": corrections_of(comparison.dataset).get(evaluator.pk),
        **job_context(comparison, evaluator, everything),
        "segments": _segments(query, choices, counts),
        "thumbs": _thumb_pairs(query, choices, counts),
        "page": page,
        "shown": _shown(choices, page, counts),
        **_paging(query, choices, page),
        **_drawer(evaluator, query, page),
    }


def _sees_order(evaluator: ComparisonEvaluator) -> bool:
    """Whether the judge could be swayed by the order; unknown ones could."""
    try:
        return evaluator.evaluator is None or kind_of(evaluator.evaluator).order_matters
    except ValueError:
        return True


def _segments(query: QueryDict, choices: Choices, counts: OutcomeCounts) -> list[Segment]:
    gone = ("a", "b", "out", "row", *PLACE)
    everything = Segment(
        "", "All", counts.total, not choices.outcomes, with_changes(query, {}, drop=gone)
    )
    return [
        everything,
        *(
            Segment(
                one.key,
                one.label,
                one.count(counts),
                one.key in choices.outcomes,
                with_changes(
                    query, {"out": None if one.key in choices.outcomes else one.key}, drop=gone
                ),
            )
            for one in FILTERS
            if one.count(counts) or one.key in ("a", "b", "tie", *choices.outcomes)
        ),
    ]


def _thumb_pairs(
    query: QueryDict, choices: Choices, counts: OutcomeCounts
) -> dict[str, dict[str, Segment]]:
    """Thumbs of both column heads: up shows what that side won, down what it lost."""
    wins = {"a": counts.a, "b": counts.b}
    other = {"a": "b", "b": "a"}
    return {
        side: {
            way: _thumb(query, choices, side, way, winner, wins[winner])
            for way, winner in (("up", side), ("down", other[side]))
        }
        for side in ("a", "b")
    }


def _thumb(
    query: QueryDict, choices: Choices, side: str, way: str, winner: str, count: int
) -> Segment:
    pressed = choices.outcomes == {winner}
    gone = ("a", "b", "out", "row", *PLACE)
    href = with_changes(query, {} if pressed else {side: way}, drop=gone)
    return Segment(f"{side}-{way}", "won" if way == "up" else "lost", count, pressed, href)


def _shown(choices: Choices, page: Page, counts: OutcomeCounts) -> dict[str, int]:
    """Which rows of how many; a row may be in two filters, so their counts are not added up."""
    total = counts.total
    if choices.outcomes:
        total = sum(one.count(counts) for one in FILTERS if one.key in choices.outcomes)
    first = choices.start + 1 if page.rows else 0
    return {"first": first, "last": choices.start + len(page.rows), "total": total}


def _paging(query: QueryDict, choices: Choices, page: Page) -> dict[str, str]:
    links = {"newer": "", "older": ""}
    if page.rows and page.has_before:
        start = max(0, choices.start - choices.size)
        place = {"before": str(page.rows[0].cursor), "n": start or None}
        links["newer"] = with_changes(query, place, drop=("after", "row"))
    if page.rows and page.has_after:
        place = {"after": str(page.rows[-1].cursor), "n": choices.start + len(page.rows)}
        links["older"] = with_changes(query, place, drop=("before", "row"))
    return links


def _drawer(evaluator: ComparisonEvaluator, query: QueryDict, page: Page) -> dict[str, Any]:
    key = query.get("row", "")
    if not key:
        return {"open_row": None}
    row = next((row for row in page.rows if row.key == key), None) or find_row(evaluator, key)
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
        "games": games_of(row.judgment),
        "settable": SET_BY_HAND.items(),
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
