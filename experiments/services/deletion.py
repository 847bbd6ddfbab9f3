"""Deleting what has millions of rows below it: a few statements, nothing loaded."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from experiments.models import (
    Attachment,
    Comparison,
    ComparisonEvaluator,
    ComparisonSide,
    Dataset,
    DatasetTag,
    DatasetVersion,
    Evaluation,
    Example,
    ExamplePayload,
    ExampleRevision,
    Experiment,
    ExperimentSummary,
    Feedback,
    Game,
    Job,
    JudgingReport,
    Judgment,
    JudgmentScore,
    Lane,
    OutcomeDelta,
    Pair,
    QueueItem,
    Race,
    Run,
    RunPayload,
    Upload,
)


@transaction.atomic
def delete_dataset(dataset: Dataset) -> None:
    """Delete a dataset with its examples, experiments and comparisons."""
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    _delete_comparisons(Comparison.objects.filter(dataset=dataset))
    _delete_experiments(Experiment.objects.filter(dataset=dataset))
    for rows in (
        Attachment.objects.filter(revision__dataset=dataset),
        ExamplePayload.objects.filter(revision__dataset=dataset),
        ExampleRevision.objects.filter(dataset=dataset),
        Example.objects.filter(dataset=dataset),
        DatasetTag.objects.filter(dataset=dataset),
        DatasetVersion.objects.filter(dataset=dataset),
        Upload.objects.filter(dataset=dataset),
        Dataset.objects.filter(pk=dataset.pk),
    ):
        _erase(rows)


@transaction.atomic
def delete_experiment(experiment: Experiment) -> None:
    """Delete an experiment with its runs and feedback; comparisons keep its name."""
    _delete_experiments(Experiment.objects.filter(pk=experiment.pk))


@transaction.atomic
def delete_comparison(comparison: Comparison) -> None:
    """Delete a comparison with its judgments and its job; the experiments stay."""
    _delete_comparisons(Comparison.objects.filter(pk=comparison.pk))


def _delete_experiments(experiments: QuerySet[Experiment]) -> None:
    evaluations = Evaluation.objects.filter(experiment__in=experiments)
    jobs = list(evaluations.values_list("job_id", flat=True))
    _stop_jobs(jobs)
    ComparisonSide.objects.filter(experiment__in=experiments).update(experiment=None)
    for rows in (
        evaluations,
        Feedback.objects.filter(experiment__in=experiments),
        Attachment.objects.filter(run__experiment__in=experiments),
        RunPayload.objects.filter(run__experiment__in=experiments),
        Run.objects.filter(experiment__in=experiments),
        ExperimentSummary.objects.filter(experiment__in=experiments),
        experiments,
    ):
        _erase(rows)
    _delete_jobs(jobs)


def _delete_comparisons(comparisons: QuerySet[Comparison]) -> None:
    jobs = list(comparisons.exclude(job=None).values_list("job_id", flat=True))
    _stop_jobs(jobs)
    evaluators = ComparisonEvaluator.objects.filter(comparison__in=comparisons)
    for rows in (
        Game.objects.filter(judgment__comparison__in=comparisons),
        JudgmentScore.objects.filter(judgment__comparison__in=comparisons),
        Judgment.objects.filter(comparison__in=comparisons),
        Pair.objects.filter(comparison__in=comparisons),
        OutcomeDelta.objects.filter(evaluator__in=evaluators),
        JudgingReport.objects.filter(evaluator__in=evaluators),
        Race.objects.filter(evaluator__in=evaluators),
        evaluators,
        ComparisonSide.objects.filter(comparison__in=comparisons),
        comparisons,
    ):
        _erase(rows)
    _delete_jobs(jobs)


def _stop_jobs(ids: Sequence[int | None]) -> None:
    """Take the work away first: waits for a lane that is writing, and lets none write after it."""
    _erase(QueueItem.objects.filter(job__in=[pk for pk in ids if pk is not None]))


def _delete_jobs(ids: Sequence[int | None]) -> None:
    known = [pk for pk in ids if pk is not None]
    for rows in (
        QueueItem.objects.filter(job__in=known),
        Lane.objects.filter(job__in=known),
        Job.objects.filter(pk__in=known),
    ):
        _erase(rows)


def _erase(rows: QuerySet[Any]) -> None:
    """One DELETE statement; Django's own `delete` would load every row to follow its keys."""
    rows._raw_delete(rows.db)
