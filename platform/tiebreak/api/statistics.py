"""Our own: the report of a comparison, by the functions that the pages use."""

from __future__ import annotations

from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.services.reports import current_report
from tiebreak import access
from tiebreak.api.reading import Params, workspace_of


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
    return Response({"evaluator": evaluator.key, **report.as_dict()})
