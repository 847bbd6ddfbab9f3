"""A worker that dies with calls in flight loses nothing and judges nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.models import Game, Job, JudgeReply, Judgment, Order, QueueItem
from experiments.queries.outcome_counts import outcome_counts
from experiments.tasks import hint, plan
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import make_comparison, make_dataset, make_experiment, make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_ends_complete_after_kill_9_with_calls_in_flight(
    workspace: Workspace, tmp_path: Path
) -> None:
    count = 60
    dataset = make_dataset(workspace, [f"reference {n}" for n in range(count)])
    good = [f"GOOD-ANSWER {n}" for n in range(count)]
    plain = [f"plain answer {n}" for n in range(count)]
    a = make_experiment(dataset, [*good[:40], *plain[40:]])
    b = make_experiment(dataset, [*plain[:40], *good[40:]])
    with (
        StubJudge(delay=0.4) as stub,
        Worker(log=tmp_path / "one.log") as first,
    ):
        comparison = make_comparison(
            a,
            b,
            kind="pairwise_string",
            provider=make_provider(workspace, stub.base_url),
            order=Order.BOTH,
            max_concurrency=8,
        )
        hint(plan, comparison.job_id)
        eventually(lambda: stub.stats().get("answered", 0) >= 20, 30, "twenty answers")
        first.kill()
        in_flight = 8
        assert QueueItem.objects.filter(lane_token__isnull=False).exists()
        with Worker(name="second", log=tmp_path / "two.log"):
            eventually(
                lambda: Job.objects.filter(state=Job.State.COMPLETE).exists(), 60, "complete"
            )
        stats = stub.stats()
    counts = outcome_counts(comparison.evaluators.get())
    assert (counts.a, counts.b, counts.ties, counts.failed) == (40, 20, 0, 0)
    assert Judgment.objects.filter(comparison=comparison).count() == count
    assert Game.objects.count() == 2 * count
    assert JudgeReply.objects.count() == 2 * count
    assert stats["max_in_flight"] <= 8
    assert 2 * count <= stats["answered"] <= 2 * count + in_flight
