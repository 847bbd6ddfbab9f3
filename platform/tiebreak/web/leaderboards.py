"""Leaderboards: the list of datasets that have one, and the board of one dataset."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from experiments.models import Dataset
from experiments.queries.leaderboard import Board, Model, board_of, datasets_with_comparisons
from experiments.queries.leaderboard_facts import SystemFacts, facts_of, newest_comparisons
from experiments.queries.leaderboard_games import SOURCES
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.address import number, one_of, with_changes
from tiebreak.web.datasets import paging_links, place_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs

MODELS: dict[str, Model] = {"bt": "bradley_terry", "davidson": "davidson"}
COLUMNS = (
    "rank", "rank_best", "rank_worst", "name", "strength", "low", "high", "half_win_rate",
    "games", "wins", "ties", "losses",
)  # fmt: skip
MATRIX = 20
FEWEST_GAMES = (1, 10, 30, 100)


@dataclass(frozen=True)
class Cell:
    """A cell of the matrix: its numbers, and the page it leads to."""

    numbers: Mapping[str, Any] | None
    href: str
    is_self: bool


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
    facts = facts_of(dataset)
    fewest = number(query, "min", FEWEST_GAMES, 1)
    context = {
        "section": "leaderboards",
        "dataset": dataset,
        "board": board,
        "lines": [
            (system, facts.get(system.name)) for system in board.systems if system.games >= fewest
        ],
        "has_costs": any(one.cost is not None for one in facts.values()),
        "fewest": fewest,
        "fewest_choices": FEWEST_GAMES,
        "next_link": _launch_link(dataset, facts, *board.next_pair) if board.next_pair else "",
        "model": model,
        "source": source,
        "sources": [(key, SOURCES[key], count) for key, count in board.sources.items()],
        "chosen": evaluators,
        "evaluator_keys": sorted({*board.evaluators, *evaluators}),
        "csv": with_changes(query, {"format": "csv"}),
        "json": with_changes(query, {"format": "json"}),
        **_matrix(dataset, board, facts),
    }
    return render_page(request, "leaderboards/detail.html", context, partial="page")


def _matrix(dataset: Dataset, board: Board, facts: Mapping[str, SystemFacts]) -> dict[str, Any]:
    names = [system.name for system in board.systems[:MATRIX]]
    newest = newest_comparisons(dataset)
    rows = [
        (
            name,
            [
                Cell(
                    board.matrix[name].get(other),
                    reverse("comparison_detail", args=[newest[name, other]])
                    if (name, other) in newest
                    else _launch_link(dataset, facts, name, other),
                    name == other,
                )
                for other in names
            ],
        )
        for name in names
    ]
    return {"matrix_names": names, "matrix_rows": rows}


def _launch_link(dataset: Dataset, facts: Mapping[str, SystemFacts], a: str, b: str) -> str:
    """The launch form with both chosen; empty when one has no experiment any more."""
    if a == b or a not in facts or b not in facts:
        return ""
    chosen = urlencode({"a": facts[a].experiment_uid, "b": facts[b].experiment_uid})
    return f"{reverse('dataset_comparisons', args=[dataset.uid])}?{chosen}"


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
