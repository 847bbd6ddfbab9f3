"""Threads: root runs that name the same conversation, version 2."""

from typing import Any

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum
from rest_framework.decorators import api_view, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Run
from experiments.queries.run_statistics import figures_of_set, run_statistics
from experiments.queries.runs import RunQuestion, matching_runs, run_page
from tiebreak import access
from tiebreak.api.authentication import AnyRole
from tiebreak.api.reading import Fields, Params, object_body, workspace_of
from tiebreak.api.runs import Cursor, with_needed
from tiebreak.api.shapes import Shape, figures_shape
from tiebreak.api.v2.cursors import page, start_of
from tiebreak.api.v2.shapes import checked_selects, run_shapes_v2
from tiebreak.api.wire import moment, number

MAX_PAGE = 100


@api_view(["POST"])
@permission_classes([AnyRole])
def threads_query(request: Request) -> Response:
    """The threads of a project, the one with the newest turn first."""
    body = object_body(request)
    start = start_of(body.text("cursor"))
    size = body.integer("page_size", low=1, high=MAX_PAGE) or 20
    threads = _turns(request, body).order_by().values("thread_id").annotate(**_SUMS)
    newest_first = threads.order_by(F("max_start_time").desc(), "thread_id")
    found: list[Any] = list(newest_first[start : start + size + 1])
    more = str(start + size) if len(found) > size else None
    return Response(page([_thread_shape(row) for row in found[:size]], more))


_SUMS: dict[str, Any] = {
    "count": Count("pk"),
    "min_start_time": Min("start_time"),
    "max_start_time": Max("start_time"),
    "num_errored_turns": Count("pk", filter=Q(status="error")),
    "tokens": Sum("total_tokens"),
    "cost": Sum("total_cost"),
}


def _turns(request: Request, body: Fields) -> QuerySet[Run]:
    question = RunQuestion(
        experiment_uids=[body.needed_uuid("project_id")],
        is_root=True,
        started_from=body.moment("min_start_time"),
        started_until=body.moment("max_start_time"),
        filter=body.text("filter") or body.text("trace_filter"),
        tree_filter=body.text("tree_filter"),
    )
    return matching_runs(workspace_of(request), question).exclude(thread_id=None)


def _thread_shape(row: dict[str, Any]) -> Shape:
    return {
        "thread_id": row["thread_id"],
        "count": row["count"],
        "start_time": moment(row["min_start_time"]),
        "min_start_time": moment(row["min_start_time"]),
        "max_start_time": moment(row["max_start_time"]),
        "num_errored_turns": row["num_errored_turns"],
        "total_tokens": row["tokens"],
        "total_cost": number(row["cost"]),
    }


def _of_thread(request: Request, thread: str, field: str) -> QuerySet[Run]:
    params = Params(request)
    project = params.uuid(field)
    if project is None:
        raise InvalidError(field, "is needed")
    question = RunQuestion(
        experiment_uids=[access.experiment(workspace_of(request), project).uid],
        is_root=True,
        filter=params.text("filter"),
    )
    return matching_runs(workspace_of(request), question).filter(thread_id=thread)


@api_view(["GET"])
def thread_traces(request: Request, thread: str) -> Response:
    """The turns of a thread, newest first."""
    params = Params(request)
    found = run_page(
        with_needed(_of_thread(request, thread, "project_id")),
        limit=params.integer("page_size", 20, high=MAX_PAGE) or 20,
        after=Cursor.of(params.text("cursor")).after,
    )
    selects = checked_selects(params.texts("selects") or ["TRACE_ID", "START_TIME", "NAME"])
    cursor = Cursor(found.last).text() if found.last else None
    return Response(page(run_shapes_v2(request, found.runs, selects), cursor))


@api_view(["GET"])
def thread_stats(request: Request, thread: str) -> Response:
    """What the turns of a thread come to."""
    rows = _of_thread(request, thread, "session_id")
    found = run_statistics(rows)
    times = rows.aggregate(first=Min("start_time"), last=Max("start_time"), end=Max("end_time"))
    answer = {
        "TURNS": found["run_count"],
        "FIRST_START_TIME": moment(times["first"]),
        "LAST_START_TIME": moment(times["last"]),
        "LAST_END_TIME": moment(times["end"]),
        "LATENCY_P50": found["latency_p50"],
        "LATENCY_P99": found["latency_p99"],
        "PROMPT_TOKENS": found["prompt_tokens"],
        "COMPLETION_TOKENS": found["completion_tokens"],
        "TOTAL_TOKENS": found["total_tokens"],
        "PROMPT_COST": number(found["prompt_cost"]),
        "COMPLETION_COST": number(found["completion_cost"]),
        "TOTAL_COST": number(found["total_cost"]),
        "FEEDBACK_STATS": figures_shape(figures_of_set(rows)),
    }
    selects = [name.upper() for name in Params(request).texts("selects") or answer]
    return Response({name.lower(): answer[name] for name in selects if name in answer})
