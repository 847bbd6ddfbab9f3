"""Our own: launch a comparison, follow it, read its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from evaluators.statistics.libraries import computed_with
from experiments.errors import InvalidError
from experiments.models import Comparison, ComparisonEvaluator, Evaluator, Job, Order
from experiments.queries.changes import version_note
from experiments.queries.comparison_list import comparisons_of
from experiments.queries.corrections import Correction, corrections_of
from experiments.queries.outcome_counts import OutcomeCounts, outcome_counts
from experiments.queries.progress import failures_by_kind, progress_of
from experiments.queries.verdict_card import race_of, verdict_of
from experiments.services.budgets import Budget
from experiments.services.comparisons import create_comparison
from experiments.services.deletion import delete_comparison
from experiments.services.evaluators import configure_evaluator
from experiments.services.jobs import MAX_CONCURRENCY, STEPS, allowed_steps
from experiments.tasks import set_budget, start_job, steer
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.reading import Fields, Params, object_body, workspace_of

MAX_LISTED = 100
# What a form calls a field, and what this API calls it.
SENT_AS = {
    "experiments": "experiment_ids",
    "experiment_a": "experiment_ids",
    "experiment_b": "experiment_ids",
    "evaluator": "evaluators",
    "provider": "provider_id",
}


@api_view(["GET", "POST"])
def comparisons(request: Request) -> Response:
    """Those of a dataset, newest first; or launch one."""
    return _launch(request) if request.method == "POST" else _list(request)


def _list(request: Request) -> Response:
    params = Params(request)
    dataset = params.uuid("dataset_id")
    if dataset is None:
        raise InvalidError("dataset_id", "is needed")
    page = comparisons_of(
        access.dataset(workspace_of(request), dataset),
        size=params.integer("limit", 20, low=1, high=MAX_LISTED),
        after=params.text("cursor") or "",
    )
    rows = [shape(row) for row in page.rows]
    return Response({"comparisons": rows, "next_cursor": page.older or None})


def _launch(request: Request) -> Response:
    """Sent again with the same id, it is launched once."""
    workspace, body = workspace_of(request), object_body(request)
    uid = body.uuid("id")
    known = _launched(workspace, uid)
    if known is not None:
        return Response(shape(known))
    try:
        with transaction.atomic(), named_as_sent(SENT_AS):
            comparison = _create(workspace, body)
    except IntegrityError:
        known = _launched(workspace, uid)
        if known is None:
            raise
        return Response(shape(known))
    return Response(shape(comparison), status=201)


def _launched(workspace: Workspace, uid: UUID | None) -> Comparison | None:
    """The comparison that was launched with this id already."""
    return Comparison.objects.filter(workspace=workspace, uid=uid).first() if uid else None


def _create(workspace: Workspace, body: Fields) -> Comparison:
    experiments = [access.experiment(workspace, uid) for uid in body.uuids("experiment_ids") or []]
    if not experiments or experiments[0].dataset is None:
        raise InvalidError("experiment_ids", "must name two experiments over one dataset")
    comparison = create_comparison(
        dataset=experiments[0].dataset,
        experiments=experiments,
        evaluators=_evaluators(workspace, body.get("evaluators")),
        order=body.text("order", Order.BOTH) or Order.BOTH,
        max_concurrency=body.integer("max_concurrency", low=1, high=MAX_CONCURRENCY) or 8,
        budget=budget_of(body),
        stop_when_certain=bool(body.flag("stop_when_certain")),
        margin=_margin(body),
        name=body.text("name", "") or "",
        description=body.text("description"),
        metadata=body.object("metadata"),
        uid=body.uuid("id"),
    )
    assert comparison.job is not None
    start_job(comparison.job)
    return comparison


@contextmanager
def named_as_sent(names: Mapping[str, str]) -> Iterator[None]:
    """Refusals that name a field of a form name the field of the body instead."""
    try:
        yield
    except InvalidError as error:
        raise InvalidError(names.get(error.field, error.field), error.message) from error


def _margin(body: Fields) -> float:
    value = body.get("margin")
    if value is None:
        return 0.05
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidError("margin", "must be a number")
    return float(value)


def budget_of(body: Fields) -> Budget:
    """`max_calls`, and `max_cost` in US dollars; absent or null is no limit."""
    money = body.get("max_cost")
    if isinstance(money, bool) or not isinstance(money, int | float | Decimal | None):
        raise InvalidError("max_cost", "must be a number of US dollars")
    calls = body.integer("max_calls", low=1)
    return Budget(calls, None if money is None else Decimal(str(money)))


def _evaluators(workspace: Workspace, given: Any) -> list[Evaluator]:
    """Each a kind's name, or `{"kind", "name"?, "settings"?, "provider_id"?}`."""
    if not isinstance(given, list):
        raise InvalidError("evaluators", "must be a list")
    return [_evaluator(workspace, item) for item in given]


def _evaluator(workspace: Workspace, item: Any) -> Evaluator:
    fields = Fields({"kind": item}) if isinstance(item, str) else Fields.of(item, "evaluators")
    provider = fields.uuid("provider_id")
    return configure_evaluator(
        workspace=workspace,
        kind=fields.needed_text("kind"),
        name=fields.text("name", "") or "",
        settings=fields.object("settings"),
        provider=access.provider(workspace, provider) if provider else None,
    )


@api_view(["GET", "DELETE"])
def comparison(request: Request, uid: str) -> Response:
    """State, progress, and for each evaluator the counts and the verdict."""
    found = access.comparison(workspace_of(request), uid)
    if request.method == "DELETE":
        delete_comparison(found)
        return Response(status=204)
    return Response(shape(found))


def shape(row: Comparison) -> dict[str, Any]:
    """A comparison on the wire."""
    evaluators = list(row.evaluators.select_related("evaluator"))
    corrections = corrections_of(row.dataset)
    return {
        "id": row.uid,
        "name": row.name,
        "description": row.description,
        "metadata": row.metadata,
        "dataset_id": row.dataset.uid,
        "dataset_version": row.dataset_version,
        "version_note": _version_note(row),
        "source": row.source,
        "margin": row.margin,
        "order": row.order if row.source == Comparison.Source.LAUNCHED else None,
        "created_at": row.created_at,
        "experiments": [
            {
                "side": chr(97 + side.position),
                "name": side.name,
                "id": side.experiment.uid if side.experiment else None,
            }
            for side in row.sides.select_related("experiment")
        ],
        "job": job_shape(row.job) if row.job else None,
        "evaluators": [_evaluator_shape(row, one, corrections.get(one.pk)) for one in evaluators],
        "computed_with": computed_with(),
    }


def _version_note(row: Comparison) -> dict[str, Any] | None:
    """What differs when the experiments ran on different versions of the dataset."""
    note = version_note(row)
    if note is None:
        return None
    return {
        "earlier": note.earlier,
        "later": note.later,
        "added": note.counts.added,
        "changed": note.counts.changed,
        "removed": note.counts.removed,
        "first_rows": note.changed,
    }


def job_shape(job: Job) -> dict[str, Any]:
    """How far a job has come."""
    progress = progress_of(job)
    return {
        "state": progress.state,
        "total": progress.total,
        "done": progress.done,
        "rate": progress.rate,
        "seconds_left": progress.seconds_left,
        "stalled": progress.is_stalled,
        "has_worker": progress.has_worker,
        "waits_until": progress.waits_until,
        "stopped_by": progress.cause or None,
        "error": progress.error or None,
        "calls": progress.usage.calls,
        "cost": float(progress.usage.money),
        "calls_without_price": progress.usage.unpriced,
        "tokens": progress.usage.tokens,
        "max_calls": progress.usage.budget_calls,
        "max_cost": _float(progress.usage.budget_money),
        "steps": allowed_steps(job),
        "max_concurrency": job.max_concurrency,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
    }


def _float(money: Decimal | None) -> float | None:
    return None if money is None else float(money)


def _evaluator_shape(
    comparison: Comparison, row: ComparisonEvaluator, correction: Correction | None
) -> dict[str, Any]:
    counts, race = outcome_counts(row), race_of(row)
    return {
        "key": row.key,
        "kind": row.evaluator.kind if row.evaluator else None,
        "version": row.evaluator.version if row.evaluator else None,
        "counts": counts_shape(counts),
        "failures": [asdict(one) for one in failures_by_kind(row.pk)] if counts.failed else [],
        "stopped_after": race.stopped_at if race else None,
        "verdict": verdict_of(comparison, row, counts).as_dict(),
        "correction": asdict(correction) if correction else None,
    }


def counts_shape(counts: OutcomeCounts) -> dict[str, int]:
    """Pairs by outcome; `order_changed` counts some of the ties again."""
    return {
        "a": counts.a,
        "b": counts.b,
        "tie": counts.tie,
        "both_good": counts.both_good,
        "both_bad": counts.both_bad,
        "failed": counts.failed,
        "missing": counts.missing,
        "pending": counts.pending,
        "total": counts.total,
        "order_changed": counts.order_changed,
    }


@api_view(["POST"])
def comparison_step(request: Request, uid: str, step: str) -> Response:
    """Pause, resume, cancel, retry, rejudge or extend; 409 when the state does not allow it."""
    found = access.comparison(workspace_of(request), uid)
    if step not in STEPS or found.job is None:
        raise Http404("There is no such step for this comparison")
    steer(found.job, step)
    return Response(shape(access.comparison(workspace_of(request), uid)))


@api_view(["POST"])
def comparison_budget(request: Request, uid: str) -> Response:
    """Set `max_calls` and `max_cost`; a comparison that waited for its budget goes on."""
    found = access.comparison(workspace_of(request), uid)
    body = object_body(request)
    body.refuse_others({"max_calls", "max_cost"})
    set_budget(found.job, budget_of(body))
    return Response(shape(access.comparison(workspace_of(request), uid)))
