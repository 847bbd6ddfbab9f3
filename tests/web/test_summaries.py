"""What experiments come to, on their pages: kept until something comes, never old unawares."""

from __future__ import annotations

import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from experiments import tasks
from experiments.ids import uuid7
from experiments.models import Evaluation, Experiment, ExperimentSummary, Job, Run
from experiments.queries.experiment_pages import ExperimentRow
from experiments.queries.experiment_summaries import stored_summaries
from experiments.rawjson import dumps
from experiments.services import summaries
from experiments.services.comparisons import create_evaluation
from experiments.services.evaluators import configure_evaluator
from tests.engine.processes import Worker, eventually
from tests.factories import make_dataset, make_experiment, make_key
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def experiment(workspace: Workspace) -> Experiment:
    return make_experiment(make_dataset(workspace, ["4", "Paris", "blue"]), ["4", "London", "blue"])


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The experiments that workers were asked to add up; five runs are many."""
    asked: list[int] = []
    monkeypatch.setattr(summaries, "ADDED_UP_AT_ONCE", 2)
    monkeypatch.setattr(tasks, "hint", lambda task, *arguments: asked.extend(arguments))
    return asked


def shown(client: Client, experiment: Experiment) -> tuple[ExperimentRow, bool]:
    """Its row in the list, and whether the list asks again."""
    page = client.get(reverse("experiment_list"))
    (row,) = [row for row in page.context["rows"] if row.experiment == experiment]
    return row, "every 2s" in page.content.decode()


def send(workspace: Workspace, method: str, path: str, body: Any = None) -> None:
    answer = Client(headers={"x-api-key": make_key(workspace)}).generic(
        method, f"/api{path}", "" if body is None else dumps(body), "application/json"
    )
    assert answer.status_code < 300, answer.content


def score_of(experiment: Experiment, score: float = 1) -> dict[str, Any]:
    run = Run.objects.filter(experiment=experiment).order_by("pk")[0]
    return {"id": str(uuid4()), "run_id": str(run.uid), "key": "correct", "score": score}


def test_every_writer_is_seen_at_once(
    alice_client: Client, workspace: Workspace, experiment: Experiment
) -> None:
    row, polls = shown(alice_client, experiment)
    assert (row.summary.statistics.run_count, row.summary.metrics, polls) == (3, {}, False)
    assert ExperimentSummary.objects.get(pk=experiment.pk).stale is False

    run = {"id": str(uuid7()), "name": "late", "run_type": "chain", "inputs": {}}
    run |= {"session_id": str(experiment.uid), "start_time": "2026-01-01T00:00:00Z"}
    send(workspace, "POST", "/runs", run)
    assert shown(alice_client, experiment)[0].summary.statistics.run_count == 4
    send(workspace, "PATCH", f"/runs/{run['id']}", {"error": "no"})
    assert shown(alice_client, experiment)[0].summary.statistics.error_count == 1

    scores = [score_of(experiment, 0), score_of(experiment, 1)]
    for score in scores:
        send(workspace, "POST", "/feedback", score)
    metric = shown(alice_client, experiment)[0].summary.metrics["correct"]
    assert (metric.mean, metric.n) == (0.5, 2)
    send(workspace, "PATCH", f"/feedback/{scores[0]['id']}", {"score": 1})
    assert shown(alice_client, experiment)[0].summary.metrics["correct"].mean == 1
    send(workspace, "DELETE", f"/feedback/{scores[0]['id']}")
    assert shown(alice_client, experiment)[0].summary.metrics["correct"].n == 1


def test_scores_of_an_evaluation_are_seen_at_once(
    alice_client: Client, workspace: Workspace, experiment: Experiment, worker: Worker
) -> None:
    shown(alice_client, experiment)
    evaluation: Evaluation = create_evaluation(
        experiment=experiment,
        evaluator=configure_evaluator(workspace=workspace, kind="exact_match"),
    )
    tasks.start_job(evaluation.job)
    done = Job.objects.filter(pk=evaluation.job_id, state=Job.State.COMPLETE)
    eventually(done.exists, 30, "the evaluation is complete")
    (metric,) = shown(alice_client, experiment)[0].summary.metrics.values()
    assert (metric.n, round(metric.mean, 3)) == (3, 0.667)
    assert metric.margin is not None


def test_a_large_experiment_is_added_up_by_a_worker(
    alice_client: Client, workspace: Workspace, experiment: Experiment, queued: list[int]
) -> None:
    row, polls = shown(alice_client, experiment)
    assert (row.is_known, polls, queued) == (False, True, [experiment.pk])
    tasks.add_up_summary(experiment.pk)
    row, polls = shown(alice_client, experiment)
    assert (row.summary.statistics.run_count, polls) == (3, False)

    send(workspace, "POST", "/feedback", score_of(experiment))
    queued.clear()
    row, polls = shown(alice_client, experiment)
    assert (row.summary.metrics, polls, queued) == ({}, True, [experiment.pk])
    tasks.add_up_summary(experiment.pk)
    assert shown(alice_client, experiment)[1], "not more often than every twenty seconds"
    ExperimentSummary.objects.update(begun_at=None)
    tasks.add_up_summary(experiment.pk)
    row, polls = shown(alice_client, experiment)
    assert (list(row.summary.metrics), polls) == (["correct"], False)


def test_a_counting_that_never_ended_is_done_again(
    alice_client: Client, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(alice_client, experiment)
    summaries.outdate([experiment.pk])

    def killed(ids: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(summaries, "counted_summaries", killed)
        with pytest.raises(SystemExit):
            summaries.add_up([experiment.pk])
    assert not stored_summaries([experiment.pk])[experiment.pk].fresh
    assert shown(alice_client, experiment)[0].summary.fresh


def test_what_is_being_written_while_it_is_counted_is_counted_again(
    experiment: Experiment,
) -> None:
    summaries.add_up([experiment.pk])
    writing, counted = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                Run.objects.filter(experiment=experiment).update(status=Run.Status.ERROR)
                summaries.outdate([experiment.pk])
                writing.set()
                assert counted.wait(10)
        finally:
            connection.close()

    ExperimentSummary.objects.update(stale=True)
    writer = threading.Thread(target=write)
    writer.start()
    assert writing.wait(10)
    summaries.add_up([experiment.pk])
    counted.set()
    writer.join(10)
    (row,) = summaries.quick_rows([experiment])
    assert row.summary.statistics.error_count == 3
