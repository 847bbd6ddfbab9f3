"""What the address of the comparison view asks for, and the links that change it."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from experiments.queries.comparison_table import FILTERS, Cursor, Page
from experiments.queries.mirroring import OTHER
from experiments.queries.outcome_counts import OutcomeCounts
from tiebreak.row_filters import RowFilters
from tiebreak.web.address import Choice, number, one_of, with_changes

SIZES = (25, 50, 100)
PLACE = ("after", "before", "n")
VIEWS = {"text": "Text", "markdown": "Markdown", "json": "JSON", "chat": "Conversation"}


@dataclass(frozen=True)
class Choices(RowFilters):
    """What the address asks for: which rows, which page of them, and how texts are shown."""

    size: int
    after: Cursor | None
    before: Cursor | None
    start: int
    view: str
    diff: bool

    @classmethod
    def of(cls, query: QueryDict) -> Choices:
        start = query.get("n", "")
        return cls(
            **cls.fields_of(query),
            size=number(query, "size", SIZES, 50),
            after=Cursor.parse(query.get("after", "")),
            before=Cursor.parse(query.get("before", "")),
            start=int(start) if start.isdigit() and len(start) < 10 else 0,
            view=one_of(query, "view", VIEWS, "text"),
            diff=query.get("diff") == "1",
        )


@dataclass(frozen=True)
class Segment:
    """A toggle of the filter bar or a thumb: where it leads, its count, whether it is pressed."""

    key: str
    label: str
    count: int
    pressed: bool
    href: str


def segments(query: QueryDict, choices: Choices, counts: OutcomeCounts) -> list[Segment]:
    gone = ("a", "b", "out", "row", *PLACE)
    everything = Segment(
        "", "All", counts.total, not choices.seen, with_changes(query, {}, drop=gone)
    )
    return [
        everything,
        *(
            Segment(
                one.key,
                one.label,
                one.count(counts),
                one.key in choices.seen,
                with_changes(
                    query, {"out": None if one.key in choices.seen else one.key}, drop=gone
                ),
            )
            for one in FILTERS
            if one.count(counts) or one.key in ("a", "b", "tie", *choices.seen)
        ),
    ]


def thumb_pairs(
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
    pressed = choices.seen == {winner}
    gone = ("a", "b", "out", "row", *PLACE)
    href = with_changes(query, {} if pressed else {side: way}, drop=gone)
    return Segment(f"{side}-{way}", "won" if way == "up" else "lost", count, pressed, href)


def shown(choices: Choices, page: Page, counts: OutcomeCounts) -> dict[str, int]:
    """Which rows of how many; a row may be in two filters, so their counts are not added up."""
    total = counts.total
    if choices.seen:
        total = sum(one.count(counts) for one in FILTERS if one.key in choices.seen)
    first = choices.start + 1 if page.rows else 0
    return {"first": first, "last": choices.start + len(page.rows), "total": total}


def paging(query: QueryDict, choices: Choices, page: Page) -> dict[str, str]:
    links = {"newer": "", "older": ""}
    if page.rows and page.has_before:
        start = max(0, choices.start - choices.size)
        place = {"before": str(page.rows[0].cursor), "n": start or None}
        links["newer"] = with_changes(query, place, drop=("after", "row"))
    if page.rows and page.has_after:
        place = {"after": str(page.rows[-1].cursor), "n": choices.start + len(page.rows)}
        links["older"] = with_changes(query, place, drop=("before", "row"))
    return links


def swap_link(query: QueryDict, choices: Choices) -> str:
    """The address of the same view with its sides exchanged; its filters keep their rows."""
    changes: dict[str, Choice] = {
        "swap": None if choices.swap else 1,
        "a": query.get("b"),
        "b": query.get("a"),
        "out": [OTHER.get(one, one) for one in query.getlist("out")],
    }
    return with_changes(query, changes)


def view_links(query: QueryDict, choices: Choices) -> list[Segment]:
    """How outputs are shown, and whether what differs is marked."""
    views = [
        Segment(
            key,
            label,
            0,
            key == choices.view,
            with_changes(query, {"view": None if key == "text" else key}),
        )
        for key, label in VIEWS.items()
    ]
    mark = with_changes(query, {"diff": None if choices.diff else 1})
    return [*views, Segment("diff", "Differences", 0, choices.diff, mark)]
