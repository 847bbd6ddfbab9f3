"""Our own: reports, paired scores and leaderboards, by the functions that the pages use."""

from __future__ import annotations

from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from evaluators.statistics.libraries import computed_with
from experiments.errors import InvalidError
from experiments.queries.leaderboard import MODELS, board_of
from experiments.queries.leaderboard_games import SOURCES
from experiments.queries.metric_directions import lower_is_better
from experiments.queries.score_comparison import (
    MAX_EXPERIMENTS,
    chosen_experiments,
    compare_scores,
    score_keys,
)
from experiments.services.reports import current_report
from tiebreak import access
from tiebreak.api.reading import Params, to_uuid, workspace_of


@api_view(["GET"])
def comparison_report(request: Request, uid: str) -> Response:
    """Order, length, cost, splits and the running race of one `evaluator`, else the first."""
    comparison = access.comparison(workspace_of(request), uid)
    rows = comparison.evaluators.all()
    key = Params(request).text("evaluator")
    evaluator = (rows.filter(key=key) if key else rows).first()
    if evaluator is None:
        raise Http404("Evaluator not found in this comparison")
    evaluator.comparison = comparison
    report = current_report(evaluator)
    about = {"evaluator": evaluator.key, "computed_with": computed_with()}
    return Response(about | report.as_dict())


@api_view(["GET"])
def dataset_scores(request: Request, uid: str) -> Response:
    """Experiments (`experiment`, repeated; the first is the baseline) compared by their scores.

    `key` (repeated) chooses scores, none: all; `group` names a metadata key by which rows belong
    together.
    """
    dataset, params = access.dataset(workspace_of(request), uid), Params(request)
    asked = [to_uuid("experiment", one) for one in params.texts("experiment") or []]
    experiments = chosen_experiments(dataset, asked)
    if not 1 < len(experiments) <= MAX_EXPERIMENTS or len(experiments) < len(set(asked)):
        raise InvalidError(
            "experiment", f"must name 2 to {MAX_EXPERIMENTS} experiments on this dataset"
        )
    found = compare_scores(
        experiments,
        keys=params.texts("key") or [],
        group=params.text("group") or "",
        lower=lower_is_better(workspace_of(request), score_keys(experiments)),
    )
    return Response(found.as_dict() | {"computed_with": computed_with()})


@api_view(["GET"])
def dataset_leaderboard(request: Request, uid: str) -> Response:
    """All systems that were compared on a dataset, rated from their games.

    `model`: bradley_terry or davidson; `source`: judge, sdk or people (none: all); `evaluator`
    (repeated) chooses evaluators, none: all.
    """
    dataset, params = access.dataset(workspace_of(request), uid), Params(request)
    model = params.text("model") or MODELS[0]
    source = params.text("source") or ""
    if model not in MODELS:
        raise InvalidError("model", f"must be one of {', '.join(MODELS)}")
    if source and source not in SOURCES:
        raise InvalidError("source", f"must be one of {', '.join(SOURCES)}")
    board = board_of(
        dataset, model=model, source=source, evaluators=params.texts("evaluator") or []
    )
    return Response(board.as_dict() | {"computed_with": computed_with()})
