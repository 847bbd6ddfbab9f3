"""Runs and traces, version 2."""

from datetime import timedelta
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.models import Run, SharedLink
from experiments.queries.runs import RunQuestion, matching_runs, run_page
from experiments.services.sharing import share, unshare
from tiebreak import access
from tiebreak.api.authentication import AnyRole
from tiebreak.api.files import own_address
from tiebreak.api.reading import Fields, Params, object_body, to_uuid, workspace_of
from tiebreak.api.run_reading import RUN_TYPES
from tiebreak.api.run_shapes import RunView
from tiebreak.api.runs import Cursor, with_needed
from tiebreak.api.sharing import shared_run
from tiebreak.api.v2.cursors import page
from tiebreak.api.v2.shapes import checked_selects, run_shapes_v2

RECENTLY = timedelta(days=1)
MAX_PAGE = 1000


@api_view(["POST"])
@permission_classes([AnyRole])
def runs_query(request: Request) -> Response:
    body = object_body(request)
    question = _question(body)
    return _page(request, question, body, lambda shape: shape)


@api_view(["POST"])
@permission_classes([AnyRole])
def traces_query(request: Request) -> Response:
    """Traces are their root runs, with what the whole trace comes to."""
    body = object_body(request)
    project = body.uuid("project_id")
    question = RunQuestion(
        experiment_uids=None if project is None else [project],
        uids=body.uuids("trace_ids"),
        is_root=True,
        started_from=body.moment("min_start_time") or timezone.now() - RECENTLY,
        started_until=body.moment("max_start_time"),
        filter=body.text("trace_filter"),
        tree_filter=body.text("tree_filter"),
    )
    return _page(request, question, body, lambda shape: {"root_run": shape})


def _question(body: Fields) -> RunQuestion:
    run_type = (body.text("run_type") or "").lower()
    everything = body.uuids("ids") is not None or body.uuid("trace_id") is not None
    since = None if everything else timezone.now() - RECENTLY
    return RunQuestion(
        experiment_uids=body.uuids("project_ids"),
        uids=body.uuids("ids"),
        trace_uid=body.uuid("trace_id"),
        example_uids=body.uuids("reference_examples"),
        dataset_uid=body.uuid("reference_dataset_id"),
        run_type=run_type if run_type in RUN_TYPES else None,
        is_root=body.flag("is_root"),
        has_error=body.flag("has_error"),
        started_from=body.moment("min_start_time") or since,
        started_until=body.moment("max_start_time"),
        filter=body.text("filter"),
        trace_filter=body.text("trace_filter"),
        tree_filter=body.text("tree_filter"),
    )


def _page(request: Request, question: RunQuestion, body: Fields, wrap: object) -> Response:
    selects = checked_selects(body.texts("selects"))
    found = run_page(
        with_needed(matching_runs(workspace_of(request), question)),
        limit=body.integer("page_size", low=1, high=MAX_PAGE) or 100,
        after=Cursor.of(body.text("cursor")).after,
    )
    shapes = run_shapes_v2(request, found.runs, selects)
    cursor = Cursor(found.last).text() if found.last else None
    return Response(page([wrap(shape) for shape in shapes], cursor))  # type: ignore[operator]


@api_view(["GET"])
def run(request: Request, uid: str) -> Response:
    params = Params(request)
    row = _found(request, uid, params.uuid("project_id"))
    selects = checked_selects(params.texts("selects"))
    return Response(run_shapes_v2(request, [row], selects)[0])


def _found(request: Request, uid: str, project: UUID | None) -> Run:
    row = access.run(workspace_of(request), uid)
    if project is not None and row.experiment.uid != project:
        raise Http404("Run not found")
    return row


@api_view(["GET"])
def run_url(request: Request, uid: str) -> Response:
    workspace = workspace_of(request)
    row = _found(request, uid, Params(request).uuid("project_id"))
    return Response({"url": own_address(request) + RunView(row, workspace, {}).app_path()})


@api_view(["GET"])
def trace_runs(request: Request, trace: str) -> Response:
    """All runs of a trace in the order in which they began."""
    params = Params(request)
    project = params.uuid("project_id")
    question = RunQuestion(
        trace_uid=to_uuid("trace_id", trace),
        experiment_uids=None if project is None else [project],
        started_from=params.moment("min_start_time"),
        started_until=params.moment("max_start_time"),
        filter=params.text("filter"),
    )
    rows = with_needed(matching_runs(workspace_of(request), question))
    selects = checked_selects(params.texts("selects"))
    return Response({"items": run_shapes_v2(request, list(rows.order_by("dotted_order")), selects)})


@api_view(["POST", "DELETE"])
def run_share(request: Request, uid: str) -> Response:
    workspace = workspace_of(request)
    row = access.run(workspace, uid)
    kind = SharedLink.Kind.RUN
    if request.method == "DELETE":
        unshare(workspace=workspace, kind=kind, target_uid=row.uid)
        return Response({})
    return Response(
        {"share_token": share(workspace=workspace, kind=kind, target_uid=row.uid).token}
    )


@api_view(["POST"])
@authentication_classes([])
@permission_classes([])
def public_runs(request: Request, token: str) -> Response:
    """The runs of a shared trace."""
    shared = shared_run(request, token)
    selects = checked_selects(object_body(request).texts("selects"))
    rows = with_needed(
        Run.objects.filter(workspace=shared.workspace_id, trace_uid=shared.trace_uid)
    )
    return Response({"items": run_shapes_v2(request, list(rows.order_by("dotted_order")), selects)})


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def public_run(request: Request, token: str, uid: str) -> Response:
    shared = shared_run(request, token)
    row = access.run(workspace_of(request), uid)
    if row.trace_uid != shared.trace_uid:
        raise Http404("Run not found")
    selects = checked_selects(Params(request).texts("selects"))
    return Response(run_shapes_v2(request, [row], selects)[0])
