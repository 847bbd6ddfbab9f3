"""What nobody thought of costs an item its attempts, and nothing else: one lane, run right here."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import DataError

from evaluators.llm.models import Reply
from experiments.models import Comparison, Lane, Outcome
from experiments.queries.progress import usage_of_job
from experiments.services import asking, jobs, lane_ledger
from experiments.services.calling import Caller
from experiments.services.lane_turn import Turn
from experiments.services.lanes import take_lane
from experiments.services.prices import tokens_of
from experiments.tasks import FIRST_LEASE
from tests.engine.launching import job_of, made
from tests.engine.processes import StubJudge
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def run_one_turn(comparison: Comparison) -> None:
    (lane,) = jobs.plan(job_of(comparison))
    taken = take_lane(lane.pk, lane.token, owner="here", lease=FIRST_LEASE)
    assert taken is not None
    Turn(taken, threading.Event()).run()


def test_a_reply_that_postgresql_refuses_fails_alone(
    workspace: Workspace, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PRIVATE_MODEL_HOSTS = {"127.0.0.1"}
    honest = asking.store_replies

    def refusing(workspace_id: int, asked: Any) -> Any:
        if any("plain answer 1." in one.question.prompt for one in asked):
            raise DataError("bigint out of range")
        return honest(workspace_id, asked)

    monkeypatch.setattr(lane_ledger, "store_replies", refusing)
    monkeypatch.setattr("experiments.services.lane_items.MAX_ATTEMPTS", 2)
    with StubJudge() as stub:
        comparison = made(workspace, make_provider(workspace, stub.base_url), 5)
        run_one_turn(comparison)
        assert stub.stats()["calls"] == 6
    judged = comparison.judgments
    assert judged.filter(outcome="a").count() == 4
    assert judged.get(outcome=Outcome.FAILED).games.get().error_kind == "provider"
    assert usage_of_job(job_of(comparison)).calls == 6


def test_an_unforeseen_error_is_booked_counted_and_ends(
    workspace: Workspace, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PRIVATE_MODEL_HOSTS = {"127.0.0.1"}

    def failing(*_: Any) -> Any:
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr(Caller, "spent_on", failing)
    monkeypatch.setattr("experiments.services.lane_items.MAX_ATTEMPTS", 2)
    with StubJudge() as stub:
        comparison = made(workspace, make_provider(workspace, stub.base_url), 2)
        run_one_turn(comparison)
        assert stub.stats()["calls"] == 4
    assert comparison.judgments.filter(outcome=Outcome.FAILED).count() == 2
    assert usage_of_job(job_of(comparison)).calls == 4
    assert Lane.objects.get(job=comparison.job).state == Lane.State.IDLE


def test_negative_counts_cost_nothing() -> None:
    assert tokens_of(Reply("x", input_tokens=-5, output_tokens=-7), 100) == (0, 0)
