"""Root runs of an experiment with their examples and their feedback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from experiments.exports.records import Export, Record, cell, flatten, in_chunks
from experiments.models import ExampleRevision, Experiment, Feedback, Run
from experiments.queries.examples import revisions_at
from experiments.rawjson import dumps

COLUMNS = (
    "run_id",
    "example_id",
    "name",
    "status",
    "inputs",
    "reference_outputs",
    "outputs",
    "error",
    "start_time",
    "end_time",
    "seconds",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "total_cost",
    "scores",
    "feedback",
)
SPREAD = ("inputs", "reference_outputs", "outputs", "scores")
Marks = dict[UUID, list[Feedback]]


def experiment_export(experiment: Experiment, *, q: str = "", status: str = "") -> Export:
    """Root runs in the order they started."""
    rows = Run.objects.filter(experiment=experiment, is_root=True)
    if status in Run.Status.values:
        rows = rows.filter(status=status)
    if q:
        rows = rows.filter(payload__search__icontains=q)
    found = rows.order_by("start_time", "pk")
    full = Run.objects.select_related("payload")

    def read() -> Iterator[Record]:
        return flatten(_records(experiment, chunk) for chunk in in_chunks(found, full))

    return Export(experiment.name, COLUMNS, read, spread=SPREAD)


def _records(experiment: Experiment, runs: Sequence[Run]) -> Iterator[Record]:
    examples, marks = _examples(experiment, runs), _marks(experiment, runs)
    for run in runs:
        yield _record(run, examples.get(run.example_uid), marks.get(run.uid, []))


def _examples(experiment: Experiment, runs: Sequence[Run]) -> dict[UUID | None, ExampleRevision]:
    """The examples as the experiment saw them."""
    rows = ExampleRevision.objects.filter(
        example__workspace=experiment.workspace_id,
        example__uid__in={run.example_uid for run in runs if run.example_uid},
    ).select_related("example", "payload")
    if experiment.dataset_version:
        rows = revisions_at(rows, experiment.dataset_version)
    return {row.example.uid: row for row in rows.order_by("valid_from")}


def _marks(experiment: Experiment, runs: Sequence[Run]) -> Marks:
    rows = Feedback.objects.filter(
        workspace=experiment.workspace_id,
        run_uid__in=[run.uid for run in runs],
        comparison_uid=None,
    )
    found: Marks = {}
    for row in rows.order_by("key", "created_at", "pk"):
        if row.run_uid:
            found.setdefault(row.run_uid, []).append(row)
    return found


def _record(run: Run, example: ExampleRevision | None, marks: Sequence[Feedback]) -> Record:
    payload = run.payload
    return {
        "run_id": cell(run.uid),
        "example_id": cell(run.example_uid),
        "name": cell(run.name),
        "status": cell(run.status),
        "inputs": example.payload.inputs if example else payload.inputs,
        "reference_outputs": example.payload.outputs if example else None,
        "outputs": payload.outputs,
        "error": payload.error,
        "start_time": cell(run.start_time),
        "end_time": cell(run.end_time),
        "seconds": _seconds(run),
        "prompt_tokens": cell(run.prompt_tokens),
        "completion_tokens": cell(run.completion_tokens),
        "total_tokens": cell(run.total_tokens),
        "total_cost": f"{run.total_cost:f}" if run.total_cost is not None else None,
        "scores": scores_json(marks),
        "feedback": "[" + ",".join(map(feedback_json, marks)) + "]",
    }


def _seconds(run: Run) -> str | None:
    if run.end_time is None or run.end_time < run.start_time:
        return None
    return cell((run.end_time - run.start_time).total_seconds())


def scores_json(marks: Sequence[Feedback]) -> str:
    """The latest score per key, as it was sent."""
    latest = {row.key: row.score_text for row in marks if row.score_text and not row.is_error}
    return "{" + ",".join(f"{dumps(key)}:{score}" for key, score in latest.items()) + "}"


def feedback_json(row: Feedback) -> str:
    """One mark of a run; value, comment and correction as they were sent."""
    cells: Record = {
        "key": cell(row.key),
        "score": row.score_text or None,
        "value": row.value,
        "comment": row.comment,
        "correction": row.correction,
        "source": cell(row.source_type),
        "failed": cell(row.is_error or None),
        "created_at": cell(row.created_at),
    }
    return "{" + ",".join(f'"{key}":{text}' for key, text in cells.items() if text) + "}"
