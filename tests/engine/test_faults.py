"""Faults while judging: every pair ends with one verdict, and only calls in flight are lost."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from django.core.cache import cache

from experiments.models import (
    Comparison,
    Game,
    Job,
    JudgeReply,
    Judgment,
    Lane,
    QueueItem,
)
from experiments.queries.outcome_counts import outcome_counts
from experiments.tasks import start_job
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import make_comparison, make_dataset, make_experiment, make_provider
from tiebreak.accounts.models import Workspace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("faults"),
]


def prepared(
    workspace: Workspace, stub: StubJudge, count: int, *, concurrency: int, timeout: float = 30
) -> Comparison:
    """A wins two of three pairs, B the rest."""
    dataset = make_dataset(workspace, [f"r{n}" for n in range(count)])
    good, plain = (
        [f"{word} {n}" for n in range(count)] for word in ("GOOD-ANSWER", "plain answer")
    )
    a = make_experiment(dataset, [good[n] if n % 3 else plain[n] for n in range(count)])
    b = make_experiment(dataset, [plain[n] if n % 3 else good[n] for n in range(count)])
    comparison = make_comparison(
        a,
        b,
        kind="pairwise_string",
        provider=make_provider(workspace, stub.base_url, timeout=timeout),
        max_concurrency=concurrency,
    )
    assert comparison.job is not None
    start_job(comparison.job)
    return comparison


def check_end(comparison: Comparison, count: int) -> None:
    """One verdict a pair, the planted one, and nothing left on the queue."""
    counts = outcome_counts(comparison.evaluators.get())
    lost = len(range(0, count, 3))
    assert (counts.a, counts.b, counts.ties, counts.failed) == (count - lost, lost, 0, 0)
    assert Judgment.objects.filter(comparison=comparison).count() == count
    assert Game.objects.filter(judgment__comparison=comparison).count() == count
    assert JudgeReply.objects.count() == count
    assert not QueueItem.objects.exists()


def is_complete(comparison: Comparison) -> bool:
    return Job.objects.get(comparison=comparison).state == Job.State.COMPLETE


def called_since(stub: StubJudge, before: int) -> bool:
    return stub.stats().get("calls", 0) > before


def test_twenty_kills_lose_nothing_and_judge_nothing_twice(
    workspace: Workspace, tmp_path: Path
) -> None:
    count, concurrency = 2000, 32
    lost: list[int] = []
    chance = random.Random(7)
    with StubJudge(delay=0.5) as stub, Worker(log=tmp_path / "log") as worker:
        comparison = prepared(workspace, stub, count, concurrency=concurrency)
        for _ in range(20):
            calls = partial(called_since, stub, stub.stats().get("calls", 0))
            eventually(calls, 40, "a call")
            time.sleep(chance.uniform(0.05, 1.2))
            eventually(lambda: stub.stats()["in_flight"] > 0, 40, "calls in flight")
            worker.kill()
            # Called, and neither stored nor lost at an earlier kill: in flight at this one.
            lost.append(stub.stats()["calls"] - JudgeReply.objects.count() - sum(lost))
            worker.start()
        eventually(lambda: is_complete(comparison), 240, "it is complete")
        stats = stub.stats()
    check_end(comparison, count)
    print(f"kills with calls in flight: {sum(n > 0 for n in lost)} of 20, {lost}")
    print(
        f"recorded {count}, answered {stats['answered']}, most in flight {stats['max_in_flight']}"
    )
    assert all(0 < n <= concurrency for n in lost)
    assert count <= stats["answered"] <= count + sum(lost)
    assert stats["max_in_flight"] <= concurrency


def test_a_broker_that_forgets_everything_costs_seconds(
    workspace: Workspace, tmp_path: Path
) -> None:
    with StubJudge(delay=0.1) as stub, Worker(log=tmp_path / "log"):
        comparison = prepared(workspace, stub, 400, concurrency=4)
        eventually(lambda: stub.stats().get("answered", 0) > 20, 30, "some answers")
        for _ in range(3):
            cache.clear()
            time.sleep(1)
        eventually(lambda: is_complete(comparison), 90, "it is complete")
        assert stub.stats()["max_in_flight"] <= 4
    check_end(comparison, 400)


def test_a_frozen_worker_cannot_write_once_another_has_taken_over(
    workspace: Workspace, tmp_path: Path
) -> None:
    count = 150
    with StubJudge(delay=0.3) as stub, Worker(log=tmp_path / "one", name="one") as frozen:
        comparison = prepared(workspace, stub, count, concurrency=4, timeout=1)
        eventually(lambda: stub.stats().get("answered", 0) > 8, 30, "some answers")
        os.killpg(frozen.process.pid, signal.SIGSTOP)
        stale = Lane.objects.get(job__comparison=comparison).token
        with Worker(log=tmp_path / "two", name="two"):
            eventually(
                lambda: Lane.objects.get(job__comparison=comparison).token != stale,
                60,
                "the lease runs out",
            )
            os.killpg(frozen.process.pid, signal.SIGCONT)
            eventually(lambda: is_complete(comparison), 60, "it is complete")
    check_end(comparison, count)


def test_two_workers_and_a_deploy_in_the_middle(workspace: Workspace, tmp_path: Path) -> None:
    count = 300
    with (
        StubJudge(delay=0.2) as stub,
        Worker(log=tmp_path / "one", name="one") as first,
        Worker(log=tmp_path / "two", name="two"),
    ):
        comparison = prepared(workspace, stub, count, concurrency=8)
        eventually(lambda: stub.stats().get("answered", 0) > 30, 30, "some answers")
        first.terminate()
        assert first.process.returncode == 0
        first.start()
        eventually(lambda: is_complete(comparison), 60, "it is complete")
        stats = stub.stats()
    check_end(comparison, count)
    assert stats["max_in_flight"] <= 8
    assert stats["answered"] == count
