"""Sharing datasets and runs, and reading what is shared without a key."""

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.models import Dataset, Experiment, Run, SharedLink
from experiments.queries.examples import example_revisions
from experiments.services.sharing import share, unshare
from tiebreak import access
from tiebreak.api.datasets import with_sessions
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, object_body, to_uuid, workspace_of
from tiebreak.api.runs import run_shapes
from tiebreak.api.sessions import with_statistics
from tiebreak.api.shapes import dataset_shape, example_shape

Kind = SharedLink.Kind


@api_view(["GET", "PUT", "DELETE"])
def dataset_share(request: Request, uid: str) -> Response:
    dataset = access.dataset(workspace_of(request), uid)
    link = _act(request, Kind.DATASET, dataset.uid)
    if link is None and request.method == "GET":
        raise Http404("This dataset is not shared")
    return Response(link and {"dataset_id": dataset.uid, "share_token": link.token})


@api_view(["GET", "PUT", "DELETE"])
def run_share(request: Request, uid: str) -> Response:
    run = access.run(workspace_of(request), uid)
    link = _act(request, Kind.RUN, run.uid)
    return Response(link and {"run_id": run.uid, "share_token": link.token})


def _act(request: Request, kind: Kind, uid: UUID) -> SharedLink | None:
    """What the method asks for; the link that stands afterwards."""
    workspace = workspace_of(request)
    if request.method == "DELETE":
        unshare(workspace=workspace, kind=kind, target_uid=uid)
        return None
    if request.method == "PUT":
        token = object_body(request).uuid("share_token")
        return share(workspace=workspace, kind=kind, target_uid=uid, token=token)
    rows = SharedLink.objects.filter(workspace=workspace, kind=kind, target_uid=uid)
    return rows.first()


def _shared(request: Request, token: str, kind: Kind) -> Any:
    """The dataset or run behind a token; the request goes on in its workspace."""
    rows = SharedLink.objects.select_related("workspace")
    link = rows.filter(token=to_uuid("token", token), kind=kind).first()
    if link is None:
        raise Http404("Nothing is shared here")
    request.workspace = link.workspace  # type: ignore[attr-defined]
    find = access.dataset if kind == Kind.DATASET else access.run
    return find(link.workspace, link.target_uid)


def shared_run(request: Request, token: str) -> Run:
    run: Run = _shared(request, token, Kind.RUN)
    return run


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def public_dataset(request: Request, token: str) -> Response:
    dataset: Dataset = _shared(request, token, Kind.DATASET)
    row = with_sessions(Dataset.objects.filter(pk=dataset.pk)).get()
    return Response(dataset_shape(row, workspace_of(request)))


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def public_examples(request: Request, token: str) -> Response:
    dataset: Dataset = _shared(request, token, Kind.DATASET)
    rows = example_revisions(
        workspace_of(request), dataset=dataset, uids=Params(request).uuids("id")
    )
    return Response([example_shape(row) for row in page_of(request, rows, ["example_id"])])


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def public_sessions(request: Request, token: str) -> Response:
    dataset: Dataset = _shared(request, token, Kind.DATASET)
    params = Params(request)
    conditions = {
        "uid__in": params.uuids("id"),
        "name": params.text("name"),
        "name__icontains": params.text("name_contains"),
    }
    given = {key: value for key, value in conditions.items() if value is not None}
    rows = Experiment.objects.filter(dataset=dataset, **given).select_related("dataset")
    page = page_of(request, rows, ["-start_time", "-pk"])
    return Response(with_statistics(page, workspace_of(request), True))


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def public_run(request: Request, token: str, uid: str | None = None) -> Response:
    """The shared run, or another one of its trace."""
    shared = shared_run(request, token)
    wanted = shared.uid if uid is None else to_uuid("id", uid)
    return Response(_of_trace(request, shared, [wanted])[0])


@api_view(["POST"])
@authentication_classes([])
@permission_classes([])
def public_runs(request: Request, token: str) -> Response:
    shared = shared_run(request, token)
    body: Fields = object_body(request)
    return Response(
        {"runs": _of_trace(request, shared, body.uuids("id")), "cursors": {"next": None}}
    )


def _of_trace(request: Request, shared: Run, uids: list[UUID] | None) -> list[Any]:
    rows = Run.objects.filter(workspace=shared.workspace_id, trace_uid=shared.trace_uid)
    if uids is not None:
        rows = rows.filter(uid__in=uids)
    runs = list(rows.select_related("experiment", "payload").order_by("dotted_order"))
    if uids and not runs:
        raise Http404("Run not found")
    return run_shapes(request, runs, None)
