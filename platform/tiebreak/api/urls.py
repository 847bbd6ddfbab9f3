"""One line per endpoint; all are reachable below /api and /api/v1, with or without a last slash."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, re_path

from tiebreak.api import (
    absent,
    annotation_queues,
    comparative,
    comparison_rows,
    comparisons,
    dataset_files,
    datasets,
    description,
    evaluations,
    examples,
    exports,
    feedback,
    feedback_configs,
    feedback_tokens,
    files,
    info,
    ingest,
    queue_items,
    results,
    runs,
    sessions,
    sharing,
    statistics,
    uploads,
    versions,
)
from tiebreak.api.v2 import experiment_runs as v2_experiment_runs
from tiebreak.api.v2 import lists as v2_lists
from tiebreak.api.v2 import runs as v2_runs
from tiebreak.api.v2 import threads as v2_threads

View = Callable[..., Any]

# Fixed names come before ids, and what is asked most before all others: Django tries one by one.
ENDPOINTS: list[tuple[str, View]] = [
    ("runs", runs.runs),
    ("runs/batch", ingest.runs_batch),
    ("runs/multipart", ingest.runs_multipart),
    ("runs/query", runs.runs_query),
    ("runs/stats", runs.runs_stats),
    ("runs/<uid>", runs.run),
    ("info", info.info),
    ("settings", info.workspace_settings),
    ("datasets", datasets.datasets),
    ("datasets/comparative", comparative.comparative),
    ("datasets/comparative/<uid>", comparative.comparison),
    ("datasets/upload", dataset_files.upload),
    ("datasets/<uid>", datasets.dataset),
    ("datasets/<uid>/export", exports.dataset_export),
    ("datasets/<uid>/versions", versions.versions),
    ("datasets/<uid>/versions/diff", versions.diff),
    ("datasets/<uid>/versions/changes", versions.changes),
    ("datasets/<uid>/versions/restore", versions.restore),
    ("datasets/<uid>/version", versions.version),
    ("datasets/<uid>/tags", versions.tags),
    ("datasets/<uid>/splits", versions.splits),
    ("datasets/<uid>/schemas/infer", versions.inferred_schemas),
    ("datasets/<uid>/splits/random", versions.random_splits),
    ("datasets/<uid>/share", sharing.dataset_share),
    ("datasets/<uid>/runs", results.dataset_runs),
    ("datasets/<uid>/openai_ft", dataset_files.openai_finetuning),
    ("examples", examples.examples),
    ("examples/bulk", examples.examples_bulk),
    ("examples/<uid>", examples.example),
    ("sessions", sessions.sessions),
    ("sessions/<uid>", sessions.session),
    ("runs/<uid>/share", sharing.run_share),
    ("feedback", feedback.feedback_list),
    ("feedback/tokens", feedback_tokens.feedback_tokens),
    ("feedback/<uid>", feedback.feedback),
    ("feedback-configs", feedback_configs.feedback_configs),
    ("annotation-queues", annotation_queues.annotation_queues),
    ("annotation-queues/<uid>", annotation_queues.annotation_queue),
    ("annotation-queues/<uid>/runs", annotation_queues.queue_runs),
    ("annotation-queues/<uid>/runs/by-key", annotation_queues.queue_runs_by_key),
    ("annotation-queues/<uid>/run/<int:index>", annotation_queues.queue_run_at),
    ("annotation-queues/<uid>/runs/<run_uid>", annotation_queues.queue_run),
    ("public/<token>/datasets", sharing.public_dataset),
    ("public/<token>/examples", sharing.public_examples),
    ("public/<token>/datasets/sessions", sharing.public_sessions),
    ("public/<token>/run", sharing.public_run),
    ("public/<token>/run/<uid>", sharing.public_run),
    ("public/<token>/runs/query", sharing.public_runs),
    ("comparisons", comparisons.comparisons),
    ("comparisons/<uid>", comparisons.comparison),
    ("comparisons/<uid>/export", exports.comparison_export),
    ("comparisons/<uid>/rows", comparison_rows.comparison_rows),
    ("comparisons/<uid>/rows/<key>/verdict", comparison_rows.row_verdict),
    ("comparisons/<uid>/report", statistics.comparison_report),
    ("comparisons/<uid>/budget", comparisons.comparison_budget),
    ("comparisons/<uid>/<step>", comparisons.comparison_step),
    ("datasets/<uid>/scores", statistics.dataset_scores),
    ("datasets/<uid>/leaderboard", statistics.dataset_leaderboard),
    ("uploads", uploads.uploads),
    ("uploads/<uid>", uploads.upload),
    ("evaluators", evaluations.evaluator_kinds),
    ("experiments/<uid>/export", exports.experiment_export),
    ("experiments/<uid>/evaluations", evaluations.evaluate_experiment),
    ("evaluations/<uid>", evaluations.evaluation),
    ("evaluations/<uid>/<step>", evaluations.evaluation_step),
]

PLATFORM: list[tuple[str, View]] = [
    ("datasets/examples/delete", examples.erase),
    ("datasets/<uid>/examples", examples.dataset_examples),
    ("datasets/<uid>/examples/metadata", versions.example_metadata),
    ("examples/multipart", examples.examples_upsert),
    ("annotation-queues/items/<item_uid>/status", queue_items.item_status),
    ("annotation-queues/<uid>/items", queue_items.items),
    ("annotation-queues/<uid>/items/count", queue_items.items_count),
    ("annotation-queues/<uid>/items/delete", queue_items.items_delete),
    ("annotation-queues/<uid>/items/<item_uid>", queue_items.item),
]


V2: list[tuple[str, View]] = [
    ("runs/query", v2_runs.runs_query),
    ("runs/<uid>", v2_runs.run),
    ("runs/<uid>/url", v2_runs.run_url),
    ("runs/<uid>/share", v2_runs.run_share),
    ("traces/query", v2_runs.traces_query),
    ("traces/<trace>/runs", v2_runs.trace_runs),
    ("threads/query", v2_threads.threads_query),
    ("threads/<thread>/traces", v2_threads.thread_traces),
    ("threads/<thread>/stats", v2_threads.thread_stats),
    ("sessions", v2_lists.sessions_v2),
    ("sessions/<uid>", sessions.session),
    ("datasets", v2_lists.datasets_v2),
    ("datasets/<uid>/experiment-runs", v2_experiment_runs.experiment_runs),
    ("public/<token>/runs/query", v2_runs.public_runs),
    ("public/<token>/run/<uid>", v2_runs.public_run),
]


ABSENT = "|".join(absent.REASONS)


def _absent(prefix: str) -> URLPattern:
    return re_path(rf"^{prefix}(?P<area>{ABSENT})(?:/(?P<rest>.*))?$", absent.absent)


def _routes(prefix: str, endpoints: list[tuple[str, View]]) -> list[URLPattern]:
    return [path(prefix + route + end, view) for route, view in endpoints for end in ("", "/")]


urlpatterns: list[URLPattern] = [
    path("blobs/<token>", files.attachment, name="attachment"),
    path("feedback/tokens/<uid>", feedback_tokens.feedback_by_token, name="feedback_token"),
    path("v1/feedback/tokens/<uid>", feedback_tokens.feedback_by_token),
    path("docs", description.docs, name="api_docs"),
    path("openapi.json", description.schema, name="openapi"),
    *_routes("", ENDPOINTS),
    *_routes("v1/platform/", PLATFORM),
    *_routes("v1/", ENDPOINTS),
    *_routes("v2/", V2),
    _absent("(?:v[12]/)?(?:platform/)?"),
    re_path("^", absent.unknown),
]
