"""Lists of version 2: sessions and datasets, walked by a cursor."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.queries.paging import is_moment, page_by_time
from tiebreak.api import sessions
from tiebreak.api.datasets import asked_datasets
from tiebreak.api.reading import Params, workspace_of
from tiebreak.api.shapes import dataset_shape
from tiebreak.api.v2.cursors import after, page

MAX_PAGE = 100
KINDS = {"EXPERIMENT": False, "PROJECT": True, "AGENT": None}


@api_view(["GET", "POST"])
def sessions_v2(request: Request) -> Response:
    """`type` is EXPERIMENT (over a dataset) or PROJECT; there are no agents here."""
    if request.method == "POST":
        return sessions.create(request)
    params = Params(request)
    rows = sessions.asked_sessions(request)
    if kinds := params.texts("type"):
        rows = _of_kinds(rows, kinds)
    _newest_first(params, "START_TIME")
    found = page_by_time(rows, "start_time", **_place(params))
    shapes = sessions.with_statistics(
        found.rows, workspace_of(request), params.flag("include_stats")
    )
    return Response(page(shapes, found.older or None))


def _of_kinds(rows: QuerySet[Any], kinds: list[str]) -> QuerySet[Any]:
    unknown = [kind for kind in kinds if kind.upper() not in KINDS]
    if unknown:
        raise InvalidError("type", f"must be any of {', '.join(KINDS)}")
    wanted = {KINDS[kind.upper()] for kind in kinds} - {None}
    if len(wanted) == 1:
        return rows.filter(dataset__isnull=wanted.pop())
    return rows if wanted else rows.none()


@api_view(["GET"])
def datasets_v2(request: Request) -> Response:
    """Datasets, the one changed last first."""
    params, workspace = Params(request), workspace_of(request)
    _newest_first(params, "LAST_UPDATED_AT", "MODIFIED_AT")
    rows = asked_datasets(request)
    found = page_by_time(rows, "modified_at", **_place(params))
    return Response(
        page([dataset_shape(row, workspace) for row in found.rows], found.older or None)
    )


def _place(params: Params) -> dict[str, Any]:
    """Where a page begins, and how long it is."""
    return {
        "size": params.integer("page_size", 20, low=1, high=MAX_PAGE),
        "after": after(params.text("cursor"), is_moment),
    }


def _newest_first(params: Params, *known: str) -> None:
    """The one order there is an index for; another one is refused, not ignored."""
    if (params.text("sort_by") or known[0]).upper() not in known:
        raise InvalidError("sort_by", f"must be {known[0]}")
    if (params.text("sort_order") or "desc").lower() != "desc":
        raise InvalidError("sort_order", "must be desc")
