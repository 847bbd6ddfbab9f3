"""Models that stand in for each other, and lanes that slept: nobody waits, or calls, for ever."""

from __future__ import annotations

import asyncio
import threading
import time
from uuid import uuid4

import pytest

from experiments.services import jobs, lane_reservations
from experiments.services.asking import Question
from experiments.services.lane_database import LaneDatabase
from experiments.services.lane_gates import Closing, Later
from experiments.services.lane_reservations import Reservations
from tests.engine.launching import job_of, launched
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def test_each_gives_up_after_a_while_and_lets_the_other_pass(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_reservations, "PATIENCE_SECONDS", (0.2, 0.4))
    monkeypatch.setattr(lane_reservations, "ASKED_ELSEWHERE_SECONDS", (0.05, 0.1))
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    one, other = jobs.plan(job_of(launched(workspace, provider, 4, max_concurrency=128)))
    mine, theirs = uuid4().bytes * 2, uuid4().bytes * 2
    database = LaneDatabase()
    holders = [Reservations(lane, database, Closing(threading.Event())) for lane in (one, other)]
    questions = [Question([], "", [mine, theirs]), Question([], "", [theirs, mine])]

    async def ask() -> list[object]:
        for holder, question in zip(holders, questions, strict=True):
            ours, _ = await holder.take([question])
            assert ours == {question.key}
        waits = [
            holder.take_fallback(question, 1)
            for holder, question in zip(holders, questions, strict=True)
        ]
        return list(await asyncio.gather(*waits, return_exceptions=True))

    began = time.monotonic()
    found = asyncio.run(ask())
    database.close()
    assert [type(one) for one in found] == [Later, Later]
    assert time.monotonic() - began < 5


def test_a_lane_that_slept_past_its_lease_starts_no_call() -> None:
    closing = Closing(threading.Event())
    closing.check()
    closing.lease_ends = time.monotonic() - 1
    with pytest.raises(Later):
        closing.check()
