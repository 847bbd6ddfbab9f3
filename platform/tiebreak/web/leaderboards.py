"""Leaderboards: the list of datasets that have one, and the board of one dataset."""

from __future__ import annotations

import csv
from typing import Any
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from experiments.models import Dataset
from experiments.queries.leaderboard import Board, Model, board_of, datasets_with_comparisons
from experiments.queries.leaderboard_games import SOURCES
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import one_of, with_changes
from tiebreak.web.datasets import paging_links, place_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs

MODELS: dict[str, Model] = {"bt": "bradley_terry", "davidson": "davidson"}
COLUMNS = (
    "rank", "rank_best", "rank_worst", "name", "strength", "low", "high", "half_win_rate",
    "games", "wins", "ties", "losses",
)  # fmt: skip
MATRIX = 20


@require_GET
@needs(Role.VIEWER)
def leaderboard_list(request: HtmxHttpRequest) -> HttpResponse:
    """Datasets with comparisons."""
    page = datasets_with_comparisons(request.workspace, **place_of(request))
    context = {
        "section": "leaderboards",
        "datasets": page.rows,
        **paging_links(request, page.newer, page.older),
    }
    return render_page(request, "leaderboards/list.html", context, partial="list")


@require_GET
@needs(Role.VIEWER)
def leaderboard_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The board of a dataset, as a page, CSV or JSON."""
    dataset = access.dataset(request.workspace, uid)
    query = request.GET
    model = MODELS[one_of(query, "model", MODELS, "bt")]
    source = one_of(query, "source", SOURCES, "")
    evaluators = [key.replace("\x00", "") for key in query.getlist("ev") if key]
    board = board_of(dataset, model=model, source=source, evaluators=evaluators)
    kind = query.get("format")
    if kind == "json":
        answer: HttpResponse = JsonResponse(board.as_dict())
        return _named(answer, dataset, "json")
    if kind == "csv":
        return _named(_table(board), dataset, "csv")
    context = {
        "section": "leaderboards",
        "dataset": dataset,
        "board": board,
        "model": model,
        "source": source,
        "sources": [(key, SOURCES[key], count) for key, count in board.sources.items()],
        "chosen": evaluators,
        "evaluator_keys": sorted({*board.evaluators, *evaluators}),
        "csv": with_changes(query, {"format": "csv"}),
        "json": with_changes(query, {"format": "json"}),
        **_matrix(board),
    }
    return render_page(request, "leaderboards/detail.html", context, partial="page")


def _matrix(board: Board) -> dict[str, Any]:
    names = [system.name for system in board.systems[:MATRIX]]
    rows = [(name, [board.matrix[name].get(other) for other in names]) for name in names]
    return {"matrix_names": names, "matrix_rows": rows}


def _table(board: Board) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    writer = csv.writer(response)
    writer.writerow(COLUMNS)
    for system in board.systems:
        writer.writerow([_cell(getattr(system, column)) for column in COLUMNS])
    return response


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is kept from it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" else value


def _named(response: HttpResponse, dataset: Dataset, kind: str) -> HttpResponse:
    name = f"leaderboard-{dataset.uid}.{kind}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
