"""A judge that answers 429, 500, garbage, nothing, or late; cancelling; PostgreSQL restarted."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiments.models import Game, Job, JudgeReply, Judgment, QueueItem
from experiments.tasks import steer
from tests.engine.launching import counts_of, job_of, launched, wait_for
from tests.engine.processes import ROOT, StubJudge, Worker, eventually
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("faults"),
]
FAULTS: dict[str, dict[str, Any]] = {
    "rate_limit": {"has": "answer 1.", "status": 429, "headers": {"Retry-After": "1"}},
    "provider": {"has": "answer 2.", "status": 500},
    "unreadable": {"has": "answer 3.", "reply": "no idea"},
    "garbage": {"has": "answer 4.", "raw": "<html>not JSON</html>"},
    "empty": {"has": "answer 5.", "raw": ""},
    "cut": {"has": "answer 6.", "close": True},
    "timeout": {"has": "answer 7.", "delay": 60},
}


def test_every_pair_ends_with_a_verdict_or_a_recorded_failure(
    workspace: Workspace, tmp_path: Path
) -> None:
    count, concurrency = 60, 8
    with (
        StubJudge(delay=0.2, script=list(FAULTS.values())) as stub,
        Worker(log=tmp_path / "one", name="one"),
        Worker(log=tmp_path / "two", name="two"),
    ):
        provider = make_provider(workspace, stub.base_url, timeout=2)
        comparison = launched(workspace, provider, count, max_concurrency=concurrency)
        eventually(lambda: counts_of(comparison).a > 30, 30, "one slow call holds up nobody")
        counts = wait_for(comparison, Job.State.COMPLETE, 150)
        stats = stub.stats()
    assert (counts.a, counts.failed, counts.pending) == (count - len(FAULTS), len(FAULTS), 0)
    assert stats["max_in_flight"] <= concurrency
    assert not QueueItem.objects.exists()
    kinds = dict(Game.objects.exclude(error_kind="").values_list("error", "error_kind"))
    print(f"{stats['calls']} calls, {stats['max_in_flight']} in flight at most, {kinds}")
    assert set(kinds.values()) == {"rate_limit", "provider", "unreadable", "timeout"}
    assert Judgment.objects.filter(comparison=comparison).count() == count
    assert JudgeReply.objects.count() == count - len(FAULTS) + 1


def test_passing_faults_leave_no_trace(workspace: Workspace, tmp_path: Path) -> None:
    passing: list[dict[str, Any]] = [
        {"times": 5, "status": 429, "headers": {"Retry-After": "1"}},
        {"times": 5, "status": 500},
        {"times": 3, "close": True},
        {"times": 2, "delay": 30},
    ]
    with StubJudge(delay=0.1, script=passing) as stub, Worker(log=tmp_path / "log"):
        provider = make_provider(workspace, stub.base_url, timeout=2)
        comparison = launched(workspace, provider, 40, max_concurrency=4)
        counts = wait_for(comparison, Job.State.COMPLETE, 120)
        assert stub.stats()["max_in_flight"] <= 4
    assert (counts.a, counts.failed) == (40, 0)


def test_cancel_stops_new_calls_of_all_workers_within_two_seconds(
    workspace: Workspace, tmp_path: Path
) -> None:
    with (
        StubJudge(delay=0.5) as stub,
        Worker(log=tmp_path / "one", name="one"),
        Worker(log=tmp_path / "two", name="two"),
    ):
        provider = make_provider(workspace, stub.base_url)
        comparison = launched(workspace, provider, 1500, max_concurrency=130)
        eventually(lambda: stub.stats().get("answered", 0) > 150, 60, "some answers")
        steer(job_of(comparison), "cancel")
        cancelled = time.time()
        time.sleep(4)
        last = max(stub.times()) - cancelled
        print(f"last new call {last:.2f} s after cancelling")
        assert last <= 2
        assert stub.stats()["max_in_flight"] <= 130
        eventually(lambda: stub.stats()["in_flight"] == 0, 5, "calls end")


def test_postgresql_restarted_while_judging(tmp_path: Path) -> None:
    """In a process of its own, with servers of its own: others must not lose theirs."""
    env = {name: value for name, value in os.environ.items() if "TIEBREAK" not in name}
    env["PYTHONPATH"] = f"{ROOT}:{ROOT / 'platform'}"
    command = [sys.executable, "-m", "tests.engine.restarted_database", str(tmp_path)]
    ended = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    print(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr
