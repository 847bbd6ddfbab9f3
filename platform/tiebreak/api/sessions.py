"""Sessions: what the SDK calls a project, and we an experiment."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

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
    ensure_experiments,
    update_experiment,
)
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, object_body, workspace_of
from tiebreak.api.shapes import Shape, session_shape, statistics_shape


@api_view(["GET", "POST"])
def sessions(request: Request) -> Response:
    return _create(request) if request.method == "POST" else _list(request)


def _list(request: Request) -> Response:
    workspace, params = workspace_of(request), Params(request)
    rows = Experiment.objects.filter(workspace=workspace).select_related("dataset")
    conditions: dict[str, Any] = {
        "uid__in": params.uuids("id"),
        "name": params.text("name"),
        "name__icontains": params.text("name_contains"),
        "dataset__uid__in": params.uuids("reference_dataset"),
        "metadata__contains": params.object("metadata"),
        "dataset_version": params.moment("dataset_version"),
    }
    given = {key: value for key, value in conditions.items() if value is not None}
    free = params.flag("reference_free")
    if free is not None:
        given["dataset__isnull"] = free
    if not given:
        ensure_default(workspace)
    page = page_of(request, rows.filter(**given), ["-start_time", "-pk"])
    return Response(with_statistics(page, workspace, params.flag("include_stats")))


def ensure_default(workspace: Workspace) -> None:
    """Until a client has seen one session it asks again for every row that it reads."""
    ensure_experiments(workspace=workspace, names=[DEFAULT_NAME])


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


def _create(request: Request) -> Response:
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
