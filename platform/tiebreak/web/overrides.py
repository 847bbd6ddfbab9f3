"""Setting the verdict of one row by hand, from its drawer."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.queries.comparison_table import find_row
from experiments.services.overrides import override
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.http import HtmxHttpRequest, needs

SET_BY_HAND = {
    "a": "A better",
    "b": "B better",
    "tie": "Tie",
    "both_good": "Both good",
    "both_bad": "Both bad",
    "missing": "Leave this row out",
}


@require_POST
@needs(Role.ANNOTATOR)
def set_verdict(request: HtmxHttpRequest, uid: UUID, key: str) -> HttpResponse:
    """Store what a person decided, and go back to the row; `ev` names the evaluator."""
    comparison = access.comparison(request.workspace, uid)
    given = request.POST
    evaluator = comparison.evaluators.filter(key=given.get("ev", "").replace("\x00", "")).first()
    row = find_row(evaluator, key) if evaluator else None
    if evaluator is None or row is None:
        raise Http404("Row not found in this comparison")
    reason = given.get("reason", "").strip().replace("\x00", "")
    try:
        override(row.judgment, outcome=given.get("outcome", ""), reason=reason, author=request.user)
        messages.success(request, "Your verdict stands. The numbers follow it.")
    except (InvalidError, ConflictError) as error:
        messages.error(request, str(error))
    back = reverse("comparison_detail", args=[uid])
    return HttpResponseRedirect(f"{back}?{urlencode({'ev': evaluator.key, 'row': key})}")
