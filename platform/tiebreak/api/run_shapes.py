"""A run as the SDK reads it, whole or only the fields that were asked for."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from experiments.models import Run, RunPayload
from experiments.queries.feedback import Figures
from experiments.services.run_pieces import reported_usage
from tiebreak.accounts.models import Workspace
from tiebreak.api.shapes import Shape, figures_shape
from tiebreak.api.wire import moment, number, raw


@dataclass(frozen=True)
class RunView:
    """A run with what stands beside it."""

    run: Run
    workspace: Workspace
    figures: Figures
    attachment_urls: Shape | None = None

    @property
    def payload(self) -> RunPayload:
        payload: RunPayload | None = getattr(self.run, "payload", None)
        return payload or RunPayload(run=self.run)

    def above(self) -> list[str]:
        """The ids from the root down to the parent."""
        return [step[-36:] for step in self.run.dotted_order.split(".")[:-1]]

    def usage(self, key: str) -> dict[str, Any] | None:
        reported = reported_usage(self.run.metadata, self.payload.outputs)
        value = (reported or {}).get(key)
        return value if isinstance(value, dict) else None

    def app_path(self) -> str:
        run = self.run
        return f"/o/{self.workspace.uid}/projects/p/{run.experiment.uid}/r/{run.uid}?poll=true"


def _counts(details: dict[str, Any] | None) -> dict[str, int] | None:
    """The SDK accepts whole numbers only."""
    if details is None:
        return None
    return {key: value for key, value in details.items() if isinstance(value, int)}


FIELDS: dict[str, Callable[[RunView], Any]] = {
    "id": lambda v: v.run.uid,
    "name": lambda v: v.run.name or "Unnamed",
    "run_type": lambda v: v.run.run_type or "chain",
    "start_time": lambda v: moment(v.run.start_time),
    "session_id": lambda v: v.run.experiment.uid,
    "trace_id": lambda v: v.run.trace_uid,
    "end_time": lambda v: moment(v.run.end_time),
    "parent_run_id": lambda v: v.run.parent_uid,
    "parent_run_ids": lambda v: v.above(),
    "status": lambda v: v.run.status,
    "reference_example_id": lambda v: v.run.example_uid,
    "tags": lambda v: v.run.tags,
    "thread_id": lambda v: v.run.thread_id,
    "first_token_time": lambda v: moment(v.run.first_token_time),
    "inputs": lambda v: raw(v.payload.inputs),
    "outputs": lambda v: raw(v.payload.outputs),
    "error": lambda v: raw(v.payload.error),
    "events": lambda v: raw(v.payload.events or "[]"),
    "extra": lambda v: raw(v.payload.extra or "{}"),
    "serialized": lambda v: raw(v.payload.serialized),
    "prompt_tokens": lambda v: v.run.prompt_tokens,
    "completion_tokens": lambda v: v.run.completion_tokens,
    "total_tokens": lambda v: v.run.total_tokens,
    "prompt_cost": lambda v: number(v.run.prompt_cost),
    "completion_cost": lambda v: number(v.run.completion_cost),
    "total_cost": lambda v: number(v.run.total_cost),
    "prompt_token_details": lambda v: _counts(v.usage("input_token_details")),
    "completion_token_details": lambda v: _counts(v.usage("output_token_details")),
    "prompt_cost_details": lambda v: v.usage("input_cost_details"),
    "completion_cost_details": lambda v: v.usage("output_cost_details"),
    "feedback_stats": lambda v: figures_shape(v.figures),
    "app_path": lambda v: v.app_path(),
    "s3_urls": lambda v: v.attachment_urls,
    "in_dataset": lambda v: v.run.example_uid is not None,
}
ALWAYS = (
    "id",
    "name",
    "run_type",
    "start_time",
    "trace_id",
    "session_id",
    "prompt_token_details",
    "completion_token_details",
    "prompt_cost_details",
    "completion_cost_details",
)
NEEDS_PAYLOAD = ("inputs", "outputs", "error", "events", "extra", "serialized")


def run_shape(view: RunView, select: Collection[str] | None = None) -> Shape:
    """All fields, or the selected ones beside those that every run has."""
    names = FIELDS if select is None else {*ALWAYS, *select} & FIELDS.keys()
    shape = {name: FIELDS[name](view) for name in FIELDS if name in names}
    if not view.run.dotted_order:
        return shape
    if select is None or "dotted_order" in select:
        shape["dotted_order"] = view.run.dotted_order
    return shape
