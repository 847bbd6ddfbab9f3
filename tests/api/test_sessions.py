"""Sessions (experiments and tracing projects) through the real client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from langsmith import Client
from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError

from tests.api.bodies import run_body
from tests.api.conftest import Call


def test_a_project_is_read_as_it_was_made(client: Client) -> None:
    dataset = client.create_dataset("d")
    made = client.create_project(
        "A: 1/2 vs. B",
        description="d",
        metadata={"z": 1, "a": 2},
        reference_dataset_id=dataset.id,
    )
    by_name = client.read_project(project_name="A: 1/2 vs. B", include_stats=True)
    for read in (by_name, client.read_project(project_id=made.id)):
        assert (read.id, read.name, read.description) == (made.id, "A: 1/2 vs. B", "d")
        assert read.reference_dataset_id == dataset.id
        assert list(read.metadata)[:2] == ["z", "a"]
        assert read.end_time is None
    assert by_name.run_count == 0


def test_a_name_is_taken_once_unless_upserted(client: Client) -> None:
    first = client.create_project("p", metadata={"a": 1})
    with pytest.raises(LangSmithConflictError):
        client.create_project("p")
    again = client.create_project("p", description="new", upsert=True)
    assert (again.id, again.description) == (first.id, "new")


def test_null_means_unchanged(client: Client, call: Call) -> None:
    end = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    made = client.create_project(
        "p", description="d", metadata={"a": 1}, project_extra={"tags": ["t"]}
    )
    client.update_project(made.id, end_time=end)
    client.update_project(made.id, metadata={"b": 2})
    read = client.read_project(project_id=made.id)
    assert (read.name, read.description, read.end_time) == ("p", "d", end)
    assert read.metadata["b"] == 2
    assert call("GET", f"/sessions/{made.id}").json()["extra"]["tags"] == ["t"]
    client.update_project(made.id, name="q", description="e")
    read = client.read_project(project_name="q")
    assert (read.description, read.end_time) == ("e", end)


def test_lists_obey_every_filter(client: Client) -> None:
    dataset, other = client.create_dataset("d"), client.create_dataset("e")
    client.create_project("red a", reference_dataset_id=dataset.id, metadata={"k": 1})
    b = client.create_project("red b", reference_dataset_id=other.id, metadata={"k": 2})
    c = client.create_project("green", metadata={"k": 1})

    def names(**filters: Any) -> list[str]:
        return sorted(row.name or "" for row in client.list_projects(**filters))

    assert names(name_contains="RED") == ["red a", "red b"]
    assert names(name="red") == []
    assert names(project_ids=[b.id, c.id]) == ["green", "red b"]
    assert names(reference_dataset_id=dataset.id) == ["red a"]
    assert names(reference_dataset_name="e") == ["red b"]
    assert names(reference_free=True) == ["green"]
    assert names(metadata={"k": 1}) == ["green", "red a"]
    assert names(metadata={"k": 1}, reference_free=False) == ["red a"]
    assert len(names(limit=2)) == 2


def test_a_deleted_project_takes_its_runs_along(client: Client) -> None:
    uid = uuid4()
    client.create_run("r", {}, "chain", id=uid, project_name="p")
    client.flush()
    client.delete_project(project_name="p")
    with pytest.raises(LangSmithNotFoundError):
        client.read_run(uid)
    assert not client.has_project("p")


def test_statistics_are_right(client: Client, call: Call) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for number, seconds in enumerate([1, 2, 4]):
        usage = {
            "input_tokens": 10,
            "output_tokens": number,
            "total_tokens": 10 + number,
            "input_cost": 0.000001,
            "output_cost": 0.1,
        }
        run = run_body(
            start_time=(start + timedelta(minutes=number)).isoformat(),
            end_time=(start + timedelta(minutes=number, seconds=seconds)).isoformat(),
            error="Boom" if number == 2 else "left out",
            extra={"metadata": {"usage_metadata": usage}},
        )
        child = uuid4()
        call("POST", "/runs", json=run)
        call(
            "POST",
            "/runs",
            json=run_body(
                child,
                trace_id=run["id"],
                parent_run_id=run["id"],
                dotted_order=f"{run['dotted_order']}.20260302T090000000001Z{child}",
            ),
        )
    project = client.read_project(project_name="project", include_stats=True)
    assert project.run_count == 3
    assert project.latency_p50 == timedelta(seconds=2)
    assert project.latency_p99 == timedelta(seconds=3.96)
    assert project.prompt_tokens == 30
    assert project.completion_tokens == 3
    assert project.total_tokens == 33
    assert float(project.total_cost or 0) == pytest.approx(0.300003, abs=1e-9)
    assert project.error_rate == pytest.approx(1 / 3)
    assert project.last_run_start_time == start + timedelta(minutes=2)


def test_the_number_of_runs_is_there_when_nobody_asks(call: Call) -> None:
    """The TypeScript SDK waits for it before it compares."""
    call("POST", "/runs", json=run_body())
    [row] = call("GET", "/sessions?name=project").json()
    assert row["run_count"] == 1
    [row] = call("GET", "/sessions?name=project&include_stats=False").json()
    assert "run_count" not in row
    assert {"id", "tenant_id", "reference_dataset_id", "start_time"} <= row.keys()
