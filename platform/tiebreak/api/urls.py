"""One line per endpoint; all are reachable below /api and /api/v1, with or without a last slash."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path

from tiebreak.api import (
    comparative,
    datasets,
    examples,
    feedback,
    files,
    info,
    ingest,
    runs,
    sessions,
)

View = Callable[..., Any]

# Fixed names come before ids.
ENDPOINTS: list[tuple[str, View]] = [
    ("info", info.info),
    ("settings", info.workspace_settings),
    ("datasets", datasets.datasets),
    ("datasets/comparative", comparative.comparative),
    ("datasets/comparative/<uid>", comparative.comparison),
    ("datasets/<uid>", datasets.dataset),
    ("examples", examples.examples),
    ("examples/bulk", examples.examples_bulk),
    ("examples/<uid>", examples.example),
    ("sessions", sessions.sessions),
    ("sessions/<uid>", sessions.session),
    ("runs", runs.runs),
    ("runs/batch", ingest.runs_batch),
    ("runs/multipart", ingest.runs_multipart),
    ("runs/query", runs.runs_query),
    ("runs/<uid>", runs.run),
    ("feedback", feedback.feedback_list),
    ("feedback/<uid>", feedback.feedback),
]

PLATFORM: list[tuple[str, View]] = [
    ("datasets/examples/delete", examples.erase),
    ("datasets/<uid>/examples", examples.dataset_examples),
]


def _routes(prefix: str, endpoints: list[tuple[str, View]]) -> list[URLPattern]:
    return [path(prefix + route + end, view) for route, view in endpoints for end in ("", "/")]


urlpatterns: list[URLPattern] = [
    path("blobs/<token>", files.attachment, name="attachment"),
    *_routes("v1/platform/", PLATFORM),
    *_routes("v1/", ENDPOINTS),
    *_routes("", ENDPOINTS),
]
