"""Feedback configurations, feedback tokens and annotation queues through the real client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import requests
from langsmith import Client
from langsmith.utils import LangSmithNotFoundError

from tests.api.bodies import run_body
from tests.api.conftest import Call

RANGE: Any = {"type": "continuous", "min": 0, "max": 1}
KINDS: Any = {
    "type": "categorical",
    "categories": [{"value": 1, "label": "a"}, {"value": 0, "label": "b"}],
}


def test_a_key_is_configured_once(client: Client) -> None:
    made = client.create_feedback_config("fk", feedback_config=RANGE)
    assert made.is_lower_score_better is False
    again = client.create_feedback_config("fk", feedback_config=RANGE)
    assert again.feedback_config == made.feedback_config == RANGE
    with pytest.raises(Exception, match="400"):
        client.create_feedback_config("fk", feedback_config={"type": "continuous", "max": 2})
    client.create_feedback_config("other", feedback_config=KINDS, is_lower_score_better=True)

    def keys(**filters: Any) -> list[str]:
        return [row.feedback_key for row in client.list_feedback_configs(**filters)]

    assert keys() == ["fk", "other"]
    assert keys(feedback_key=["other"]) == ["other"]
    assert keys(name_contains="F") == ["fk"]
    assert keys(limit=1) == ["fk"]
    client.update_feedback_config("fk", is_lower_score_better=True)
    [row] = client.list_feedback_configs(feedback_key=["fk"])
    assert (row.is_lower_score_better, row.feedback_config) == (True, RANGE)
    client.delete_feedback_config("fk")
    assert keys() == ["other"]
    with pytest.raises(LangSmithNotFoundError):
        client.update_feedback_config("fk", is_lower_score_better=True)


@pytest.mark.parametrize(
    "config",
    [
        {"type": "banana"},
        {"type": "continuous", "min": 1, "max": 1},
        {"type": "categorical", "categories": []},
        {},
    ],
)
def test_a_configuration_must_mean_something(call: Call, config: Any) -> None:
    body = {"feedback_key": "k", "feedback_config": config}
    assert call("POST", "/feedback-configs", json=body).status_code == 400
    mark = {"run_id": str(uuid4()), "key": "k", "score": 1, "feedback_config": config}
    assert call("POST", "/feedback", json=mark).status_code == 422


def test_feedback_brings_its_configuration_along(call: Call) -> None:
    mark = {"run_id": str(uuid4()), "key": "k", "score": 1, "feedback_config": RANGE}
    call("POST", "/feedback", json=mark)
    call("POST", "/feedback", json=mark | {"feedback_config": KINDS})
    [row] = call("GET", "/feedback-configs").json()
    assert row["feedback_config"] == RANGE


def test_a_token_takes_feedback_without_a_key(client: Client, call: Call) -> None:
    run = run_body()
    call("POST", "/runs", json=run)
    token = client.create_presigned_feedback_token(
        run["id"], "thumb", expiration=timedelta(minutes=5), feedback_config=RANGE
    )
    assert timedelta(minutes=4) < token.expires_at - datetime.now(UTC) < timedelta(minutes=6)
    for _ in range(2):
        client.create_feedback_from_token(
            token.url, score=1, comment="by mail", metadata={"who": "x"}
        )
    assert requests.get(token.url, params={"score": "0.5"}, timeout=10).status_code == 200
    marks = list(client.list_feedback(run_ids=[run["id"]], feedback_key=["thumb"]))
    assert [mark.score for mark in marks] == [0.5, 1, 1]
    assert marks[1].comment == "by mail"
    assert marks[1].feedback_source is not None
    assert marks[1].feedback_source.metadata == {"who": "x"}
    listed = list(client.list_presigned_feedback_tokens(run["id"]))
    assert [row.id for row in listed] == [token.id]
    many = client.create_presigned_feedback_tokens(run["id"], ["a", "b"])
    assert len({row.url for row in many}) == 2


def test_an_expired_token_takes_nothing(call: Call) -> None:
    body = {"run_id": str(uuid4()), "feedback_key": "k", "expires_at": "2020-01-01T00:00:00Z"}
    token = call("POST", "/feedback/tokens", json=body).json()
    assert requests.post(token["url"], json={"score": 1}, timeout=10).status_code == 403
    gone = token["url"].rpartition("/")[0] + f"/{uuid4()}"
    assert requests.post(gone, json={"score": 1}, timeout=10).status_code == 404
    assert call("GET", "/feedback").json() == []


def test_a_queue_keeps_runs_in_order(client: Client, call: Call) -> None:
    runs = [run_body(name=str(n)) for n in range(3)]
    call("POST", "/runs/batch", json={"post": runs})
    ids = [run["id"] for run in runs]
    queue = client.create_annotation_queue(
        name="q",
        description="d",
        rubric_instructions="look",
        rubric_items=[{"feedback_key": "fk", "is_required": True}],
    )
    client.add_runs_to_annotation_queue(queue.id, run_ids=[ids[2], ids[0]])
    client.add_runs_to_annotation_queue(queue.id, run_ids=[ids[0], ids[1]])
    names = [client.get_run_from_annotation_queue(queue.id, index=index).name for index in range(3)]
    assert names == ["2", "0", "1"]
    with pytest.raises(LangSmithNotFoundError):
        client.get_run_from_annotation_queue(queue.id, index=3)
    client.delete_run_from_annotation_queue(queue.id, run_id=ids[0])
    with pytest.raises(LangSmithNotFoundError):
        client.delete_run_from_annotation_queue(queue.id, run_id=ids[0])
    rows = call("GET", f"/annotation-queues/{queue.id}/runs").json()
    assert [row["name"] for row in rows] == ["2", "1"]
    assert all(row["added_at"] and row["last_reviewed_time"] is None for row in rows)
    reviewed = {"last_reviewed_time": "2026-01-01T00:00:00Z"}
    call("PATCH", f"/annotation-queues/{queue.id}/runs/{ids[2]}", json=reviewed)
    for status, expected in (("completed", ["2"]), ("needs_my_review", ["1"])):
        path = f"/annotation-queues/{queue.id}/runs"
        rows = call("GET", path, params={"status": status}).json()
        assert [row["name"] for row in rows] == expected
    answer = call("POST", f"/annotation-queues/{queue.id}/runs", json=[str(uuid4())])
    assert answer.status_code == 404


def test_queues_are_listed_changed_and_deleted(client: Client) -> None:
    one = client.create_annotation_queue(name="one", description="d")
    two = client.create_annotation_queue(name="two")

    def names(**filters: Any) -> list[str]:
        return sorted(row.name for row in client.list_annotation_queues(**filters))

    assert names() == ["one", "two"]
    assert names(queue_ids=[two.id]) == ["two"]
    assert names(name="on") == []
    assert names(name_contains="ON") == ["one"]
    assert names(limit=1) == ["two"]
    client.update_annotation_queue(one.id, name="uno")
    read = client.read_annotation_queue(one.id)
    assert (read.name, read.description) == ("uno", "d")
    client.delete_annotation_queue(two.id)
    assert names() == ["uno"]
    with pytest.raises(LangSmithNotFoundError):
        client.read_annotation_queue(two.id)
