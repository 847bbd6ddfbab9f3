"""One line per endpoint; all are reachable below /api and /api/v1, with or without a last slash."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path

from tiebreak.api import (
    comparative,
    dataset_files,
    datasets,
    examples,
    feedback,
    files,
    info,
    ingest,
    results,
    runs,
    sessions,
    versions,
)

View = Callable[..., Any]

# Fixed names come before ids.
ENDPOINTS: list[tuple[str, View]] = [
    ("info", info.info),
    ("settings", info.workspace_settings),
    ("datasets", datasets.datasets),
    ("datasets/comparative", comparative.comparative),
    ("datasets/comparative/<uid>", comparative.comparison),
    ("datasets/upload", dataset_files.upload),
    ("datasets/<uid>", datasets.dataset),
    ("datasets/<uid>/versions", versions.versions),
    ("datasets/<uid>/versions/diff", versions.diff),
    ("datasets/<uid>/version", versions.version),
    ("datasets/<uid>/tags", versions.tags),
    ("datasets/<uid>/splits", versions.splits),
    ("datasets/<uid>/runs", results.dataset_runs),
    ("datasets/<uid>/openai_ft", dataset_files.openai_finetuning),
    ("examples", examples.examples),
    ("examples/bulk", examples.examples_bulk),
    ("examples/<uid>", examples.example),
    ("sessions", sessions.sessions),
    ("sessions/<uid>", sessions.session),
    ("runs", runs.runs),
    ("runs/batch", ingest.runs_batch),
    ("runs/multipart", ingest.runs_multipart),
    ("runs/query", runs.runs_query),
    ("runs/stats", runs.runs_stats),
    ("runs/<uid>", runs.run),
    ("feedback", feedback.feedback_list),
    ("feedback/<uid>", feedback.feedback),
]

PLATFORM: list[tuple[str, View]] = [
    ("datasets/examples/delete", examples.erase),
    ("datasets/<uid>/examples", examples.dataset_examples),
    ("datasets/<uid>/examples/metadata", versions.example_metadata),
    ("examples/multipart", examples.examples_upsert),
]


def _routes(prefix: str, endpoints: list[tuple[str, View]]) -> list[URLPattern]:
    return [path(prefix + route + end, view) for route, view in endpoints for end in ("", "/")]


urlpatterns: list[URLPattern] = [
    path("blobs/<token>", files.attachment, name="attachment"),
    *_routes("v1/platform/", PLATFORM),
    *_routes("v1/", ENDPOINTS),
    *_routes("", ENDPOINTS),
]
