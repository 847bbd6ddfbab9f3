"""A limit of requests per key, where the operator sets one."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache

from tests.api.bodies import run_body
from tests.api.conftest import Call, caller
from tests.factories import make_key
from tiebreak.accounts.models import Workspace


@pytest.fixture(autouse=True)
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests of a test fall into one minute."""
    cache.clear()
    monkeypatch.setattr("tiebreak.api.throttling.time.time", lambda: 1_000_000_030.0)


def test_without_a_limit_nothing_is_refused(call: Call) -> None:
    assert {call("GET", "/datasets").status_code for _ in range(30)} == {200}


def test_a_key_that_asks_too_often_is_told_when_to_come_back(
    call: Call, endpoint: str, workspace: Workspace, settings: Any
) -> None:
    settings.REQUESTS_PER_MINUTE = 3
    statuses = [call("GET", "/datasets").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    answer = call("GET", "/sessions")
    assert 0 < int(answer.headers["Retry-After"]) <= 61
    assert "detail" in answer.json()
    assert caller(endpoint, make_key(workspace))("GET", "/datasets").status_code == 200
    assert call("GET", "/info").status_code == 200


def test_bringing_in_runs_has_a_limit_of_its_own(call: Call, settings: Any) -> None:
    settings.REQUESTS_PER_MINUTE = 1
    assert call("GET", "/datasets").status_code == 200
    statuses = [call("POST", "/runs", json=run_body()).status_code for _ in range(3)]
    assert statuses == [202, 202, 202]
    assert call("POST", "/runs/query", json={"is_root": True}).status_code == 429
    settings.INGEST_REQUESTS_PER_MINUTE = 4
    assert [call("POST", "/runs", json=run_body()).status_code for _ in range(5)].count(429) == 1
