"""Sessions, datasets and items of queues, as the generated client walks through them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from langsmith import Client, Langsmith
from langsmith.schemas import DataType

from experiments.models import Experiment, Run
from tests.api.bodies import run_body
from tests.api.conftest import Call
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import Workspace


@pytest.fixture
def generated(endpoint: str, api_key: str, transactional_db: None) -> Iterator[Any]:
    with Langsmith(base_url=endpoint.removesuffix("/api"), api_key=api_key) as made:
        yield made


def test_sessions_are_listed_by_every_filter(generated: Any, workspace: Workspace) -> None:
    dataset, other = make_dataset(workspace), make_dataset(workspace)
    names = [make_experiment(dataset, ["4", "Paris", "x"], name=f"try {n}").name for n in range(5)]
    make_experiment(other, ["4", "Paris", "x"], name="elsewhere")
    plain = generated.sessions.create_v2(
        type="PROJECT", name="traces", extra={"metadata": {"m": 1}}
    )

    def listed(**question: Any) -> list[str]:
        return [one.name for one in generated.sessions.list_v2(page_size=2, **question)]

    assert listed(type=["EXPERIMENT"]) == ["elsewhere", *names[::-1]]
    assert listed(type=["PROJECT"]) == ["traces"]
    assert listed(type=["AGENT"]) == []
    assert listed(reference_dataset_id=[str(dataset.uid)]) == names[::-1]
    assert listed(name="try 3") == ["try 3"]
    assert listed(name_contains="RY 1") == ["try 1"]
    assert listed(metadata='{"m": 1}') == ["traces"]
    assert listed(id=[plain.id]) == ["traces"]
    [counted] = generated.sessions.list_v2(name="try 0", include_stats=True)
    assert (counted.run_count, counted.type) == (3, "EXPERIMENT")
    with pytest.raises(Exception, match="sort_by"):
        listed(sort_by="NAME")


def test_a_session_is_made_read_and_changed(generated: Any, workspace: Workspace) -> None:
    dataset = make_dataset(workspace)
    made = generated.sessions.create_v2(
        type="EXPERIMENT",
        name="first",
        description="d",
        reference_dataset_id=str(dataset.uid),
        num_examples=3,
        extra={"metadata": {"model": "small"}},
    )
    generated.sessions.update_v2(made.id, name="second")
    found = generated.sessions.retrieve_v2(made.id, include_stats=True)
    assert (found.name, found.description, found.type) == ("second", "d", "EXPERIMENT")
    assert (found.reference_dataset_id, found.run_count) == (str(dataset.uid), 0)


def test_datasets_are_listed_by_every_filter(generated: Any, client: Client) -> None:
    for number in range(3):
        client.create_dataset(f"sums {number}", metadata={"n": number})
    client.create_dataset("chats", data_type=DataType.chat)

    def listed(**question: Any) -> list[str]:
        return [one.name for one in generated.datasets.list_v2(page_size=2, **question)]

    assert listed() == ["chats", "sums 2", "sums 1", "sums 0"]
    assert listed(name="sums 1") == ["sums 1"]
    assert listed(name_contains="SUM") == ["sums 2", "sums 1", "sums 0"]
    assert listed(data_type=["chat"]) == ["chats"]
    assert listed(metadata='{"n": 2}') == ["sums 2"]


def test_cursors_that_were_never_given_are_refused(call: Call) -> None:
    for path in ("/v2/sessions", "/v2/datasets"):
        answer = call("GET", path, params={"cursor": "somewhere"})
        assert (answer.status_code, answer.json()["field"]) == (422, "cursor")


@pytest.mark.parametrize(
    ("order", "expected"), [("DESC", ["b", "a", "c"]), ("ASC", ["a", "b", "c"])]
)
def test_examples_are_sorted_by_a_score(
    call: Call, workspace: Workspace, order: str, expected: list[str]
) -> None:
    """An example without the score comes last, whichever way."""
    dataset = make_dataset(workspace, ["a", "b", "c"])
    experiment = make_experiment(dataset, ["a", "b", "c"])
    runs = {run.payload.outputs: run for run in Run.objects.select_related("payload")}
    for answer, score in (("a", 0.2), ("b", 0.9)):
        mark = {"run_id": str(runs[f'{{"answer":"{answer}"}}'].uid), "key": "k", "score": score}
        assert call("POST", "/feedback", json=mark).ok
    body: dict[str, Any] = {
        "experiment_ids": [str(experiment.uid)],
        "selects": ["ID"],
        "sort": {"by": "feedback.k", "order": order},
        "page_size": 2,
    }
    path = f"/v2/datasets/{dataset.uid}/experiment-runs"
    first = call("POST", path, json=body).json()
    rest = call("POST", path, json=body | {"cursor": first["next_cursor"]}).json()
    seen = [item["outputs"]["answer"] for item in first["items"] + rest["items"]]
    assert seen == expected
    for wrong in ({"by": "name"}, {"by": "feedback.k", "order": "sideways"}):
        assert call("POST", path, json=body | {"sort": wrong}).status_code == 422


def test_items_of_a_queue_come_are_reviewed_and_go(
    generated: Any, client: Client, call: Call
) -> None:
    runs = [run_body(name=str(number)) for number in range(5)]
    call("POST", "/runs/batch", json={"post": runs})
    queue = str(client.create_annotation_queue(name="q").id)
    items = generated.annotation_queues.items
    added = items.create(queue, items=[{"item_type": "RUN", "run_id": run["id"]} for run in runs])
    assert [item.run_id for item in added.items] == [run["id"] for run in runs]
    assert added.items[0].project_id == str(Experiment.objects.get(name="project").uid)

    def waiting(status: str = "needs_my_review") -> list[str]:
        return [item.run_id for item in items.list(queue, status=status, page_size=2)]

    assert waiting() == [run["id"] for run in runs]
    items.create_status(added.items[1].id, status="completed")
    items.update(added.items[2].id, queue_id=queue, last_reviewed_time="2026-01-01T00:00:00Z")
    items.delete_all(queue, item_ids=[added.items[0].id])
    assert waiting() == [run["id"] for run in runs[3:]]
    assert waiting("archived") == [run["id"] for run in runs[1:3]]
    assert items.retrieve_count(queue, status="all").count == 4
    assert items.retrieve_count(queue, status="archived").count == 2
    path = f"/v1/platform/annotation-queues/{queue}/items"
    assert call("PATCH", f"{path}/{uuid4()}", json={}).status_code == 404
