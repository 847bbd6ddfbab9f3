"""Addresses by which somebody without a key gives feedback on one run."""

from datetime import datetime, timedelta
from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from rest_framework.decorators import (
    api_view,
    authentication_classes,
    permission_classes,
)
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.ids import uuid7
from experiments.models import Feedback, FeedbackToken
from experiments.rawjson import dumps
from experiments.services.datasets import clean_name
from experiments.services.feedback import FeedbackEntry, store_feedback
from experiments.services.feedback_configs import note_configs
from tiebreak.accounts.models import Workspace
from tiebreak.api.feedback_reading import verdict_fields
from tiebreak.api.files import own_address
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, json_body, object_body, to_uuid, workspace_of
from tiebreak.api.shapes import Shape, feedback_shape
from tiebreak.api.wire import moment

VALID_FOR = timedelta(hours=3)
LONGEST = timedelta(days=3650)


@api_view(["GET", "POST"])
def feedback_tokens(request: Request) -> Response:
    workspace = workspace_of(request)
    if request.method == "GET":
        run = Params(request).uuid("run_id")
        rows = FeedbackToken.objects.filter(workspace=workspace)
        page = page_of(request, rows.filter(run_uid=run) if run else rows, ["-pk"])
        return Response([_shape(request, row) for row in page])
    body = json_body(request)
    if isinstance(body, list):
        return Response([_shape(request, _create(workspace, Fields.of(item))) for item in body])
    return Response(_shape(request, _create(workspace, Fields.of(body))))


def _create(workspace: Workspace, sent: Fields) -> FeedbackToken:
    key = clean_name("feedback_key", sent.needed_text("feedback_key"))
    config = sent.raw_object("feedback_config")
    if config is not None:
        note_configs(workspace, {key: config})
    return FeedbackToken.objects.create(
        workspace=workspace,
        uid=sent.uuid("id") or uuid7(),
        run_uid=sent.needed_uuid("run_id"),
        key=key,
        expires_at=sent.moment("expires_at") or timezone.now() + _duration(sent),
    )


def _duration(sent: Fields) -> timedelta:
    given = Fields(sent.object("expires_in") or {})
    parts = {name: given.integer(name, high=10**6) or 0 for name in ("days", "hours", "minutes")}
    duration = timedelta(**parts)
    if duration > LONGEST:
        raise InvalidError("expires_in", f"must be at most {LONGEST.days} days")
    return duration or VALID_FOR


def _shape(request: Request, row: FeedbackToken) -> Shape:
    return {
        "id": row.uid,
        "url": own_address(request) + reverse("feedback_token", args=[row.uid]),
        "expires_at": moment(row.expires_at),
    }


@api_view(["GET", "POST"])
@authentication_classes([])
@permission_classes([])
def feedback_by_token(request: Request, uid: str) -> Response:
    """Every request makes feedback of its own; a link in a mail sends it by GET."""
    rows = FeedbackToken.objects.select_related("workspace")
    token = rows.filter(uid=to_uuid("token", uid)).first()
    if token is None:
        raise Http404("This feedback token does not exist")
    _refuse_expired(token.expires_at)
    sent = _from_link(request) if request.method == "GET" else object_body(request)
    metadata = sent.object("metadata") or {}
    entry = FeedbackEntry(
        uid=uuid7(),
        key=token.key,
        run_uid=token.run_uid,
        source=dumps({"type": "api", "metadata": metadata}),
        **verdict_fields(sent),
    )
    store_feedback(workspace=token.workspace, entries=[entry])
    stored = Feedback.objects.select_related("experiment")
    return Response(feedback_shape(stored.get(workspace=token.workspace, uid=entry.uid)))


def _refuse_expired(expires_at: datetime) -> None:
    if expires_at <= timezone.now():
        raise PermissionDenied("This feedback token has expired.")


def _from_link(request: Request) -> Fields:
    values: dict[str, Any] = {
        name: request.query_params[name]
        for name in ("score", "value", "comment")
        if name in request.query_params
    }
    if "score" in values:
        try:
            values["score"] = float(values["score"])
        except ValueError as error:
            raise InvalidError("score", "must be a number") from error
    return Fields(values)
