"""What is deleted while it is judged ends the job, and leaves nothing behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from experiments.models import (
    Comparison,
    Experiment,
    Feedback,
    Game,
    Job,
    Judgment,
    Lane,
    QueueItem,
)
from experiments.services.datasets import create_dataset
from experiments.services.deletion import delete_dataset, delete_experiment
from experiments.tasks import start_job
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import make_comparison, make_dataset, make_experiment, make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stub() -> StubJudge:
    return StubJudge(delay=0.2)


def running(workspace: Workspace, stub: StubJudge) -> Comparison:
    count = 80
    dataset = make_dataset(workspace, [f"r{n}" for n in range(count)], name="doomed")
    a = make_experiment(dataset, [f"GOOD-ANSWER {n}" for n in range(count)])
    b = make_experiment(dataset, [f"plain {n}" for n in range(count)])
    comparison = make_comparison(
        a, b, kind="pairwise_string", provider=make_provider(workspace, stub.base_url)
    )
    assert comparison.job is not None
    start_job(comparison.job)
    eventually(lambda: stub.stats().get("answered", 0) > 8, 30, "some answers")
    return comparison


def test_a_dataset_takes_its_running_comparison_along(
    workspace: Workspace, stub: StubJudge, tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    with stub, Worker(log=log):
        comparison = running(workspace, stub)
        delete_dataset(comparison.dataset)
        time.sleep(2)
        # Between two calls none is in flight either: only the number of calls tells the end.
        eventually(lambda: stub.stats()["in_flight"] == 0, 20, "calls end")
        calls = stub.stats()["calls"]
        later = create_dataset(workspace=workspace, name="doomed")
        time.sleep(1)
        assert stub.stats()["calls"] == calls < 80
    for model in (Comparison, Judgment, Game, Job, Lane, QueueItem, Experiment, Feedback):
        assert model.objects.count() == 0, model
    assert later.name == "doomed"
    assert "Traceback" not in log.read_text()


def test_an_experiment_leaves_its_comparison_readable(
    workspace: Workspace, stub: StubJudge, tmp_path: Path
) -> None:
    with stub, Worker(log=tmp_path / "worker.log"):
        comparison = running(workspace, stub)
        side = comparison.sides.get(position=1)
        assert side.experiment is not None
        delete_experiment(side.experiment)
        eventually(lambda: not Job.objects.get(comparison=comparison).is_open, 60, "the job ends")
    assert comparison.sides.get(position=1).name == side.name
    assert Judgment.objects.filter(comparison=comparison, outcome="a").exists()
