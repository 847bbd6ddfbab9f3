"""Sessions: what the SDK calls a project, and we an experiment."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Experiment
from experiments.queries.experiment_statistics import root_counts, statistics_of
from experiments.queries.feedback import figures_of_experiments
from experiments.services.deletion import delete_experiment
from experiments.services.experiments import (
    DEFAULT_NAME,
    create_experiment,
    default_uid,
    update_experiment,
)
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, object_body, workspace_of
from tiebreak.api.shapes import Shape, session_shape, statistics_shape


@api_view(["GET", "POST"])
def sessions(request: Request) -> Response:
    return create(request) if request.method == "POST" else _list(request)


def _list(request: Request) -> Response:
    workspace, params = workspace_of(request), Params(request)
    page = page_of(request, asked_sessions(request), ["-start_time", "-pk"])
    shapes = with_statistics(page, workspace, params.flag("include_stats"))
    if not page and not set(request.query_params) - {"limit", "offset", "include_stats"}:
        shapes = [first_session(workspace)][params.offset : params.offset + params.limit]
    return Response(shapes)


def first_session(workspace: Workspace) -> Shape:
    """Stands in an empty workspace's list until something is written.

    Until a client has seen one session it asks again for every row that it reads.
    """
    uid = default_uid(workspace)
    row = Experiment(uid=uid, name=DEFAULT_NAME, start_time=workspace.created_at, extra="{}")
    return session_shape(row, workspace) | {"run_count": 0}


def asked_sessions(request: Request) -> QuerySet[Experiment]:
    """The sessions that a query string asks for."""
    workspace, params = workspace_of(request), Params(request)
    rows = Experiment.objects.filter(workspace=workspace).select_related("dataset")
    conditions: dict[str, Any] = {
        "uid__in": params.uuids("id"),
        "name": params.text("name"),
        "name__icontains": params.text("name_contains"),
        "dataset__uid__in": params.uuids("reference_dataset")
        or params.uuids("reference_dataset_id"),
        "metadata__contains": params.object("metadata"),
        "dataset_version": params.moment("dataset_version"),
    }
    given = {key: value for key, value in conditions.items() if value is not None}
    free = params.flag("reference_free")
    if free is not None:
        given["dataset__isnull"] = free
    return rows.filter(**given)


def with_statistics(
    page: Sequence[Experiment], workspace: Workspace, wanted: bool | None
) -> list[Shape]:
    """Everything, nothing, or, where the client does not say, the number of root runs."""
    ids = [row.pk for row in page]
    shapes = [session_shape(row, workspace) for row in page]
    if wanted is None:
        counts = root_counts(ids)
        extras: list[Shape] = [{"run_count": counts[pk]} for pk in ids]
    elif wanted:
        rows, figures = statistics_of(ids), figures_of_experiments(ids)
        extras = [
            statistics_shape(rows[pk], figures.get((pk, False), {}), figures.get((pk, True), {}))
            for pk in ids
        ]
    else:
        extras = [{} for _ in ids]
    return [shape | extra for shape, extra in zip(shapes, extras, strict=True)]


def create(request: Request) -> Response:
    workspace, body = workspace_of(request), object_body(request)
    name = body.needed_text("name")
    known = Experiment.objects.filter(workspace=workspace, name=name.strip()).first()
    if known is not None and Params(request).flag("upsert"):
        return Response(_one(_update(known, body), workspace, None))
    dataset_uid = body.uuid("reference_dataset_id")
    experiment = create_experiment(
        workspace=workspace,
        name=name,
        uid=body.uuid("id"),
        dataset=None if dataset_uid is None else access.dataset(workspace, dataset_uid),
        description=body.text("description"),
        extra=body.raw_object("extra") or "{}",
        start_time=body.moment("start_time"),
        end_time=body.moment("end_time"),
        num_examples=body.integer("num_examples"),
        num_repetitions=body.integer("num_repetitions"),
        evaluator_keys=body.texts("evaluator_keys"),
    )
    return Response(session_shape(experiment, workspace), status=201)


@api_view(["GET", "PATCH", "DELETE"])
def session(request: Request, uid: UUID | str) -> Response:
    workspace = workspace_of(request)
    row = access.experiment(workspace, uid)
    if request.method == "DELETE":
        delete_experiment(row)
        return Response({"message": "Deleted"})
    if request.method == "PATCH":
        _update(row, object_body(request))
    return Response(_one(row, workspace, Params(request).flag("include_stats")))


def _one(row: Experiment, workspace: Workspace, wanted: bool | None) -> Shape:
    return with_statistics([row], workspace, wanted)[0]


def _update(row: Experiment, body: Fields) -> Experiment:
    """Null means unchanged."""
    dataset_uid = body.uuid("reference_dataset_id")
    if dataset_uid is not None and row.dataset is not None and row.dataset.uid != dataset_uid:
        raise InvalidError("reference_dataset_id", "an experiment stays with its dataset")
    return update_experiment(
        row,
        name=body.text("name"),
        description=body.text("description"),
        end_time=body.moment("end_time"),
        extra=body.raw_object("extra"),
        dataset=None if dataset_uid is None else access.dataset(row.workspace, dataset_uid),
    )
