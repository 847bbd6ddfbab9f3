"""What stands in annotation queues, as the generated client asks for it."""

from collections.abc import Sequence

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from rest_framework.decorators import api_view, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import AnnotationQueue, QueuedRun, Run
from experiments.queries.paging import is_key, page_by_key
from experiments.services.annotation import add_runs, mark_reviewed
from tiebreak import access
from tiebreak.api.authentication import MayAnnotate
from tiebreak.api.reading import Fields, Params, object_body, to_uuid, workspace_of
from tiebreak.api.shapes import Shape
from tiebreak.api.v2.cursors import after, page
from tiebreak.api.wire import moment

STATUSES = ("all", "needs_my_review", "needs_others_review", "archived")
MAX_PAGE = 100


def _queue(request: Request, uid: str) -> AnnotationQueue:
    return access.find(AnnotationQueue.objects.all(), workspace_of(request), uid)


def _item(rows: QuerySet[QueuedRun], uid: str) -> QueuedRun:
    found = rows.filter(uid=to_uuid("item_id", uid)).select_related("queue").first()
    if found is None:
        raise Http404("Item not found")
    return found


def _shapes(rows: Sequence[QueuedRun], request: Request) -> list[Shape]:
    workspace = workspace_of(request)
    runs = Run.objects.filter(workspace=workspace, uid__in=[row.run_uid for row in rows])
    projects = dict(runs.values_list("uid", "experiment__uid"))
    return [
        {
            "id": row.uid,
            "item_type": "RUN",
            "run_id": row.run_uid,
            "project_id": projects.get(row.run_uid),
            "queue_id": row.queue.uid,
            "added_at": moment(row.added_at),
            "effective_added_at": moment(row.added_at),
            "last_reviewed_time": moment(row.reviewed_at),
        }
        for row in rows
    ]


def _asked(request: Request, queue: AnnotationQueue) -> QuerySet[QueuedRun]:
    params = Params(request)
    rows = queue.runs.select_related("queue")
    if (params.text("item_type") or "RUN").upper() != "RUN":
        return rows.none()
    match params.text("status") or "all":
        case "all":
            return rows
        case "needs_my_review":
            return rows.filter(reviewed_at=None)
        case "needs_others_review":
            return rows.none()
        case "archived":
            return rows.exclude(reviewed_at=None)
    raise InvalidError("status", f"must be one of {', '.join(STATUSES)}")


@api_view(["GET", "POST"])
@permission_classes([MayAnnotate])
def items(request: Request, uid: str) -> Response:
    """The runs in a queue in its order; or put runs at its end."""
    queue = _queue(request, uid)
    if request.method == "POST":
        given = object_body(request).get("items")
        if not isinstance(given, list):
            raise InvalidError("items", "must be a list of objects with a run_id")
        uids = [Fields.of(item, "items").needed_uuid("run_id") for item in given]
        added = add_runs(queue=queue, run_uids=uids)
        return Response({"items": _shapes(added, request)}, status=201)
    params = Params(request)
    found = page_by_key(
        _asked(request, queue),
        size=params.integer("page_size", 20, low=1, high=MAX_PAGE),
        after=after(params.text("cursor"), is_key),
    )
    return Response(page(_shapes(found.rows, request), found.older or None))


@api_view(["GET"])
def items_count(request: Request, uid: str) -> Response:
    """How many stand in a queue by `status`."""
    return Response({"count": _asked(request, _queue(request, uid)).count()})


@api_view(["POST"])
@permission_classes([MayAnnotate])
def items_delete(request: Request, uid: str) -> Response:
    """Take the named items out; `item_ids` must name some."""
    queue, uids = _queue(request, uid), object_body(request).uuids("item_ids")
    if not uids:
        raise InvalidError("item_ids", "must name the items to take out")
    queue.runs.filter(uid__in=uids).delete()
    return Response({"message": "Removed"})


@api_view(["PATCH"])
@permission_classes([MayAnnotate])
def item(request: Request, uid: str, item_uid: str) -> Response:
    """Note a review."""
    row = _item(_queue(request, uid).runs.all(), item_uid)
    body = object_body(request)
    if "last_reviewed_time" in body:
        mark_reviewed(row, body.moment("last_reviewed_time"))
    return Response(_shapes([row], request)[0])


@api_view(["POST"])
@permission_classes([MayAnnotate])
def item_status(request: Request, item_uid: str) -> Response:
    """`completed` is reviewed now, `viewed` leaves an item where it is."""
    rows = QueuedRun.objects.filter(queue__workspace=workspace_of(request))
    row, status = _item(rows, item_uid), object_body(request).text("status")
    if status not in ("viewed", "completed"):
        raise InvalidError("status", "must be viewed or completed")
    if status == "completed":
        mark_reviewed(row, timezone.now())
    return Response(_shapes([row], request)[0])
