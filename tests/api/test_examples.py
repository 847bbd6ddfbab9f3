"""Examples through the real client: multipart, JSON, attachments, splits, filters."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from langsmith import Client
from langsmith.schemas import AttachmentsOperations, ExampleUpdate
from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError

from tests.api.bodies import HEADERS, case, json_part, multipart
from tests.api.conftest import Call


def make(client: Client, *inputs: Any, **fields: Any) -> Any:
    dataset = client.create_dataset(f"d{uuid4()}")
    client.create_examples(
        dataset_id=dataset.id, examples=[{"inputs": row, **fields} for row in inputs]
    )
    return dataset


def test_an_example_is_read_as_it_was_made(client: Client) -> None:
    dataset = client.create_dataset("d")
    made_at = datetime(2019, 3, 4, 5, 6, 7, 89, tzinfo=UTC)
    uid = uuid4()
    example = client.create_example(
        {"z": 1, "a": [None, True]},
        dataset_id=dataset.id,
        outputs={"big": 12345678901234567890},
        metadata={"k": {"deep": 1}},
        split="train",
        example_id=uid,
        created_at=made_at,
    )
    read = client.read_example(uid)
    for row in (example, read, next(client.list_examples(dataset_id=dataset.id))):
        assert (row.id, row.dataset_id, row.created_at) == (uid, dataset.id, made_at)
        assert list(row.inputs or {}) == ["z", "a"]
        assert row.outputs == {"big": 12345678901234567890}
        assert row.metadata == {"k": {"deep": 1}, "dataset_split": ["train"]}


def test_an_id_is_taken_once(client: Client) -> None:
    dataset = client.create_dataset("d")
    uid = uuid4()
    client.create_example({"q": 1}, dataset_id=dataset.id, example_id=uid)
    with pytest.raises(LangSmithConflictError):
        client.create_example({"q": 2}, dataset_id=dataset.id, example_id=uid)
    assert client.read_example(uid).inputs == {"q": 1}


def test_lists_obey_every_filter(client: Client) -> None:
    dataset = client.create_dataset("d")
    rows = [
        ("a", {"lang": "en"}),
        ("b", {"lang": "de"}),
        (["a", "b"], {"lang": "en", "hard": True}),
    ]
    client.create_examples(
        dataset_id=dataset.id,
        examples=[
            {"inputs": {"n": n}, "split": split, "metadata": metadata}
            for n, (split, metadata) in enumerate(rows)
        ],
    )

    def found(**filters: Any) -> list[int]:
        listed = client.list_examples(dataset_id=dataset.id, **filters)
        return [(row.inputs or {})["n"] for row in listed]

    ids = [row.id for row in client.list_examples(dataset_id=dataset.id)]
    assert found() == [0, 1, 2]
    assert found(splits=["a"]) == [0, 2]
    assert found(splits=["a", "b"]) == [0, 1, 2]
    assert found(metadata={"lang": "en"}) == [0, 2]
    assert found(metadata={"lang": "en", "hard": True}) == [2]
    assert found(filter="exists(metadata, 'hard')") == [2]
    assert found(filter='has("metadata", \'{"lang": "de"}\')') == [1]
    assert found(filter='and(exists(metadata, "lang"), not(exists(metadata, "hard")))') == [0, 1]
    # Splits are found where they are shown.
    assert found(metadata={"dataset_split": ["a"], "lang": "en"}) == [0, 2]
    assert found(metadata={"dataset_split": ["b", "a"]}) == [2]
    assert found(filter='has(metadata, \'{"dataset_split": "b"}\')') == [1, 2]
    assert found(filter='not(exists(metadata, "dataset_split"))') == []
    assert found(example_ids=[ids[2], ids[0]]) == [0, 2]
    assert found(limit=1, offset=1) == [1]
    assert [row.id for row in client.list_examples(example_ids=[ids[1]])] == [ids[1]]
    with pytest.raises(Exception, match="at character 1"):
        found(filter="nonsense(")


def test_what_is_not_given_stays(client: Client) -> None:
    dataset = make(client, {"q": 1}, outputs={"a": 1}, metadata={"k": 1}, split=["x", "y"])
    [row] = client.list_examples(dataset_id=dataset.id)
    client.update_example(row.id, inputs={"q": 2})
    changed = client.read_example(row.id)
    assert (changed.inputs, changed.outputs) == ({"q": 2}, {"a": 1})
    assert changed.metadata == {"k": 1, "dataset_split": ["x", "y"]}
    client.update_example(row.id, metadata={"m": 1})
    assert client.read_example(row.id).metadata == {"m": 1, "dataset_split": ["x", "y"]}
    client.update_example(row.id, split="z")
    assert client.read_example(row.id).metadata == {"m": 1, "dataset_split": ["z"]}
    client.update_example(row.id, metadata={"dataset_split": ["w"]}, outputs={"b": 1})
    last = client.read_example(row.id)
    assert (last.metadata, last.outputs) == ({"dataset_split": ["w"]}, {"b": 1})


def test_many_change_at_once_or_none(client: Client) -> None:
    dataset, other = make(client, {"n": 0}, {"n": 1}), make(client, {"n": 2})
    rows = list(client.list_examples(dataset_id=dataset.id))
    [stranger] = client.list_examples(dataset_id=other.id)
    client.update_examples(
        dataset_id=dataset.id,
        updates=[
            ExampleUpdate(id=row.id, inputs={"n": index + 10}) for index, row in enumerate(rows)
        ],
    )
    listed = [row.inputs for row in client.list_examples(dataset_id=dataset.id)]
    assert listed == [{"n": 10}, {"n": 11}]
    with pytest.raises(LangSmithConflictError):
        client.update_examples(
            dataset_id=dataset.id,
            updates=[ExampleUpdate(id=r.id, inputs={"n": 0}) for r in (rows[0], stranger)],
        )
    listed = [row.inputs for row in client.list_examples(dataset_id=dataset.id)]
    assert listed == [{"n": 10}, {"n": 11}]


def test_deleted_examples_stay_readable_in_the_past(client: Client) -> None:
    dataset = make(client, *({"n": n} for n in range(4)))
    rows = list(client.list_examples(dataset_id=dataset.id))
    client.delete_examples([rows[0].id, rows[2].id])
    left = [row.inputs for row in client.list_examples(dataset_id=dataset.id)]
    assert left == [{"n": 1}, {"n": 3}]
    before = rows[0].modified_at
    assert len(list(client.list_examples(dataset_id=dataset.id, as_of=before))) == 4
    client.delete_examples([rows[1].id], hard_delete=True)
    assert len(list(client.list_examples(dataset_id=dataset.id, as_of=before))) == 3
    assert client.read_dataset(dataset_id=dataset.id).example_count == 1
    # What was deleted before is erased as well, and none of them is in the way of the others.
    client.delete_examples([rows[0].id, rows[3].id, uuid4()], hard_delete=True)
    past = list(client.list_examples(dataset_id=dataset.id, as_of=before))
    assert [row.id for row in past] == [rows[2].id]
    client.delete_examples([rows[2].id, rows[3].id])
    assert client.read_dataset(dataset_id=dataset.id).example_count == 0


def test_overlapping_deletions_at_once_leave_nothing(client: Client) -> None:
    dataset = make(client, *({"n": n} for n in range(24)))
    ids = [row.id for row in client.list_examples(dataset_id=dataset.id)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: client.delete_examples(ids[n * 4 : n * 4 + 8]), range(6)))
    assert list(client.list_examples(dataset_id=dataset.id)) == []
    assert client.read_dataset(dataset_id=dataset.id).example_count == 0


def attached(client: Client, uid: Any) -> dict[str, bytes]:
    attachments = client.read_example(uid).attachments or {}
    return {name: value["reader"].read() for name, value in attachments.items()}


def test_attachments_come_and_go_with_their_example(client: Client) -> None:
    dataset = client.create_dataset("d")
    example = client.create_example(
        {"q": 1},
        dataset_id=dataset.id,
        attachments={"a": ("text/plain", b"A"), "b": ("image/png", b"\x00B")},
    )
    assert attached(client, example.id) == {"a": b"A", "b": b"\x00B"}
    first = client.read_example(example.id).modified_at
    client.update_example(example.id, inputs={"q": 2})
    assert attached(client, example.id) == {"a": b"A", "b": b"\x00B"}
    client.update_example(
        example.id,
        dataset_id=dataset.id,
        attachments={"c": ("text/plain", b"C")},
        attachments_operations=AttachmentsOperations(rename={"a": "renamed"}, retain=[]),
    )
    assert attached(client, example.id) == {"renamed": b"A", "c": b"C"}
    client.update_example(example.id, attachments={"only": ("text/plain", b"O")})
    assert attached(client, example.id) == {"only": b"O"}
    past = client.read_example(example.id, as_of=first).attachments or {}
    assert set(past) == {"a", "b"}
    plain = next(client.list_examples(dataset_id=dataset.id))
    assert not plain.attachments
    full = next(client.list_examples(dataset_id=dataset.id, include_attachments=True))
    assert set(full.attachments or {}) == {"only"}


def test_select_adds_and_can_also_restrict(call: Call) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    call("POST", "/examples", json={"dataset_id": dataset, "inputs": {"q": 1}})
    query = {"dataset": dataset, "select": ["attachment_urls", "outputs"]}
    [row] = call("GET", "/examples", params=query).json()
    assert {"id", "inputs", "dataset_id", "created_at", "attachment_urls"} <= row.keys()
    alone = query | {"exclude_default_fields": "True"}
    [row] = call("GET", "/examples", params=alone).json()
    assert row.keys() == {"id", "attachment_urls", "outputs"}
    [row] = call("GET", "/examples", params=alone | {"select": []}).json()
    assert {"id", "inputs", "outputs", "dataset_id", "created_at", "modified_at"} <= row.keys()


def test_the_classic_endpoints_take_json(call: Call) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    uid = str(uuid4())
    body = {"id": uid, "dataset_id": dataset, "inputs": {"q": 1}, "split": "s"}
    assert call("POST", "/examples", json=body).json()["metadata"] == {"dataset_split": ["s"]}
    many = [{"dataset_id": dataset, "inputs": {"q": n}} for n in (2, 3)]
    made = call("POST", "/examples/bulk", json=many).json()
    assert [row["inputs"] for row in made] == [{"q": 2}, {"q": 3}]
    call("PATCH", f"/examples/{uid}", json={"outputs": {"a": 1}, "dataset_id": dataset})
    assert call("GET", f"/examples/{uid}").json()["outputs"] == {"a": 1}
    changes = [{"id": row["id"], "inputs": {"q": 0}} for row in made]
    assert call("PATCH", "/examples/bulk", json=changes).json()["count"] == 2
    listed = call("GET", "/examples", params={"dataset": dataset}).json()
    assert [row["inputs"]["q"] for row in listed] == [1, 0, 0]


def test_a_run_becomes_an_example(client: Client) -> None:
    dataset = client.create_dataset("d")
    uid = uuid4()
    client.create_run("r", {"q": 7}, "chain", id=uid, outputs={"a": 8}, project_name="p")
    client.flush()
    example = client.create_example(
        dataset_id=dataset.id, source_run_id=uid, use_source_run_io=True
    )
    assert (example.inputs, example.outputs, example.source_run_id) == ({"q": 7}, {"a": 8}, uid)


def test_upsert_changes_and_adds(client: Client, call: Call) -> None:
    dataset = make(client, {"n": 0})
    [row] = client.list_examples(dataset_id=dataset.id)
    new = str(uuid4())
    body = multipart(
        json_part(str(row.id), {"dataset_id": str(dataset.id)}),
        json_part(f"{row.id}.inputs", {"n": 5}),
        json_part(new, {"dataset_id": str(dataset.id)}),
        json_part(f"{new}.inputs", {"n": 6}),
    )
    answer = call("POST", "/v1/platform/examples/multipart", data=body, headers=HEADERS)
    assert answer.json()["count"] == 2
    assert [r.inputs for r in client.list_examples(dataset_id=dataset.id)] == [{"n": 5}, {"n": 6}]


def test_texts_come_back_digit_for_digit(client: Client, call: Call) -> None:
    dataset = client.create_dataset("d")
    uid = str(uuid4())
    inputs = rb'{"z":1.10,"a":"\ud83d\u0000","n":9007199254740993}'
    metadata = b'{"b":2.50,"a":1}'
    body = multipart(
        (uid, "application/json", b'{"metadata":' + metadata + b"}"),
        (f"{uid}.inputs", "application/json", inputs),
    )
    path = f"/v1/platform/datasets/{dataset.id}/examples"
    assert call("POST", path, data=body, headers=HEADERS).status_code == 201
    content = call("GET", f"/examples/{uid}").content
    assert inputs in content
    assert b'{"b":2.50,"a":1,"dataset_split":["base"]}' in content


def test_bad_parts_are_named_and_nothing_is_stored(client: Client, call: Call) -> None:
    dataset = client.create_dataset("d")
    good, bad = str(uuid4()), str(uuid4())
    for name, data in ((".inputs", b"[1]"), (".inputs", b"{"), (".what", b"{}"), ("", b"[]")):
        body = multipart(
            json_part(good, {}),
            json_part(f"{good}.inputs", {"q": 1}),
            (bad + name, "application/json", data),
        )
        path = f"/v1/platform/datasets/{dataset.id}/examples"
        assert call("POST", path, data=body, headers=HEADERS).status_code == 422
    assert list(client.list_examples(dataset_id=dataset.id)) == []


def test_unknown_examples_are_404(client: Client) -> None:
    dataset = client.create_dataset("d")
    for act in (
        lambda: client.read_example(uuid4()),
        lambda: client.update_example(uuid4(), inputs={}, dataset_id=dataset.id),
        lambda: client.delete_example(uuid4()),
    ):
        with pytest.raises(LangSmithNotFoundError):
            act()


def test_sent_twice_it_is_there_once(call: Call) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    for _ in range(3):
        for request in case("sent_twice"):
            body = json.loads(json.dumps(request["body"]).replace("DATASET_ID", dataset))
            call(request["method"], request["path"], json=body)
    sessions = call("GET", "/sessions", params={"name": "twice-exp"}).json()
    assert [session["run_count"] for session in sessions] == [1]
    assert len(call("GET", "/examples", params={"dataset": dataset}).json()) == 1
    [mark] = call("GET", "/feedback", params={"key": "correct"}).json()
    assert mark["score"] == 0.9
