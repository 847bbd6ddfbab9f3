"""Lanes reserve of a job's budget what nobody else holds; no worker runs here."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from experiments.models import Lane
from experiments.queries.progress import usage_of_job
from experiments.services import jobs
from experiments.services.budgets import Budget, Grant, Spent, reserve, settle
from experiments.services.lanes import open_lanes
from tests.engine.launching import job_of, launched
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)
CENT = Decimal("0.01")
PRICES: dict[str, Any] = {"input_price": Decimal(50), "output_price": Decimal(500)}


def lanes_of(workspace: Workspace, budget: Budget) -> list[Lane]:
    """The two lanes of a job."""
    provider = make_provider(workspace, "http://127.0.0.1:9/v1", **PRICES)
    comparison = launched(workspace, provider, 4, max_concurrency=128, budget=budget)
    return jobs.plan(job_of(comparison))


def test_what_a_dead_lane_held_is_free_again(workspace: Workspace) -> None:
    one, other = lanes_of(workspace, Budget(calls=10))
    assert reserve(one.pk, one.token, calls=7, each=CENT) == Grant(7)
    assert reserve(other.pk, other.token, calls=7, each=CENT) == Grant(3)
    assert reserve(other.pk, other.token, calls=1, each=CENT) == Grant(0, wait=True)
    settle(one.pk, one.token, Spent(calls=2), 2 * CENT)
    open_lanes(one.job)
    assert usage_of_job(one.job).calls == 2
    one.refresh_from_db()
    assert reserve(one.pk, one.token, calls=20, each=CENT) == Grant(8)


def test_money_is_held_until_it_is_settled(workspace: Workspace) -> None:
    one, other = lanes_of(workspace, Budget(money=10 * CENT))
    assert reserve(one.pk, one.token, calls=16, each=3 * CENT) == Grant(3)
    assert reserve(other.pk, other.token, calls=1, each=3 * CENT) == Grant(0, wait=True)
    settle(one.pk, one.token, Spent(calls=3, money=4 * CENT), 9 * CENT)
    assert reserve(other.pk, other.token, calls=9, each=3 * CENT) == Grant(2)


def test_a_guess_alone_does_not_use_a_budget_up(workspace: Workspace) -> None:
    one, _ = lanes_of(workspace, Budget(money=10 * CENT))
    assert reserve(one.pk, one.token, calls=16, each=20 * CENT) == Grant(0)
    assert reserve(one.pk, one.token, calls=16, each=20 * CENT, is_guess=True) == Grant(1)
    assert reserve(one.pk, one.token, calls=16, each=CENT, is_guess=True).wait


def test_a_lane_that_lost_its_token_reserves_nothing_but_pays(workspace: Workspace) -> None:
    one, _ = lanes_of(workspace, Budget(calls=10))
    stale = one.token
    open_lanes(one.job)
    assert reserve(one.pk, stale, calls=1, each=CENT) == Grant(0, wait=True)
    one.refresh_from_db()
    assert reserve(one.pk, one.token, calls=4, each=CENT) == Grant(4)
    settle(one.pk, stale, Spent(calls=3), 3 * CENT)
    one.refresh_from_db()
    assert (one.calls, one.calls_held) == (3, 4)


def test_without_a_budget_nothing_is_held(workspace: Workspace) -> None:
    one, _ = lanes_of(workspace, Budget())
    assert reserve(one.pk, one.token, calls=16, each=CENT) == Grant(None)
