"""Runs as version 2 gives them: only the selected fields, named in capitals."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from rest_framework.request import Request

from experiments.errors import InvalidError
from experiments.models import Attachment, Run
from experiments.queries.feedback import figures_of_runs
from tiebreak.accounts.models import Workspace
from tiebreak.api.files import link_maker
from tiebreak.api.reading import workspace_of
from tiebreak.api.run_shapes import FIELDS as V1
from tiebreak.api.run_shapes import RunView
from tiebreak.api.runs import attachments_of_runs
from tiebreak.api.shapes import Shape, figures_shape
from tiebreak.api.wire import raw

PREVIEW = 200


def _preview(text: str | None) -> str | None:
    return None if text is None else text[:PREVIEW]


def _latency(view: RunView) -> float | None:
    end = view.run.end_time
    return None if end is None else max(0.0, (end - view.run.start_time).total_seconds())


def _details(view: RunView, key: str) -> Shape | None:
    found = view.usage(key)
    return None if found is None else {"raw": found}


def _dataset(view: RunView) -> Any:
    dataset = view.run.experiment.dataset
    return None if dataset is None else dataset.uid


FIELDS: dict[str, Callable[[RunView], Any]] = {
    name.upper(): V1[name]
    for name in (
        "id",
        "name",
        "start_time",
        "end_time",
        "trace_id",
        "parent_run_ids",
        "reference_example_id",
        "tags",
        "thread_id",
        "first_token_time",
        "inputs",
        "outputs",
        "error",
        "events",
        "extra",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "prompt_cost",
        "completion_cost",
        "total_cost",
        "app_path",
    )
} | {
    "PROJECT_ID": V1["session_id"],
    "RUN_TYPE": lambda v: V1["run_type"](v).upper(),
    "STATUS": lambda v: v.run.status.upper(),
    "DOTTED_ORDER": lambda v: v.run.dotted_order or None,
    "IS_ROOT": lambda v: v.run.is_root,
    "IS_IN_DATASET": V1["in_dataset"],
    "LATENCY_SECONDS": _latency,
    "LATENCY": _latency,
    "METADATA": lambda v: v.run.metadata,
    "MANIFEST": lambda v: raw(v.payload.serialized),
    "REFERENCE_DATASET_ID": _dataset,
    "ERROR_PREVIEW": lambda v: _preview(v.payload.error),
    "INPUTS_PREVIEW": lambda v: _preview(v.payload.inputs),
    "OUTPUTS_PREVIEW": lambda v: _preview(v.payload.outputs),
    "PROMPT_TOKEN_DETAILS": lambda v: _details(v, "input_token_details"),
    "COMPLETION_TOKEN_DETAILS": lambda v: _details(v, "output_token_details"),
    "PROMPT_COST_DETAILS": lambda v: _details(v, "input_cost_details"),
    "COMPLETION_COST_DETAILS": lambda v: _details(v, "output_cost_details"),
    "FEEDBACK_STATS": lambda v: figures_shape(v.figures),
    "ATTACHMENTS": lambda v: v.attachment_urls or {},
}
# Known to the client, but nothing that this server has.
NOTHING = (
    "PRICE_MODEL_ID",
    "THREAD_EVALUATION_TIME",
    "LAST_QUEUED_AT",
    "SHARE_URL",
    "LS_USER_ID",
    "OP",
    "TURN_NUMBER",
)


def checked_selects(names: Sequence[str] | None) -> list[str]:
    """The fields to return; without any, only the id."""
    selects = [name.upper() for name in names or ["ID"]]
    for name in selects:
        if name not in FIELDS and name not in NOTHING:
            raise InvalidError("selects", f"{name[:40]!r} is not a field of a run")
    return selects


def run_shapes_v2(
    request: Request, rows: Sequence[Run], selects: Collection[str], **figures_of: Any
) -> list[Shape]:
    workspace: Workspace = workspace_of(request)
    uids = [row.uid for row in rows]
    wants_figures = "FEEDBACK_STATS" in selects
    figures = figures_of_runs(workspace, uids, **figures_of) if wants_figures else {}
    files = attachments_of_runs(rows) if "ATTACHMENTS" in selects else {}
    views = [
        RunView(row, workspace, figures.get(row.uid, {}), _links(request, files.get(row.pk, [])))
        for row in rows
    ]
    return [{name.lower(): FIELDS[name](v) for name in selects if name in FIELDS} for v in views]


def _links(request: Request, rows: Sequence[Attachment]) -> Shape:
    link = link_maker(request)
    return {row.name: link(row) for row in rows}
