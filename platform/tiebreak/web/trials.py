"""The launch form's trial: a few rows judged at once, with prompts, replies and readings."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from experiments.errors import InvalidError
from experiments.services.trials import TRIAL_ROWS, TrialRow, try_out
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.launching import LaunchForm


@require_POST
@needs(Role.EDITOR)
def launch_trial(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Judge a few pairs with what the form says, and show all that was asked and answered."""
    dataset = access.dataset(request.workspace, uid)
    form = LaunchForm(dataset, request.POST, spends=False)
    rows: list[TrialRow] = []
    errors = []
    if form.is_valid():
        try:
            rows = try_out(
                experiments=form.chosen(),
                evaluator=form.evaluator_row(),
                order=form.cleaned_data["order"],
            )
        except InvalidError as error:
            errors = [error.message]
    else:
        errors = [str(error) for field in form.errors.values() for error in field]
    context = {
        "section": "datasets",
        "dataset": dataset,
        "rows": rows,
        "errors": errors,
        "most": TRIAL_ROWS,
        "sides": form.chosen() if form.is_valid() else [],
        "cost": sum((game.cost or Decimal(0) for row in rows for game in row.games), Decimal(0)),
        "unknown_cost": any(
            game.cost is None and game.reply and not game.played.from_cache
            for row in rows
            for game in row.games
        ),
    }
    return render_page(request, "comparisons/trial.html", context, partial="trial")
