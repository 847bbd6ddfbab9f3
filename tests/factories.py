"""Plain functions that make what tests are about."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from experiments.ids import uuid7
from experiments.models import (
    Comparison,
    Dataset,
    Experiment,
    Feedback,
    Judgment,
    Order,
    Outcome,
    Provider,
    QueueItem,
    Run,
    RunPayload,
)
from experiments.rawjson import dumps, search_text
from experiments.services import jobs
from experiments.services.comparisons import create_comparison
from experiments.services.datasets import create_dataset
from experiments.services.evaluators import configure_evaluator
from experiments.services.examples import NewExample, add_examples
from experiments.services.judgment_rows import Decided
from experiments.services.judgments import record_judgments
from experiments.services.sealing import seal
from experiments.verdicts import Verdict, game
from tiebreak.accounts.models import Role, User, Workspace
from tiebreak.accounts.services import create_api_key, create_workspace

numbers = itertools.count(1)


def make_person(username: str, workspace_name: str) -> tuple[User, Workspace]:
    user = User.objects.create_user(username=username, password="correct horse battery")
    return user, create_workspace(name=workspace_name, owner=user)


def make_key(workspace: Workspace, role: Role = Role.EDITOR) -> str:
    return create_api_key(workspace=workspace, name="test", role=role)[1]


def make_dataset(
    workspace: Workspace,
    answers: Sequence[str] = ("4", "Paris", "blue"),
    *,
    name: str = "",
    splits: Sequence[Sequence[str]] = (),
) -> Dataset:
    """A dataset whose reference outputs are the given answers."""
    dataset = create_dataset(workspace=workspace, name=name or f"dataset {next(numbers)}")
    examples = [
        NewExample(
            inputs=dumps({"question": f"Question {number}?"}),
            outputs=dumps({"answer": answer}),
            splits=splits[number] if splits else (),
        )
        for number, answer in enumerate(answers)
    ]
    add_examples(dataset=dataset, examples=examples)
    return dataset


def example_ids(dataset: Dataset) -> list[UUID]:
    return list(dataset.examples.order_by("pk").values_list("uid", flat=True))


def make_experiment(
    dataset: Dataset, outputs: Sequence[str | Exception | None], *, name: str = ""
) -> Experiment:
    """An experiment with one run per example; None leaves a run out, an exception fails it."""
    experiment = Experiment.objects.create(
        workspace=dataset.workspace,
        dataset=dataset,
        name=name or f"experiment {next(numbers)}",
        num_examples=dataset.example_count,
        num_repetitions=1,
        dataset_version=dataset.modified_at,
    )
    for uid, output in zip(example_ids(dataset), outputs, strict=True):
        if output is not None:
            make_run(experiment, uid, output)
    return experiment


def make_run(experiment: Experiment, example_uid: UUID, output: str | Exception) -> Run:
    uid = uuid7()
    failed = isinstance(output, Exception)
    text = None if failed else dumps({"answer": output})
    moment = timezone.now()
    run = Run.objects.create(
        workspace=experiment.workspace,
        uid=uid,
        experiment=experiment,
        trace_uid=uid,
        name="assistant",
        start_time=moment,
        end_time=moment + timedelta(milliseconds=250),
        status=Run.Status.ERROR if failed else Run.Status.SUCCESS,
        example_uid=example_uid,
    )
    RunPayload.objects.create(
        run=run,
        inputs="{}",
        outputs=text,
        error=dumps(repr(output)) if failed else None,
        search=search_text(text),
    )
    return run


def add_scores(made: Experiment, scores: Sequence[float | None], *, key: str) -> None:
    """Score the runs of an experiment in their order; None leaves one without."""
    Feedback.objects.bulk_create(
        Feedback(workspace=made.workspace, experiment=made, run_uid=run.uid, key=key, score=score)
        for run, score in zip(made.runs.order_by("pk"), scores, strict=True)
        if score is not None
    )


def make_provider(
    workspace: Workspace, base_url: str, *, timeout: float = 30, **options: Any
) -> Provider:
    """A provider that skips the address check, for stubs on loopback."""
    return Provider.objects.create(
        workspace=workspace,
        name=f"provider {next(numbers)}",
        base_url=base_url,
        model="stub",
        sealed_key=seal("sk-test-0123456789"),
        timeout=timeout,
        **options,
    )


def make_comparison(
    a: Experiment,
    b: Experiment,
    *,
    kind: str = "nearer_by_string_distance",
    provider: Provider | None = None,
    order: str = Order.OFF,
    max_concurrency: int = 8,
    **options: Any,
) -> Comparison:
    assert a.dataset is not None
    evaluator = configure_evaluator(workspace=a.workspace, kind=kind, provider=provider)
    return create_comparison(
        dataset=a.dataset,
        experiments=[a, b],
        evaluators=[evaluator],
        order=order,
        max_concurrency=max_concurrency,
        **options,
    )


def judge(comparison: Comparison, outcomes: Sequence[str], *, reason: str = "planted") -> None:
    """Plan a comparison and give its pending pairs these outcomes, in the dataset's order."""
    assert comparison.job is not None
    jobs.plan(comparison.job)
    pending = Judgment.objects.filter(comparison=comparison, outcome=Outcome.PENDING)
    rows = list(pending.select_related("pair").order_by("position"))
    record_judgments(
        comparison,
        [
            _decided(row, outcome, reason)
            for row, outcome in zip(rows, outcomes, strict=True)
            if outcome != Outcome.PENDING
        ],
    )
    QueueItem.objects.filter(job=comparison.job, target__in=[row.pk for row in rows]).delete()
    jobs.complete_if_done(comparison.job)


def _decided(row: Judgment, outcome: str, reason: str) -> Decided:
    runs = [uid for uid in row.pair.run_uids if uid]
    place = {"a": 0, "b": 1}.get(outcome)
    if outcome == "failed":
        return Decided(row.pk, Verdict(Outcome.FAILED, error=reason), [])
    played = game(runs, place, reason=reason)
    scores = {run: 0.5 if place is None else float(run == runs[place]) for run in runs}
    flipped = outcome == "flip"
    verdict = Verdict(
        Outcome.TIE if flipped else Outcome(outcome), scores, order_changed=flipped, reason=reason
    )
    return Decided(row.pk, verdict, [played])
