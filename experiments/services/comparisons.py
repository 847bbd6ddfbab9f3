"""Launching comparisons and evaluations, and noting those that scripts run."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from experiments.errors import ConflictError, InvalidError
from experiments.ids import uuid7
from experiments.models import (
    Comparison,
    ComparisonEvaluator,
    ComparisonSide,
    Dataset,
    Evaluation,
    Evaluator,
    Experiment,
    Order,
    Race,
)
from experiments.queries.pairing import pairing_of
from experiments.rawjson import storable_value
from experiments.services.budgets import NO_LIMIT, Budget, check_budget
from experiments.services.datasets import clean_name
from experiments.services.evaluators import kind_of
from experiments.services.jobs import MAX_CONCURRENCY, OPEN, create_job
from tiebreak.accounts.models import User, Workspace


@transaction.atomic
def create_comparison(
    *,
    dataset: Dataset,
    experiments: Sequence[Experiment],
    evaluators: Sequence[Evaluator],
    order: str = Order.BOTH,
    max_concurrency: int = 8,
    budget: Budget = NO_LIMIT,
    stop_when_certain: bool = False,
    margin: float = 0.05,
    name: str = "",
    description: str | None = None,
    metadata: dict[str, Any] | None = None,
    author: User | None = None,
    uid: UUID | None = None,
) -> Comparison:
    """Launch a comparison of A and B: it is queued, and a worker plans it.

    `margin` is the smallest difference of the win rate from even that matters: 0.05 = 5 points.
    """
    check_launch(dataset, experiments, evaluators, order, max_concurrency)
    if not 0 < margin < 0.5:
        raise InvalidError("margin", "must lie between 0 and 0.5")
    check_budget(budget, evaluators)
    workspace = dataset.workspace
    comparison = Comparison.objects.create(
        workspace=workspace,
        uid=uid or uuid7(),
        dataset=dataset,
        name=clean_name("name", name or " vs ".join(e.name for e in experiments)[:400]),
        description=description,
        metadata=storable_value(metadata or {}),
        source=Comparison.Source.LAUNCHED,
        job=create_job(
            workspace=workspace, max_concurrency=max_concurrency, budget=budget, author=author
        ),
        order=order,
        margin=margin,
        seed=uuid7().int & (1 << 62) - 1,
        dataset_version=experiments[0].dataset_version,
        author=author,
    )
    _add_sides(comparison, experiments)
    ComparisonEvaluator.objects.bulk_create(
        ComparisonEvaluator(comparison=comparison, key=row.name, evaluator=row)
        for row in evaluators
    )
    if stop_when_certain:
        Race.objects.bulk_create(Race(evaluator=row) for row in comparison.evaluators.all())
    return comparison


def check_launch(
    dataset: Dataset,
    experiments: Sequence[Experiment],
    evaluators: Sequence[Evaluator],
    order: str,
    max_concurrency: int,
) -> None:
    """Refuse what cannot be compared, naming the field and what is allowed."""
    if len(experiments) != 2:
        raise InvalidError("experiments", "choose two experiments, A and B")
    for field, experiment in zip(("experiment_a", "experiment_b"), experiments, strict=True):
        if experiment.dataset_id != dataset.pk:
            raise InvalidError(field, f"{experiment.name} is not an experiment on {dataset.name}")
    if experiments[0].pk == experiments[1].pk:
        raise InvalidError("experiment_b", "must differ from A")
    if not evaluators:
        raise InvalidError("evaluators", "choose at least one evaluator")
    names = [row.name for row in evaluators]
    if len(set(names)) < len(names):
        raise InvalidError("evaluators", "each evaluator can be chosen once")
    for row in evaluators:
        if not kind_of(row).pairwise:
            raise InvalidError("evaluators", f"{row.name} does not compare two outputs")
    if order not in Order.values:
        raise InvalidError("order", f"must be one of {', '.join(Order.values)}")
    check_concurrency(max_concurrency)
    if not pairing_of(experiments).shared:
        raise InvalidError("experiment_b", "has no example in common with A")


def check_concurrency(max_concurrency: int) -> None:
    """Refuse a limit that is out of range."""
    if not 1 <= max_concurrency <= MAX_CONCURRENCY:
        raise InvalidError("max_concurrency", f"must be between 1 and {MAX_CONCURRENCY}")


@transaction.atomic
def create_evaluation(
    *,
    experiment: Experiment,
    evaluator: Evaluator,
    max_concurrency: int = 8,
    budget: Budget = NO_LIMIT,
    author: User | None = None,
) -> Evaluation:
    """Launch a single-run evaluator over an experiment: its scores become feedback.

    While the same evaluator is at work on it, that evaluation is given back instead.
    """
    if kind_of(evaluator).family != "string":
        raise InvalidError("evaluator", f"{evaluator.name} does not score one output")
    check_concurrency(max_concurrency)
    check_budget(budget, [evaluator])
    workspace = experiment.workspace
    # One launch after the other: the second finds the first.
    Experiment.objects.select_for_update().get(pk=experiment.pk)
    under_way = Evaluation.objects.filter(
        experiment=experiment, evaluator=evaluator, job__state__in=OPEN
    ).first()
    if under_way is not None:
        return under_way
    return Evaluation.objects.create(
        workspace=workspace,
        experiment=experiment,
        evaluator=evaluator,
        job=create_job(
            workspace=workspace, max_concurrency=max_concurrency, budget=budget, author=author
        ),
    )


def record_sdk_comparison(
    *,
    workspace: Workspace,
    uid: UUID | None,
    name: str,
    description: str | None,
    experiments: Sequence[Experiment],
    dataset: Dataset,
    extra: str | None = None,
    metadata: dict[str, Any] | None = None,
    created_at: datetime | None = None,
) -> Comparison:
    """Note a comparison that a script judges; its verdicts come as feedback."""
    try:
        with transaction.atomic():
            comparison = Comparison.objects.create(
                workspace=workspace,
                uid=uid or uuid7(),
                dataset=dataset,
                name=clean_name("name", name),
                description=description,
                extra=extra or "{}",
                metadata=storable_value(metadata or {}),
                source=Comparison.Source.SDK,
                dataset_version=experiments[0].dataset_version if experiments else None,
                created_at=created_at or timezone.now(),
            )
            _add_sides(comparison, experiments)
    except IntegrityError as error:
        raise ConflictError("A comparative experiment with this id already exists.") from error
    return comparison


def _add_sides(comparison: Comparison, experiments: Sequence[Experiment]) -> None:
    ComparisonSide.objects.bulk_create(
        ComparisonSide(
            comparison=comparison, position=position, experiment=experiment, name=experiment.name
        )
        for position, experiment in enumerate(experiments)
    )
