"""What a person does about one row from its drawer: decide it, or have it judged again."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.models import Judgment, Outcome
from experiments.queries.comparison_table import find_row
from experiments.queries.mirroring import OTHER
from experiments.services.jobs import allowed_steps
from experiments.services.overrides import override
from experiments.tasks import rejudge_row
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
    judgment = _judgment(request, uid, key)
    given = request.POST
    reason, outcome = given.get("reason", "").strip().replace("\x00", ""), given.get("outcome", "")
    outcome = OTHER.get(outcome, outcome) if given.get("swap") == "1" else outcome
    try:
        override(judgment, outcome=outcome, reason=reason, author=request.user)
        messages.success(request, "Your verdict stands. The numbers follow it.")
    except (InvalidError, ConflictError) as error:
        messages.error(request, str(error))
    return _back(request, judgment, key)


@require_POST
@needs(Role.EDITOR)
def rejudge(request: HtmxHttpRequest, uid: UUID, key: str) -> HttpResponse:
    """Have one row judged once more, and go back to it; `ev` names the evaluator."""
    judgment = _judgment(request, uid, key)
    try:
        rejudge_row(judgment)
        messages.success(request, "This row is judged again. Its earlier games are kept.")
    except ConflictError as error:
        messages.error(request, str(error))
    return _back(request, judgment, key)


def rejudging_of(judgment: Judgment) -> dict[str, object]:
    """Whether a row can be judged again, and if not now, why."""
    job = judgment.comparison.job
    judged = judgment.outcome not in (Outcome.MISSING, Outcome.PENDING)
    if job is None or not judged:
        return {"offered": False}
    possible = "rejudge" in allowed_steps(job)
    reason = "" if possible else f"Possible when judging rests; it is {job.get_state_display()}."
    return {"offered": True, "reason": reason}


def _judgment(request: HtmxHttpRequest, uid: UUID, key: str) -> Judgment:
    """The judgment of a row by the evaluator that the form names, or 404."""
    comparison = access.comparison(request.workspace, uid)
    name = request.POST.get("ev", "").replace("\x00", "")
    evaluator = comparison.evaluators.filter(key=name).first()
    row = find_row(evaluator, key) if evaluator else None
    if row is None:
        raise Http404("Row not found in this comparison")
    return row.judgment


def _back(request: HtmxHttpRequest, judgment: Judgment, key: str) -> HttpResponse:
    swapped = {"swap": "1"} if request.POST.get("swap") == "1" else {}
    query = {"ev": judgment.evaluator.key, "row": key, **swapped}
    address = reverse("comparison_detail", args=[judgment.comparison.uid], query=query)
    return HttpResponseRedirect(address)
