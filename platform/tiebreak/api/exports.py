"""Everything out: datasets, experiments and comparisons as JSON Lines or CSV, streamed."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from rest_framework.decorators import api_view
from rest_framework.request import Request

from tiebreak import access, downloads
from tiebreak.api.reading import workspace_of


@api_view(["GET"])
def dataset_export(request: Request, uid: str) -> StreamingHttpResponse:
    """Examples, `as_of` a moment or a tag if asked; `format` is jsonl or csv."""
    dataset = access.dataset(workspace_of(request), uid)
    return downloads.dataset_download(dataset, request.query_params)


@api_view(["GET"])
def experiment_export(request: Request, uid: str) -> StreamingHttpResponse:
    """Root runs with their example, scores and feedback; `format` is jsonl or csv."""
    experiment = access.experiment(workspace_of(request), uid)
    return downloads.experiment_download(experiment, request.query_params)


@api_view(["GET"])
def comparison_export(request: Request, uid: str) -> StreamingHttpResponse:
    """`what` is rows, preferences, judgments or games; filters are those of the page's address."""
    comparison = access.comparison(workspace_of(request), uid)
    what = request.query_params.get("what", "rows")
    return downloads.comparison_download(comparison, what, request.query_params)
