"""Who is asked when a model does not answer, and that it is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.models import Game, Job, JudgeReply, Provider
from experiments.services.fallbacks import chain_of
from tests.engine.launching import job_of, launched, wait_for
from tests.engine.processes import StubJudge, Worker
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)
LIMITED = {"status": 429, "headers": {"Retry-After": "30"}}
TOO_LONG = {"status": 400, "raw": '{"error": {"message": "maximum context length is 10"}}'}


@pytest.mark.parametrize(
    "rule",
    [LIMITED, {"status": 500}, TOO_LONG, {"reply": "Hard to say."}, {"close": True}, {"delay": 9}],
    ids=["limited", "failing", "too long", "unreadable", "cut off", "late"],
)
def test_the_next_one_is_asked_and_recorded_and_paid_once(
    worker: Worker, workspace: Workspace, rule: dict[str, Any]
) -> None:
    with StubJudge(script=[rule]) as poor, StubJudge() as good:
        second = make_provider(workspace, good.base_url)
        first = make_provider(workspace, poor.base_url, fallback=second, timeout=1)
        comparison = launched(workspace, first, 4, max_concurrency=2)
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, counts.failed) == (4, 0)
        assert good.stats()["calls"] == 4
        read = JudgeReply.objects.filter(pk__in=Game.objects.values("reply"))
        assert set(read.values_list("provider", flat=True)) == {second.pk}
        calls = poor.stats()["calls"]
        again = launched(workspace, first, 4, max_concurrency=2)
        assert wait_for(again, Job.State.COMPLETE).a == 4
        assert (poor.stats()["calls"], good.stats()["calls"]) == (calls, 4)


def test_a_refused_key_is_not_passed_on(worker: Worker, workspace: Workspace) -> None:
    with StubJudge(script=[{"status": 401}]) as poor, StubJudge() as good:
        second = make_provider(workspace, good.base_url)
        first = make_provider(workspace, poor.base_url, fallback=second)
        counts = wait_for(launched(workspace, first, 3), Job.State.COMPLETE)
        assert counts.failed == 3
        assert good.stats().get("calls", 0) == 0
    assert set(Game.objects.values_list("error_kind", flat=True)) == {"key"}


def test_where_nobody_answers_it_is_asked_again_later(worker: Worker, workspace: Workspace) -> None:
    with (
        StubJudge(script=[{"status": 500}]) as poor,
        StubJudge(script=[{"status": 503, "times": 2}]) as good,
    ):
        second = make_provider(workspace, good.base_url)
        first = make_provider(workspace, poor.base_url, fallback=second)
        comparison = launched(workspace, first, 2, max_concurrency=2)
        assert wait_for(comparison, Job.State.COMPLETE).a == 2
    assert job_of(comparison).error == ""


def test_a_chain_ends_where_it_closes_or_where_one_is_gone(workspace: Workspace) -> None:
    one, two, three = (make_provider(workspace, "http://127.0.0.1:9/v1") for _ in range(3))
    for row, following in ((one, two), (two, three), (three, one)):
        Provider.objects.filter(pk=row.pk).update(fallback=following)
    one.refresh_from_db()
    assert chain_of(one) == [one, two, three]
    Provider.objects.filter(pk=two.pk).update(archived_at="2026-01-01T00:00Z")
    one.refresh_from_db()
    assert chain_of(one) == [one]
