"""What the scores of feedback keys mean."""

from uuid import UUID

from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import FeedbackConfig
from experiments.services.feedback_configs import set_config, update_config
from tiebreak.accounts.models import Workspace
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, object_body, workspace_of
from tiebreak.api.shapes import Shape
from tiebreak.api.wire import moment, raw


def _shape(row: FeedbackConfig, workspace: Workspace) -> Shape:
    return {
        "id": row.uid,
        "tenant_id": workspace.uid,
        "feedback_key": row.key,
        "feedback_config": raw(row.config),
        "is_lower_score_better": row.is_lower_score_better,
        "is_enforced": row.is_enforced,
        "modified_at": moment(row.modified_at),
    }


@api_view(["GET", "POST", "PATCH", "DELETE"])
def feedback_configs(request: Request) -> Response:
    workspace, params = workspace_of(request), Params(request)
    if request.method == "POST":
        return Response(_shape(_create(workspace, object_body(request)), workspace))
    if request.method == "PATCH":
        return Response(_shape(_update(workspace, object_body(request)), workspace))
    if request.method == "DELETE":
        _find(workspace, params.text("feedback_key"), params.uuid("id")).delete()
        return Response(status=204)
    conditions = {"key__in": params.texts("key"), "key__icontains": params.text("name_contains")}
    given = {name: value for name, value in conditions.items() if value is not None}
    rows = FeedbackConfig.objects.filter(workspace=workspace, **given)
    return Response([_shape(row, workspace) for row in page_of(request, rows, ["key", "pk"])])


def _find(workspace: Workspace, key: str | None, uid: UUID | None) -> FeedbackConfig:
    rows = FeedbackConfig.objects.filter(workspace=workspace)
    if key is not None:
        rows = rows.filter(key=key)
    elif uid is not None:
        rows = rows.filter(uid=uid)
    else:
        raise InvalidError("feedback_key", "is needed, or an id")
    row = rows.first()
    if row is None:
        raise Http404("Feedback config not found")
    return row


def _create(workspace: Workspace, body: Fields) -> FeedbackConfig:
    """A key that is configured otherwise is a mistake of the request, by the SDK's contract."""
    config = body.raw_object("feedback_config")
    if config is None:
        raise InvalidError("feedback_config", "is needed")
    try:
        return set_config(
            workspace=workspace,
            key=body.needed_text("feedback_key"),
            config=config,
            is_lower_score_better=body.flag("is_lower_score_better"),
            is_enforced=body.flag("is_enforced") or False,
        )
    except InvalidError as error:
        raise ParseError(str(error)) from error


def _update(workspace: Workspace, body: Fields) -> FeedbackConfig:
    return update_config(
        _find(workspace, body.text("feedback_key"), body.uuid("id")),
        config=body.raw_object("feedback_config"),
        is_lower_score_better=body.flag("is_lower_score_better"),
        is_enforced=body.flag("is_enforced"),
    )
