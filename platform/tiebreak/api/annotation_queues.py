"""Annotation queues."""

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework.decorators import api_view, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import AnnotationQueue, QueuedRun, Run
from experiments.services.annotation import (
    add_runs,
    create_queue,
    mark_reviewed,
    remove_run,
    update_queue,
)
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.authentication import MayAnnotate
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, json_body, object_body, to_uuid, workspace_of
from tiebreak.api.runs import run_shapes
from tiebreak.api.shapes import Shape
from tiebreak.api.wire import moment, raw


def _queue_shape(row: AnnotationQueue, workspace: Workspace) -> Shape:
    return {
        "id": row.uid,
        "tenant_id": workspace.uid,
        "name": row.name,
        "description": row.description,
        "queue_type": "single",
        "created_at": moment(row.created_at),
        "updated_at": moment(row.modified_at),
        "rubric_instructions": row.rubric_instructions,
        "rubric_items": raw(row.rubric_items),
    }


def _entry_shape(row: QueuedRun, queue: AnnotationQueue) -> Shape:
    return {
        "id": row.uid,
        "run_id": row.run_uid,
        "queue_id": queue.uid,
        "added_at": moment(row.added_at),
        "last_reviewed_time": moment(row.reviewed_at),
    }


@api_view(["GET", "POST"])
def annotation_queues(request: Request) -> Response:
    workspace = workspace_of(request)
    if request.method == "POST":
        body = object_body(request)
        queue = create_queue(
            workspace=workspace,
            name=body.needed_text("name"),
            uid=body.uuid("id"),
            description=body.text("description"),
            rubric_instructions=body.text("rubric_instructions"),
            rubric_items=_rubric(body),
        )
        return Response(_queue_shape(queue, workspace), status=201)
    params = Params(request)
    conditions: dict[str, Any] = {
        "uid__in": params.uuids("ids"),
        "name": params.text("name"),
        "name__icontains": params.text("name_contains"),
    }
    given = {key: value for key, value in conditions.items() if value is not None}
    rows = AnnotationQueue.objects.filter(workspace=workspace, **given)
    return Response([_queue_shape(row, workspace) for row in page_of(request, rows, ["-pk"])])


def _rubric(body: Fields) -> str | None:
    items = body.get("rubric_items")
    if items is not None and not (
        isinstance(items, list)
        and all(
            isinstance(item, dict) and isinstance(item.get("feedback_key"), str) for item in items
        )
    ):
        raise InvalidError("rubric_items", "must be a list of objects with a feedback_key")
    return body.raw("rubric_items")


def _find(request: Request, uid: str) -> AnnotationQueue:
    return access.find(AnnotationQueue.objects.all(), workspace_of(request), uid)


@api_view(["GET", "PATCH", "DELETE"])
def annotation_queue(request: Request, uid: str) -> Response:
    queue = _find(request, uid)
    if request.method == "DELETE":
        queue.delete()
        return Response({"message": "Deleted"})
    if request.method == "PATCH":
        body = object_body(request)
        texts = ("name", "description", "rubric_instructions")
        changes: dict[str, Any] = {name: body.text(name) for name in texts if name in body}
        if "rubric_items" in body:
            changes["rubric_items"] = _rubric(body)
        if changes.get("name", "") is None:
            raise InvalidError("name", "must not be null")
        update_queue(queue, **changes)
    return Response(_queue_shape(queue, workspace_of(request)))


@api_view(["GET", "POST"])
@permission_classes([MayAnnotate])
def queue_runs(request: Request, uid: str) -> Response:
    queue = _find(request, uid)
    if request.method == "POST":
        body = json_body(request)
        if not isinstance(body, list):
            raise InvalidError("body", "must be a list of run ids")
        return _added(queue, [to_uuid("run_id", item) for item in body])
    rows = queue.runs.all()
    match Params(request).text("status"):
        case "completed":
            rows = rows.exclude(reviewed_at=None)
        case "needs_my_review":
            rows = rows.filter(reviewed_at=None)
        case "needs_others_review":
            rows = rows.none()
    return Response(_with_runs(request, page_of(request, rows, ["pk"])))


@api_view(["POST"])
@permission_classes([MayAnnotate])
def queue_runs_by_key(request: Request, uid: str) -> Response:
    body = json_body(request)
    if not isinstance(body, list):
        raise InvalidError("body", "must be a list of keys of runs")
    return _added(_find(request, uid), [Fields.of(item).needed_uuid("run_id") for item in body])


def _added(queue: AnnotationQueue, uids: list[UUID]) -> Response:
    return Response([_entry_shape(row, queue) for row in add_runs(queue=queue, run_uids=uids)])


def _with_runs(request: Request, entries: list[QueuedRun]) -> list[Shape]:
    """The runs in the queue's order; one that was deleted meanwhile is left out."""
    uids = [entry.run_uid for entry in entries]
    rows = Run.objects.filter(workspace=workspace_of(request), uid__in=uids)
    runs = list(rows.select_related("experiment", "payload"))
    shapes = dict(zip((r.uid for r in runs), run_shapes(request, runs, None), strict=True))
    return [
        {
            **shape,
            "inputs": shape["inputs"] or {},
            "added_at": moment(entry.added_at),
            "last_reviewed_time": moment(entry.reviewed_at),
        }
        for entry in entries
        if (shape := shapes.get(entry.run_uid)) is not None
    ]


@api_view(["GET"])
def queue_run_at(request: Request, uid: str, index: int) -> Response:
    entry = _find(request, uid).runs.order_by("pk")[index : index + 1].first()
    found = _with_runs(request, [entry] if entry else [])
    if not found:
        raise Http404(f"This queue has no run at {index}")
    return Response(found[0])


@api_view(["PATCH", "DELETE"])
@permission_classes([MayAnnotate])
def queue_run(request: Request, uid: str, run_uid: str) -> Response:
    queue = _find(request, uid)
    if request.method == "DELETE":
        remove_run(queue=queue, run_uid=to_uuid("run_id", run_uid))
        return Response({"message": "Removed"})
    entry = queue.runs.filter(run_uid=to_uuid("run_id", run_uid)).first()
    if entry is None:
        raise Http404("This run is not in this queue")
    reviewed = object_body(request).moment("last_reviewed_time")
    return Response(_entry_shape(mark_reviewed(entry, reviewed), queue))
