"""Datasets."""

from typing import Any

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Dataset, DataType, Experiment
from experiments.services.datasets import create_dataset, update_dataset
from experiments.services.deletion import delete_dataset
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, object_body, workspace_of
from tiebreak.api.shapes import dataset_shape


def with_sessions(rows: QuerySet[Dataset]) -> QuerySet[Dataset]:
    """Adds how many experiments a dataset has, and when the newest began."""
    sessions = Experiment.objects.filter(dataset=OuterRef("pk")).order_by().values("dataset")
    return rows.annotate(
        session_count=Coalesce(Subquery(sessions.annotate(n=Count("pk")).values("n")), 0),
        last_session_start_time=Subquery(sessions.annotate(m=Max("start_time")).values("m")),
    )


@api_view(["GET", "POST"])
def datasets(request: Request) -> Response:
    return _create(request) if request.method == "POST" else _list(request)


def _list(request: Request) -> Response:
    page = page_of(request, asked_datasets(request), ["-pk"])
    return Response([dataset_shape(row, workspace_of(request)) for row in page])


def asked_datasets(request: Request) -> QuerySet[Dataset]:
    """The datasets that a query string asks for."""
    workspace, params = workspace_of(request), Params(request)
    rows = with_sessions(Dataset.objects.filter(workspace=workspace))
    conditions: dict[str, Any] = {
        "uid__in": params.uuids("id"),
        "name": params.text("name"),
        "name__icontains": params.text("name_contains"),
        "data_type__in": params.texts("data_type"),
        "metadata__contains": params.object("metadata"),
    }
    return rows.filter(**{key: value for key, value in conditions.items() if value is not None})


def _create(request: Request) -> Response:
    workspace, body = workspace_of(request), object_body(request)
    extra = Fields(body.object("extra") or {})
    dataset = create_dataset(
        workspace=workspace,
        name=body.needed_text("name"),
        uid=body.uuid("id"),
        description=body.text("description"),
        data_type=body.text("data_type") or DataType.KV,
        metadata=body.object("metadata") or extra.object("metadata") or {},
        inputs_schema=body.raw_object("inputs_schema_definition"),
        outputs_schema=body.raw_object("outputs_schema_definition"),
        transformations=body.raw("transformations"),
        created_at=body.moment("created_at"),
    )
    return Response(dataset_shape(dataset, workspace), status=201)


@api_view(["GET", "PATCH", "DELETE"])
def dataset(request: Request, uid: str) -> Response:
    workspace = workspace_of(request)
    row = access.find(with_sessions(Dataset.objects.all()), workspace, uid)
    if request.method == "PATCH":
        _update(row, workspace, object_body(request))
    if request.method == "DELETE":
        delete_dataset(row)
        return Response({"message": "Deleted"})
    return Response(dataset_shape(row, workspace))


def _update(row: Dataset, workspace: Workspace, body: Fields) -> None:
    """Only the fields that are there change; a description may be emptied by null."""
    changes: dict[str, Any] = {}
    if body.text("name") is not None:
        changes["name"] = body.text("name")
    if "description" in body:
        changes["description"] = body.text("description")
    if body.object("metadata") is not None:
        changes["metadata"] = body.object("metadata")
    for field in ("inputs_schema", "outputs_schema"):
        if f"{field}_definition" in body:
            changes[field] = body.raw_object(f"{field}_definition")
    if "transformations" in body:
        changes["transformations"] = body.raw("transformations")
    if body.text("data_type") not in (None, row.data_type):
        raise InvalidError("data_type", "cannot change once the dataset exists")
    update_dataset(row, **changes)
