"""Our own: the kinds of evaluators, and scoring an experiment's outputs with one."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from evaluators.registry import available
from experiments.models import Evaluation
from experiments.services.comparisons import create_evaluation
from experiments.services.evaluators import configure_evaluator
from experiments.services.jobs import MAX_CONCURRENCY, STEPS
from experiments.tasks import start_job, steer
from tiebreak import access
from tiebreak.api.comparisons import SENT_AS, budget_of, job_shape, named_as_sent
from tiebreak.api.reading import object_body, workspace_of


@api_view(["GET"])
def evaluator_kinds(request: Request) -> Response:
    """Every kind with its settings, third parties' too; `problem` says why one cannot be used."""
    workspace_of(request)
    return Response(
        [
            {
                "kind": kind.name,
                "title": kind.title,
                "description": kind.description,
                "family": kind.family,
                "source": kind.source,
                "needs_model": kind.needs_model,
                "requires_input": kind.requires_input,
                "requires_reference": kind.requires_reference,
                "higher_is_better": kind.higher_is_better,
                "order_matters": kind.order_matters,
                "problem": kind.problem or None,
                "settings": [
                    {
                        "name": setting.name,
                        "type": setting.type,
                        "help": setting.help,
                        "choices": list(setting.choices),
                        "required": setting.required,
                    }
                    for setting in kind.settings
                ],
            }
            for kind in available()
        ]
    )


@api_view(["POST"])
def evaluate_experiment(request: Request, uid: str) -> Response:
    """Score the outputs of an experiment; the scores become feedback on its runs."""
    workspace, body = workspace_of(request), object_body(request)
    experiment = access.experiment(workspace, uid)
    provider = body.uuid("provider_id")
    with transaction.atomic(), named_as_sent(SENT_AS | {"evaluator": "kind"}):
        evaluator = configure_evaluator(
            workspace=workspace,
            kind=body.needed_text("kind"),
            name=body.text("name", "") or "",
            settings=body.object("settings"),
            provider=access.provider(workspace, provider) if provider else None,
        )
        found = create_evaluation(
            experiment=experiment,
            evaluator=evaluator,
            max_concurrency=body.integer("max_concurrency", low=1, high=MAX_CONCURRENCY) or 8,
            budget=budget_of(body),
        )
        start_job(found.job)
    return Response(_shape(found), status=201)


@api_view(["POST"])
def evaluation_step(request: Request, uid: str, step: str) -> Response:
    """Pause, resume, cancel or retry; 409 when the state does not allow it."""
    found = access.evaluation(workspace_of(request), uid)
    if step not in STEPS:
        raise Http404("There is no such step for an evaluation")
    steer(found.job, step)
    return Response(_shape(access.evaluation(workspace_of(request), uid)))


@api_view(["GET"])
def evaluation(request: Request, uid: str) -> Response:
    """How far an evaluation has come."""
    return Response(_shape(access.evaluation(workspace_of(request), uid)))


def _shape(row: Evaluation) -> dict[str, Any]:
    return {
        "id": row.uid,
        "experiment_id": row.experiment.uid,
        "key": row.evaluator.name,
        "kind": row.evaluator.kind,
        "version": row.evaluator.version,
        "created_at": row.created_at,
        "job": job_shape(row.job),
    }
