"""Examples beside the runs that experiments made of them, version 2."""

from django.db.models.expressions import OrderBy
from rest_framework.decorators import api_view, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Experiment
from experiments.queries.examples import example_revisions, mean_of_example
from tiebreak import access
from tiebreak.api.authentication import AnyRole
from tiebreak.api.reading import Fields, object_body, workspace_of
from tiebreak.api.results import runs_by_example, sessions_of
from tiebreak.api.shapes import example_shape
from tiebreak.api.v2.cursors import page, start_of
from tiebreak.api.v2.shapes import checked_selects, run_shapes_v2


@api_view(["POST"])
@permission_classes([AnyRole])
def experiment_runs(request: Request, uid: str) -> Response:
    """Paged by the number of examples given, over the version that the first experiment saw."""
    workspace, body = workspace_of(request), object_body(request)
    dataset = access.dataset(workspace, uid)
    experiments = sessions_of(dataset, body.uuids("experiment_ids") or [])
    start = start_of(body.text("cursor"))
    size = body.integer("page_size", low=1, high=100) or 20
    rows = example_revisions(
        workspace,
        dataset=dataset,
        as_of=experiments[0].dataset_version,
        uids=body.uuids("example_ids"),
    )
    ordered = rows.order_by(*_order(body, experiments), "example_id")
    found = list(ordered[start : start + size + 1])
    selects = checked_selects(body.texts("selects"))
    comparison = body.uuid("comparative_experiment_id")
    by_example = runs_by_example(
        experiments,
        [row.example.uid for row in found[:size]],
        body.object("filters") or {},
        lambda runs: run_shapes_v2(request, runs, selects, comparison_uid=comparison),
    )
    items = [
        example_shape(row) | {"runs": by_example.get(row.example.uid, [])} for row in found[:size]
    ]
    return Response(page(items, str(start + size) if len(found) > size else None))


def _order(body: Fields, experiments: list[Experiment]) -> list[OrderBy]:
    """By the mean of a feedback key over the first experiment's runs; those without come last."""
    if body.get("sort") is None:
        return []
    sort = Fields.of(body.get("sort"), "sort")
    by, direction = sort.needed_text("by"), (sort.text("order") or "ASC").upper()
    key = by.removeprefix("feedback.")
    if key == by or not key:
        raise InvalidError("sort", "by must be feedback. and a key")
    if direction not in ("ASC", "DESC"):
        raise InvalidError("sort", "order must be ASC or DESC")
    mean = mean_of_example(experiments[0], key)
    return [mean.desc(nulls_last=True) if direction == "DESC" else mean.asc(nulls_last=True)]
