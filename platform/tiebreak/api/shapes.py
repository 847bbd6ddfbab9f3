"""Rows as the SDK reads them: datasets, examples, sessions, feedback."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from experiments.models import (
    Attachment,
    Comparison,
    Dataset,
    DatasetVersion,
    ExampleRevision,
    Experiment,
    Feedback,
)
from experiments.queries.experiment_statistics import ExperimentStatistics
from experiments.queries.feedback import Figures, KeyFigures
from experiments.rawjson import dumps
from tiebreak.accounts.models import Workspace
from tiebreak.api.wire import moment, number, raw

Shape = dict[str, Any]


def dataset_shape(dataset: Dataset, workspace: Workspace) -> Shape:
    """`session_count` and `last_session_start_time` are annotations of the query."""
    return {
        "id": dataset.uid,
        "tenant_id": workspace.uid,
        "name": dataset.name,
        "description": dataset.description,
        "data_type": dataset.data_type,
        "created_at": moment(dataset.created_at),
        "modified_at": moment(dataset.modified_at),
        "example_count": dataset.example_count,
        "session_count": getattr(dataset, "session_count", 0),
        "last_session_start_time": moment(getattr(dataset, "last_session_start_time", None)),
        "inputs_schema_definition": raw(dataset.inputs_schema),
        "outputs_schema_definition": raw(dataset.outputs_schema),
        "transformations": raw(dataset.transformations),
        "metadata": dataset.metadata,
        "externally_managed": False,
    }


def version_shape(version: DatasetVersion, tags: Iterable[str]) -> Shape:
    return {"as_of": moment(version.as_of), "tags": list(tags)}


def example_shape(revision: ExampleRevision, attachment_urls: Shape | None = None) -> Shape:
    example, payload = revision.example, revision.payload
    return {
        "id": example.uid,
        "dataset_id": revision.dataset.uid,
        "inputs": raw(payload.inputs),
        "outputs": raw(payload.outputs),
        "metadata": _with_splits(payload.metadata, revision.splits),
        "created_at": moment(example.created_at),
        "modified_at": moment(revision.valid_from),
        "source_run_id": example.source_run_uid,
        "name": f"#{str(example.uid)[:4]}",
        "attachment_urls": attachment_urls,
    }


def _with_splits(metadata: str | None, splits: list[str]) -> orjson.Fragment:
    """Metadata as sent, with the splits under the key where the SDK looks for them."""
    entry = f'"dataset_split":{dumps(splits)}'
    inside = (metadata or "{}").strip()[1:-1].strip()
    return orjson.Fragment(f"{{{inside},{entry}}}" if inside else f"{{{entry}}}")


def session_shape(experiment: Experiment, workspace: Workspace) -> Shape:
    dataset = experiment.dataset
    return {
        "id": experiment.uid,
        "tenant_id": workspace.uid,
        "type": "PROJECT" if dataset is None else "EXPERIMENT",
        "name": experiment.name,
        "description": experiment.description,
        "start_time": moment(experiment.start_time),
        "end_time": moment(experiment.end_time),
        "extra": raw(experiment.extra),
        "reference_dataset_id": None if dataset is None else dataset.uid,
        "default_dataset_id": None,
        "trace_tier": "longlived",
        "num_examples": experiment.num_examples,
        "num_repetitions": experiment.num_repetitions,
        "evaluator_keys": experiment.evaluator_keys,
        "test_run_number": None,
    }


def statistics_shape(row: ExperimentStatistics, on_runs: Figures, on_whole: Figures) -> Shape:
    return {
        "run_count": row.run_count,
        "latency_p50": row.latency_p50,
        "latency_p99": row.latency_p99,
        "latency_run_count": row.timed,
        "first_token_p50": row.first_token_p50,
        "first_token_p99": row.first_token_p99,
        "total_tokens": row.total_tokens,
        "prompt_tokens": row.prompt_tokens,
        "completion_tokens": row.completion_tokens,
        "total_cost": number(row.total_cost),
        "prompt_cost": number(row.prompt_cost),
        "completion_cost": number(row.completion_cost),
        "last_run_start_time": moment(row.last_run_start_time),
        "error_rate": row.error_rate,
        "feedback_stats": figures_shape(on_runs),
        "session_feedback_stats": figures_shape(on_whole),
        "run_facets": [],
    }


def figures_shape(figures: Mapping[str, KeyFigures]) -> Shape:
    return {
        key: {
            "n": row.n,
            "avg": row.avg,
            "stdev": row.stdev,
            "min": row.min,
            "max": row.max,
            "errors": row.errors,
            "values": row.values,
            "comments": row.comments,
            "sources": row.sources,
        }
        for key, row in figures.items()
    }


def feedback_shape(row: Feedback) -> Shape:
    experiment = row.experiment
    return {
        "id": row.uid,
        "created_at": moment(row.created_at),
        "modified_at": moment(row.modified_at),
        "run_id": row.run_uid,
        "trace_id": row.trace_uid,
        "session_id": None if experiment is None else experiment.uid,
        "key": row.key,
        "score": raw(row.score_text),
        "value": raw(row.value),
        "comment": raw(row.comment),
        "correction": raw(row.correction),
        "feedback_source": raw(row.source),
        "comparative_experiment_id": row.comparison_uid,
        "feedback_group_id": row.group_uid,
        "extra": raw(row.extra),
        "error": row.is_error,
    }


def comparison_shape(comparison: Comparison, workspace: Workspace, figures: Figures) -> Shape:
    return {
        "id": comparison.uid,
        "tenant_id": workspace.uid,
        "name": comparison.name,
        "description": comparison.description,
        "created_at": moment(comparison.created_at),
        "modified_at": moment(comparison.modified_at),
        "reference_dataset_id": comparison.dataset.uid,
        "extra": raw(comparison.extra),
        "experiments_info": [
            {"id": side.experiment.uid if side.experiment else None, "name": side.name}
            for side in comparison.sides.all()
        ],
        "feedback_stats": figures_shape(figures),
    }


def attachment_shapes(rows: Iterable[Attachment], address: Any) -> Shape | None:
    """`address` makes the link of a file that needs no key."""
    found = {
        f"attachment.{row.name}": {"presigned_url": address(row), "mime_type": row.mime_type}
        for row in rows
    }
    return found or None
