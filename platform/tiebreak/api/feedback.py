"""Feedback."""

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework.decorators import api_view, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Experiment, Feedback
from experiments.queries.feedback import feedback_with_id
from experiments.services.feedback import (
    FeedbackEntry,
    delete_feedback,
    known_comparisons,
    store_feedback,
    update_feedback,
)
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.authentication import MayAnnotate
from tiebreak.api.feedback_reading import read_feedback, verdict_fields
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, json_body, object_body, workspace_of
from tiebreak.api.shapes import feedback_shape


@api_view(["GET", "POST"])
@permission_classes([MayAnnotate])
def feedback_list(request: Request) -> Response:
    return _create(request) if request.method == "POST" else _list(request)


def _create(request: Request) -> Response:
    """A run that is not here yet is no reason to refuse: the feedback waits for it."""
    workspace = workspace_of(request)
    entry = read_feedback(json_body(request))
    _must_exist(workspace, entry)
    store_feedback(workspace=workspace, entries=[entry])
    return Response(feedback_shape(_fetched(workspace, entry.uid)))


def _must_exist(workspace: Workspace, entry: FeedbackEntry) -> None:
    uid = entry.comparison_uid
    if uid is not None and not known_comparisons(workspace, [uid]):
        raise Http404(f"The pairwise experiment {uid} does not exist")
    if entry.run_uid is None:
        access.find(Experiment.objects.all(), workspace, str(entry.experiment_uid))


def _fetched(workspace: Workspace, uid: UUID | str) -> Feedback:
    """404 for what is no id as well."""
    try:
        row = feedback_with_id(workspace, UUID(str(uid)))
    except ValueError:
        row = None
    if row is None:
        raise Http404("Feedback not found")
    return row


def _list(request: Request) -> Response:
    workspace, params = workspace_of(request), Params(request)
    sources = params.texts("source")
    conditions: dict[str, Any] = {
        "run_uid__in": params.uuids("run"),
        "uid__in": params.uuids("id"),
        "key__in": params.texts("key"),
        "source_type__in": None if sources is None else [_source(text) for text in sources],
        "experiment__uid__in": params.uuids("session"),
        "comparison_uid": params.uuid("comparative_experiment_id"),
        "group_uid": params.uuid("feedback_group_id"),
        "trace_uid__in": params.uuids("trace"),
        "created_at__gte": params.moment("min_created_at"),
        "created_at__lt": params.moment("max_created_at"),
    }
    given = {key: value for key, value in conditions.items() if value is not None}
    if (has_score := params.flag("has_score")) is not None:
        given["score__isnull"] = not has_score
    if (has_comment := params.flag("has_comment")) is not None:
        given["comment__isnull"] = not has_comment
    if (level := params.text("level")) is not None:
        given["run_uid__isnull"] = level == "session"
    rows = Feedback.objects.filter(workspace=workspace, **given).select_related("experiment")
    page = page_of(request, rows, ["-created_at", "-pk"])
    return Response([feedback_shape(row) for row in page])


def _source(text: str) -> str:
    """Some clients send the name of an enumeration's member."""
    return text.rpartition(".")[2].lower()


@api_view(["GET", "PATCH", "DELETE"])
@permission_classes([MayAnnotate])
def feedback(request: Request, uid: str) -> Response:
    row = _fetched(workspace_of(request), uid)
    if request.method == "DELETE":
        delete_feedback(row)
        return Response({"message": "Deleted"})
    if request.method == "PATCH":
        row = update_feedback(row, _changes(object_body(request)))
    return Response(feedback_shape(row))


def _changes(body: Fields) -> dict[str, object]:
    """What the body names changes; null empties it."""
    fields = verdict_fields(body)
    names = [name for name in ("score", "value", "comment", "correction") if name in body]
    if not names:
        raise InvalidError("body", "names none of score, value, comment and correction")
    changes = {name: fields[name] for name in names}
    if "score" in names:
        changes["score_text"] = fields["score_text"]
    return changes
