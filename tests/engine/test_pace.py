"""A provider's pace is one for all lanes of all workers, and lives in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.cache import cache

from experiments.models import Job, Pace
from experiments.queries.progress import progress_of
from experiments.services.pacing import (
    block,
    blocked_for,
    reserve_moments,
    seconds_between_calls,
)
from tests.engine.launching import job_of, launched, wait_for
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def test_requests_a_minute_are_kept_by_two_jobs_of_two_workers(
    workspace: Workspace, tmp_path: Path
) -> None:
    with (
        StubJudge() as stub,
        Worker(log=tmp_path / "one", name="one"),
        Worker(log=tmp_path / "two", name="two"),
    ):
        provider = make_provider(workspace, stub.base_url, requests_per_minute=240)
        both = [launched(workspace, provider, 16, max_concurrency=8, wins=wins) for wins in (16, 0)]
        for comparison in both:
            wait_for(comparison, Job.State.COMPLETE)
        times = sorted(stub.times())
    assert len(times) == 32
    # Four a second, with room for two workers' clocks and scheduling.
    busiest = max(sum(start <= one < start + 1 for one in times) for start in times)
    assert busiest <= 7
    assert times[-1] - times[0] >= (len(times) - 1) / 4 - 1


def test_one_429_makes_all_lanes_wait_even_without_the_broker_s_memory(
    workspace: Workspace, tmp_path: Path
) -> None:
    script = [{"has": "answer 40.", "times": 1, "status": 429, "headers": {"Retry-After": "5"}}]
    with (
        StubJudge(delay=0.2, script=script) as stub,
        Worker(log=tmp_path / "one", name="one"),
        Worker(log=tmp_path / "two", name="two"),
    ):
        provider = make_provider(workspace, stub.base_url)
        first = launched(workspace, provider, 200, max_concurrency=4)
        second = launched(workspace, provider, 120, max_concurrency=4, wins=60)
        pace = eventually(lambda: Pace.objects.exclude(blocked_until=None).first(), 60, "a 429")
        cache.clear()
        until = pace.blocked_until
        assert progress_of(job_of(first)).waits_until == until
        for comparison in (first, second):
            wait_for(comparison, Job.State.COMPLETE, 90)
        times = stub.times()
    begun = until.timestamp() - 5
    # Other lanes hear of it with their next heartbeat.
    assert [one for one in times if begun + 1.5 < one < until.timestamp() - 0.1] == []
    assert [one for one in times if one > until.timestamp()]


def test_moments_do_not_overlap_and_the_past_is_not_made_up_for(workspace: Workspace) -> None:
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    assert reserve_moments(provider.pk, 2.0) == pytest.approx(0, abs=0.05)
    assert reserve_moments(provider.pk, 1.0) == pytest.approx(2, abs=0.2)
    assert reserve_moments(provider.pk, 1.0) == pytest.approx(3, abs=0.2)
    Pace.objects.update(next_at="2020-01-01T00:00Z")
    assert reserve_moments(provider.pk, 1.0) == pytest.approx(0, abs=0.05)


def test_the_longer_wait_counts(workspace: Workspace) -> None:
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    block(provider.pk, 30)
    block(provider.pk, 5)
    assert blocked_for([provider.pk]) == {provider.pk: pytest.approx(30, abs=1)}


def test_the_stricter_of_requests_and_tokens_counts(workspace: Workspace) -> None:
    provider = make_provider(
        workspace, "http://127.0.0.1:9/v1", requests_per_minute=60, tokens_per_minute=6000
    )
    assert seconds_between_calls(provider, 50) == 1
    assert seconds_between_calls(provider, 300) == 3
    provider.requests_per_minute = provider.tokens_per_minute = None
    assert seconds_between_calls(provider, 300) == 0
