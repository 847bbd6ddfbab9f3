"""Examples of a dataset beside the runs that experiments made of them."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from rest_framework.decorators import api_view, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.filters.runs import run_condition
from experiments.models import Dataset, Experiment, Run
from experiments.queries.examples import example_revisions
from tiebreak import access
from tiebreak.api.authentication import AnyRole
from tiebreak.api.reading import object_body, workspace_of
from tiebreak.api.runs import run_shapes, with_needed
from tiebreak.api.shapes import Shape, example_shape

MAX_PAGE = 100


@api_view(["POST"])
@permission_classes([AnyRole])
def dataset_runs(request: Request, uid: str) -> Response:
    """A page of examples, each with the root runs of the named sessions."""
    workspace, body = workspace_of(request), object_body(request)
    dataset = access.dataset(workspace, uid)
    experiments = sessions_of(dataset, body.uuids("session_ids") or [])
    offset = body.integer("offset", high=10**12) or 0
    limit = body.integer("limit", high=MAX_PAGE)
    page = example_revisions(workspace, dataset=dataset, as_of=experiments[0].dataset_version)
    rows = page.order_by("example_id")[offset : offset + (MAX_PAGE if limit is None else limit)]
    comparison = body.uuid("comparative_experiment_id")
    by_example = runs_by_example(
        experiments,
        [row.example.uid for row in rows],
        body.object("filters") or {},
        lambda runs: run_shapes(request, runs, None, comparison_uid=comparison),
    )
    return Response(
        [example_shape(row) | {"runs": by_example.get(row.example.uid, [])} for row in rows]
    )


def sessions_of(dataset: Dataset, uids: list[UUID]) -> list[Experiment]:
    """The named experiments over a dataset."""
    if not uids:
        raise InvalidError("session_ids", "must name at least one session")
    rows = Experiment.objects.filter(dataset=dataset)
    return [access.find(rows, dataset.workspace, uid) for uid in uids]


def runs_by_example(
    experiments: list[Experiment],
    examples: list[UUID],
    filters: dict[str, Any],
    shape: Callable[[Sequence[Run]], list[Shape]],
) -> dict[UUID, list[Shape]]:
    """By example, in the order of the experiments and of their repetitions."""
    found: dict[UUID, list[Shape]] = defaultdict(list)
    for experiment in experiments:
        rows = Run.objects.filter(experiment=experiment, is_root=True, example_uid__in=examples)
        for text in filters.get(str(experiment.uid)) or []:
            rows = rows.filter(run_condition(str(text)))
        runs = list(with_needed(rows).order_by("start_time", "id"))
        for run, shaped in zip(runs, shape(runs), strict=True):
            if run.example_uid is not None:
                found[run.example_uid].append(shaped)
    return found
