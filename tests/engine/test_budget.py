"""A budget in calls and in money is kept by all lanes together, and raising it goes on."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from experiments.errors import InvalidError
from experiments.models import Job, JudgeReply, Lane, Order
from experiments.queries.progress import usage_of_job
from experiments.services.budgets import Budget
from experiments.tasks import set_budget
from tests.engine.launching import counts_of, job_of, launched, wait_for
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)
# The stub counts 100 tokens read and 10 written a call: this makes a call cost a cent.
PRICES: dict[str, Any] = {"input_price": Decimal(50), "output_price": Decimal(500)}
CENT = Decimal("0.01")


def test_a_budget_in_calls_is_exact_over_several_lanes_and_raising_it_goes_on(
    worker: Worker, workspace: Workspace
) -> None:
    with StubJudge(delay=0.05) as stub:
        comparison = launched(
            workspace,
            make_provider(workspace, stub.base_url),
            90,
            max_concurrency=150,
            budget=Budget(calls=40),
        )
        wait_for(comparison, Job.State.PAUSED)
        assert Lane.objects.filter(job=comparison.job).count() == 3
        eventually(lambda: counts_of(comparison).a == 40, 5, "what was paid for is judged")
        assert stub.stats()["calls"] == 40
        job = job_of(comparison)
        assert (job.cause, "40 of 40 calls" in job.error) == (Job.Cause.BUDGET, True)
        set_budget(job, Budget(calls=60))
        eventually(lambda: stub.stats()["calls"] == 60, 30, "sixty calls")
        wait_for(comparison, Job.State.PAUSED)
        set_budget(job_of(comparison), Budget())
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (stub.stats()["calls"], counts.a) == (90, 90)
    assert usage_of_job(job).calls == 90


def test_a_budget_in_money_is_never_overspent_by_more_than_what_is_in_flight(
    worker: Worker, workspace: Workspace
) -> None:
    concurrency = 6
    with StubJudge(delay=0.05) as stub:
        comparison = launched(
            workspace,
            make_provider(workspace, stub.base_url, **PRICES),
            60,
            max_concurrency=concurrency,
            budget=Budget(money=20 * CENT),
        )
        wait_for(comparison, Job.State.PAUSED)
        calls = stub.stats()["calls"]
    usage = usage_of_job(job_of(comparison))
    assert usage.money == calls * CENT
    assert 20 * CENT - CENT <= usage.money <= (20 + concurrency) * CENT
    assert set(JudgeReply.objects.values_list("cost", flat=True)) == {CENT}
    assert "$0.2" in job_of(comparison).error


def test_failed_calls_count_and_a_cached_reply_does_not(
    worker: Worker, workspace: Workspace
) -> None:
    with StubJudge(script=[{"status": 500, "times": 3}]) as stub:
        provider = make_provider(workspace, stub.base_url)
        first = launched(workspace, provider, 3, max_concurrency=1, budget=Budget(calls=6))
        wait_for(first, Job.State.COMPLETE)
        assert usage_of_job(job_of(first)).calls == stub.stats()["calls"] == 6
        again = launched(workspace, provider, 3, max_concurrency=1, budget=Budget(calls=1))
        wait_for(again, Job.State.COMPLETE)
        assert usage_of_job(job_of(again)).calls == 0
        assert stub.stats()["calls"] == 6


def test_replies_that_nobody_can_read_stop_a_big_job_early(
    worker: Worker, workspace: Workspace
) -> None:
    with StubJudge(delay=0.01, script=[{"reply": "no idea"}]) as stub:
        comparison = launched(
            workspace,
            make_provider(workspace, stub.base_url),
            400,
            order=Order.BOTH,
            max_concurrency=4,
            budget=Budget(calls=300),
        )
        counts = wait_for(comparison, Job.State.PAUSED)
        assert stub.stats()["calls"] < 120
    assert counts.failed >= 20
    assert "all failed" in job_of(comparison).error
    assert usage_of_job(job_of(comparison)).tokens > 0


def test_a_budget_in_money_needs_a_price(workspace: Workspace) -> None:
    provider = make_provider(workspace, "http://127.0.0.1:9/v1", fallback=None)
    with pytest.raises(InvalidError) as refused:
        launched(workspace, provider, 2, budget=Budget(money=Decimal(1)))
    assert refused.value.field == "max_cost"
    assert "price" in refused.value.message
    priced = make_provider(workspace, "http://127.0.0.1:9/v1", fallback=provider, **PRICES)
    with pytest.raises(InvalidError, match=provider.name):
        launched(workspace, priced, 2, budget=Budget(money=Decimal(1)))


@pytest.mark.parametrize(
    "budget",
    [Budget(calls=0), Budget(money=Decimal(0)), Budget(money=Decimal("1.00000000001"))],
)
def test_a_budget_out_of_range_is_refused(workspace: Workspace, budget: Budget) -> None:
    provider = make_provider(workspace, "http://127.0.0.1:9/v1", **PRICES)
    with pytest.raises(InvalidError):
        launched(workspace, provider, 2, budget=budget)


@pytest.mark.parametrize(("calls", "verdicts"), [(6, 3), (11, 5)])
def test_a_small_budget_finishes_pairs_before_it_begins_others(
    worker: Worker, workspace: Workspace, calls: int, verdicts: int
) -> None:
    with StubJudge(delay=0.1) as stub:
        comparison = launched(
            workspace,
            make_provider(workspace, stub.base_url),
            40,
            max_concurrency=16,
            order=Order.BOTH,
            budget=Budget(calls=calls),
        )
        wait_for(comparison, Job.State.PAUSED)
        eventually(lambda: counts_of(comparison).a == verdicts, 5, "pairs are judged")
        assert stub.stats()["calls"] == calls
