"""Keyset paging: a page after or before a row, on the order of an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)
MAX_KEY = 2**63


@dataclass(frozen=True)
class Slice(Generic[Row]):
    """Some rows, with the cursors of the neighbouring pages; an empty cursor: there is none."""

    rows: Sequence[Row]
    newer: str
    older: str


def page_by_time(
    rows: QuerySet[Row], field: str, *, size: int, after: str = "", before: str = ""
) -> Slice[Row]:
    """Rows by a moment, the newest first; equal moments by primary key."""

    def write(row: Any) -> str:
        return f"{getattr(row, field).isoformat()}_{row.pk}"

    return _page(rows, (field, "pk"), True, write, _moment, size, after, before)


def page_by_key(rows: QuerySet[Row], *, size: int, after: str = "") -> Slice[Row]:
    """Rows in the order in which they came."""
    return _page(rows, ("pk",), False, lambda row: str(row.pk), _number, size, after, "")


def is_moment(cursor: str) -> bool:
    """Whether `page_by_time` can have written this."""
    place = _moment(cursor)
    return place is not None and place[0].tzinfo is not None and place[1] < MAX_KEY


def is_key(cursor: str) -> bool:
    """Whether `page_by_key` can have written this."""
    place = _number(cursor)
    return place is not None and place[0] < MAX_KEY


def _page(
    rows: QuerySet[Row],
    keys: tuple[str, ...],
    descending: bool,
    write: Callable[[Any], str],
    read: Callable[[str], tuple[Any, ...] | None],
    size: int,
    after: str,
    before: str,
) -> Slice[Row]:
    place = read(before or after)
    back = bool(before and place)
    if place:
        rows = rows.filter(_beyond(keys, place, "lt" if back != descending else "gt"))
    sign = "-" if back != descending else ""
    found = list(rows.order_by(*(f"{sign}{key}" for key in keys))[: size + 1])
    more = len(found) > size
    shown = found[:size][::-1] if back else found[:size]
    name = write if len(keys) > 1 else (lambda row: str(row.pk))
    first, last = (name(shown[0]), name(shown[-1])) if shown else ("", "")
    has_newer = more if back else bool(place)
    has_older = True if back else more
    return Slice(shown, first if has_newer and shown else "", last if has_older and shown else "")


def _beyond(keys: tuple[str, ...], place: tuple[Any, ...], side: str) -> Q:
    condition = Q(**{f"{keys[0]}__{side}": place[0]})
    if len(keys) > 1:
        condition |= Q(**{keys[0]: place[0], f"{keys[1]}__{side}": place[1]})
        # Says nothing new, but lets the index begin at the place instead of at its start.
        condition &= Q(**{f"{keys[0]}__{side}e": place[0]})
    return condition


def _moment(text: str) -> tuple[datetime, int] | None:
    moment, _, pk = text.rpartition("_")
    try:
        return datetime.fromisoformat(moment), int(pk)
    except ValueError:
        return None


def _number(text: str) -> tuple[int] | None:
    return (int(text),) if text.isascii() and text.isdigit() and len(text) < 20 else None
