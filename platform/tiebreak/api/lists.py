"""Lists that clients walk by offset.

Each walk remembers, for ten minutes, the key of the last row of every page it was given, and goes
on behind that row: page N costs what page 1 costs, and rows that others add or delete meanwhile
are neither the cause of a repetition nor of a gap.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Model, Q, QuerySet
from redis.exceptions import RedisError
from rest_framework.request import Request

from tiebreak.api.reading import Params, key_of

Row = TypeVar("Row", bound=Model)

REMEMBERED = 600


def page_of(request: Request, rows: QuerySet[Row], order: Sequence[str]) -> list[Row]:
    """The page that `limit` and `offset` ask for; `order` ends in a unique column."""
    params = Params(request)
    offset, limit = params.offset, params.limit
    walk = _walk(request)
    rows = rows.order_by(*order)
    last = _remembered(f"{walk}:{offset}") if offset else None
    if last is not None:
        page = list(rows.filter(_behind(order, last))[:limit])
    else:
        page = list(rows[offset : offset + limit])
    if page:
        with suppress(RedisError):
            cache.set(f"{walk}:{offset + len(page)}", _key(page[-1], order), REMEMBERED)
    return page


def _remembered(name: str) -> list[Any] | None:
    """Without the cache a walk counts rows, as anybody would."""
    with suppress(RedisError):
        found: list[Any] | None = cache.get(name)
        return found
    return None


def _walk(request: Request) -> str:
    """Who walks through what."""
    query = sorted(
        (name, value)
        for name, values in request.query_params.lists()
        for value in values
        if name not in ("offset", "limit")
    )
    who = key_of(request).pk if request.auth else None
    text = f"{who} {request.path.rstrip('/')} {urlencode(query)}"
    return "walk:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _key(row: Model, order: Sequence[str]) -> list[Any]:
    return [getattr(row, column.lstrip("-")) for column in order]


def _behind(order: Sequence[str], last: Sequence[Any]) -> Q:
    """Rows behind a key in an order of one or more columns."""
    behind, equal = Q(), Q()
    for column, value in zip(order, last, strict=True):
        name = column.lstrip("-")
        lookup = "lt" if column.startswith("-") else "gt"
        behind |= equal & Q(**{f"{name}__{lookup}": value})
        equal &= Q(**{name: value})
    return behind
