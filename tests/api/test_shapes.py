"""Keys that must be there, and keys that must never be."""

from __future__ import annotations

from uuid import uuid4

from langsmith import Client

from tests.api.bodies import HEADERS, json_part, multipart, run_body
from tests.api.conftest import Call


def test_nothing_has_a_key_named_attachments(call: Call) -> None:
    """The client passes that keyword itself and would fail on ours."""
    run = run_body()
    body = multipart(
        json_part(f"post.{run['id']}", run), (f"attachment.{run['id']}.a", "text/plain", b"A")
    )
    call("POST", "/runs/multipart", data=body, headers=HEADERS)
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    uid = str(uuid4())
    body = multipart(
        json_part(uid, {}),
        json_part(f"{uid}.inputs", {"q": 1}),
        (f"{uid}.attachment.a", "text/plain", b"A"),
    )
    call("POST", f"/v1/platform/datasets/{dataset}/examples", data=body, headers=HEADERS)
    read = call("GET", f"/runs/{run['id']}").json()
    assert read["s3_urls"]
    assert "attachments" not in read
    example = call("GET", f"/examples/{uid}").json()
    assert example["attachment_urls"]
    assert "attachments" not in example


def test_keys_without_a_value_are_there_or_left_out_as_the_client_needs(call: Call) -> None:
    uid = str(uuid4())
    call("PATCH", f"/runs/{uid}", json={"outputs": {"a": 1}})
    run = call("GET", f"/runs/{uid}").json()
    assert run["name"]
    assert run["trace_id"] == uid
    assert run["run_type"] == "chain"
    assert "dotted_order" not in run
    call("POST", "/feedback", json={"run_id": str(uuid4()), "key": "k"})
    [mark] = call("GET", "/feedback").json()
    assert mark["trace_id"] is None
    [session] = call("GET", "/sessions?limit=1").json()
    assert session["reference_dataset_id"] is None
    assert session["extra"] == {}


def test_the_client_reads_an_update_that_came_alone(client: Client, call: Call) -> None:
    uid = str(uuid4())
    call("PATCH", f"/runs/{uid}", json={"outputs": {"a": 1}, "end_time": "2026-01-01T00:00:00Z"})
    assert client.read_run(uid).outputs == {"a": 1}
    assert [run.outputs for run in client.list_runs(project_name="default")] == [{"a": 1}]


def test_every_example_says_its_splits(client: Client) -> None:
    dataset = client.create_dataset("d")
    client.create_examples(
        dataset_id=dataset.id,
        examples=[
            {"inputs": {}},
            {"inputs": {}, "metadata": {"a": 1}},
            {"inputs": {}, "split": "s"},
        ],
    )
    found = [row.metadata for row in client.list_examples(dataset_id=dataset.id)]
    assert found == [
        {"dataset_split": ["base"]},
        {"a": 1, "dataset_split": ["base"]},
        {"dataset_split": ["s"]},
    ]


def test_times_are_utc_with_microseconds(call: Call) -> None:
    run = run_body(start_time="2026-03-02T10:00:00+01:00", end_time="2026-03-02T09:00:01Z")
    call("POST", "/runs", json=run)
    stored = call("GET", f"/runs/{run['id']}").json()
    assert stored["start_time"] == "2026-03-02T09:00:00.000000+00:00"
    assert stored["end_time"] == "2026-03-02T09:00:01.000000+00:00"
