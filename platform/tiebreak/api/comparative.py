"""Comparative experiments, made by scripts that judge themselves."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.http import Http404
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.ids import uuid7
from experiments.models import Comparison, Dataset, Experiment
from experiments.queries.feedback import figures_of_comparisons
from experiments.services.comparisons import record_sdk_comparison
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, object_body, workspace_of
from tiebreak.api.shapes import comparison_shape


@api_view(["GET", "POST"])
def comparative(request: Request) -> Response:
    return _create(request) if request.method == "POST" else _list(request)


def _create(request: Request) -> Response:
    workspace, body = workspace_of(request), object_body(request)
    uid = body.uuid("id") or uuid7()
    known = Comparison.objects.filter(workspace=workspace, uid=uid).first()
    if known is not None:
        return Response(_shapes(workspace, [known])[0])
    experiments = _experiments(workspace, body.uuids("experiment_ids") or [])
    extra = Fields(body.object("extra") or {})
    comparison = record_sdk_comparison(
        workspace=workspace,
        uid=uid,
        name=body.needed_text("name"),
        description=body.text("description"),
        experiments=experiments,
        dataset=_dataset(workspace, experiments, body.uuid("reference_dataset_id")),
        extra=body.raw_object("extra"),
        metadata=extra.object("metadata") or body.object("metadata") or {},
        created_at=body.moment("created_at") or timezone.now(),
    )
    return Response(_shapes(workspace, [comparison])[0], status=201)


def _experiments(workspace: Workspace, uids: list[UUID]) -> list[Experiment]:
    if len(uids) < 2 or len(set(uids)) < len(uids):
        raise InvalidError("experiment_ids", "must name two or more different experiments")
    rows = Experiment.objects.filter(workspace=workspace, uid__in=uids).select_related("dataset")
    by_uid = {row.uid: row for row in rows}
    for uid in uids:
        if uid not in by_uid:
            raise Http404(f"Experiment {uid} not found")
    return [by_uid[uid] for uid in uids]


def _dataset(workspace: Workspace, experiments: list[Experiment], uid: UUID | None) -> Dataset:
    """The one dataset that all experiments ran over."""
    if uid is not None:
        access.dataset(workspace, uid)
    first = experiments[0].dataset
    if first is None or any(row.dataset_id != first.pk for row in experiments):
        raise InvalidError("experiment_ids", "must be experiments over the same dataset")
    if uid not in (None, first.uid):
        raise InvalidError("reference_dataset_id", "is not the dataset of these experiments")
    return first


def _list(request: Request) -> Response:
    workspace, params = workspace_of(request), Params(request)
    conditions = {
        "uid__in": params.uuids("id"),
        "name": params.text("name"),
        "name__icontains": params.text("name_contains"),
        "dataset__uid": params.uuid("reference_dataset_id"),
    }
    given = {key: value for key, value in conditions.items() if value is not None}
    rows = Comparison.objects.filter(workspace=workspace, **given).select_related("dataset")
    return Response(_shapes(workspace, page_of(request, rows, ["-created_at", "-pk"])))


@api_view(["GET"])
def comparison(request: Request, uid: str) -> Response:
    workspace = workspace_of(request)
    return Response(_shapes(workspace, [access.comparison(workspace, uid)])[0])


def _shapes(workspace: Workspace, rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """However many rows: the sides are one query, the figures another."""
    prefetch_related_objects(rows, "sides__experiment")
    figures = figures_of_comparisons(workspace, [row.uid for row in rows])
    return [comparison_shape(row, workspace, figures.get(row.uid, {})) for row in rows]
