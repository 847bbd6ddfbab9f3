"""Datasets, their versions, tags, splits and files, through the real client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from langsmith import Client
from langsmith.schemas import DataType
from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError

from tests.api.conftest import Call

SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}


def test_a_dataset_is_read_as_it_was_made(client: Client) -> None:
    made = client.create_dataset(
        "Sums: 1+1 / «»",
        description="adding",
        data_type=DataType.chat,
        metadata={"owner": "a", "n": 1},
        inputs_schema=SCHEMA,
        outputs_schema={"type": "object"},
        transformations=[{"path": ["inputs"], "transformation_type": "remove_system_messages"}],
    )
    for read in (
        client.read_dataset(dataset_name="Sums: 1+1 / «»"),
        client.read_dataset(dataset_id=made.id),
    ):
        assert read.id == made.id
        assert (read.description, read.data_type) == ("adding", DataType.chat)
        assert read.metadata is not None
        assert (read.metadata["owner"], read.metadata["n"]) == ("a", 1)
        assert read.metadata["runtime"]["sdk"] == "langsmith-py"
        assert read.inputs_schema == SCHEMA
        assert read.transformations == made.transformations
        assert read.example_count == 0


def test_a_name_is_taken_once(client: Client) -> None:
    client.create_dataset("once")
    with pytest.raises(LangSmithConflictError):
        client.create_dataset("once")
    assert client.has_dataset(dataset_name="once")
    assert not client.has_dataset(dataset_name="onc")


def test_lists_obey_every_filter(client: Client) -> None:
    a = client.create_dataset("red apple", metadata={"k": 1, "o": 2})
    client.create_dataset("green apple", data_type=DataType.llm, metadata={"k": 2})
    c = client.create_dataset("red pear", metadata={"k": 1})

    def names(**filters: Any) -> list[str]:
        return sorted(row.name for row in client.list_datasets(**filters))

    assert names(dataset_ids=[a.id, c.id]) == ["red apple", "red pear"]
    assert names(dataset_name_contains="APPLE") == ["green apple", "red apple"]
    assert names(data_type="llm") == ["green apple"]
    assert names(metadata={"k": 1}) == ["red apple", "red pear"]
    assert names(metadata={"k": 1}, dataset_name_contains="apple") == ["red apple"]
    assert names(dataset_name="red") == []
    assert len(names(limit=2)) == 2


def test_a_deleted_dataset_is_gone(client: Client) -> None:
    dataset = client.create_dataset("gone")
    client.create_examples(dataset_id=dataset.id, examples=[{"inputs": {"q": 1}}])
    client.delete_dataset(dataset_name="gone")
    assert not client.has_dataset(dataset_name="gone")
    with pytest.raises(LangSmithNotFoundError):
        client.read_dataset(dataset_id=dataset.id)
    client.create_dataset("gone")


def test_only_what_is_sent_changes(call: Call) -> None:
    uid = call("POST", "/datasets", json={"name": "d", "description": "x"}).json()["id"]
    changed = call("PATCH", f"/datasets/{uid}", json={"name": "e"}).json()
    assert (changed["name"], changed["description"]) == ("e", "x")
    assert (
        call("PATCH", f"/datasets/{uid}", json={"description": None}).json()["description"] is None
    )


def test_examples_must_meet_the_schema(client: Client) -> None:
    dataset = client.create_dataset("strict", inputs_schema=SCHEMA)
    client.create_example({"q": "ok"}, dataset_id=dataset.id)
    for bad in ({"q": 1}, {}, {"q": "a", "x": 1}):
        with pytest.raises(Exception, match="422"):
            client.create_example(bad, dataset_id=dataset.id)
    assert [row.inputs for row in client.list_examples(dataset_id=dataset.id)] == [{"q": "ok"}]


SLOW = r"^(a|a)*$"


@pytest.mark.parametrize(
    ("schema", "inputs"),
    [
        ({"properties": {"q": {"pattern": SLOW}}}, {"q": "a" * 60 + "!"}),
        ({"patternProperties": {SLOW: {}}}, {"a" * 60 + "!": 1}),
        ({"patternProperties": {SLOW: {}}, "additionalProperties": False}, {"a" * 60 + "!": 1}),
        ({"properties": {"q": {"multipleOf": 0.1}}}, {"q": 10**400}),
        ({"$ref": "#"}, {}),
    ],
)
def test_a_schema_that_comes_to_no_end_refuses(call: Call, schema: Any, inputs: Any) -> None:
    body = {"name": "d", "inputs_schema_definition": schema}
    dataset = call("POST", "/datasets", json=body).json()["id"]
    start = time.monotonic()
    answer = call("POST", "/examples", json={"dataset_id": dataset, "inputs": inputs})
    assert (answer.status_code, answer.json()["field"]) == (422, "inputs")
    assert "cannot be checked against the schema" in answer.json()["detail"]
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "zz"},
        {"pattern": "("},
        {"$schema": 5},
        {"patternProperties": {SLOW: {}}, "unevaluatedProperties": False},
    ],
)
def test_a_schema_must_be_one(call: Call, schema: Any) -> None:
    answer = call("POST", "/datasets", json={"name": "d", "outputs_schema_definition": schema})
    assert (answer.status_code, answer.json()["field"]) == (422, "outputs_schema_definition")


def test_a_csv_file_becomes_a_dataset(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    path.write_bytes('\ufeffq,a,note\r\n1+1,2,"a, b"\r\n007,NA,é'.encode())
    dataset = client.upload_csv(
        str(path),
        input_keys=["q"],
        output_keys=["a"],
        name="sums",
        description="d",
        data_type=DataType.kv,
    )
    assert (dataset.name, dataset.description) == ("sums", "d")
    rows = list(client.list_examples(dataset_id=dataset.id))
    assert [(row.inputs, row.outputs) for row in rows] == [
        ({"q": "1+1"}, {"a": "2"}),
        ({"q": "007"}, {"a": "NA"}),
    ]
    with pytest.raises(LangSmithConflictError):
        client.upload_csv(str(path), input_keys=["q"], output_keys=["a"], name="sums")


def test_a_broken_csv_file_leaves_nothing_behind(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text("q,a\n1,2\n3\n")
    with pytest.raises(Exception, match="line 3"):
        client.upload_csv(str(path), input_keys=["q"], output_keys=["a"], name="broken")
    with pytest.raises(Exception, match="has no column"):
        client.upload_csv(str(path), input_keys=["x"], output_keys=["a"], name="broken")
    assert not client.has_dataset(dataset_name="broken")


def test_every_change_is_a_version_that_can_be_read_again(client: Client) -> None:
    dataset = client.create_dataset("history")
    one = client.create_example({"q": 1}, dataset_id=dataset.id)
    two = client.create_example({"q": 2}, dataset_id=dataset.id)
    client.update_example(one.id, inputs={"q": "one"})
    changed = client.read_example(one.id)
    client.delete_example(two.id)

    def at(**moment: Any) -> list[Any]:
        return [row.inputs for row in client.list_examples(dataset_id=dataset.id, **moment)]

    assert at() == at(as_of="latest") == [{"q": "one"}]
    assert at(as_of=one.modified_at) == [{"q": 1}]
    assert at(as_of=two.modified_at) == [{"q": 1}, {"q": 2}]
    assert at(as_of=changed.modified_at) == [{"q": "one"}, {"q": 2}]
    assert client.read_example(one.id, as_of=two.modified_at).inputs == {"q": 1}
    versions = list(client.list_dataset_versions(dataset_id=dataset.id))
    assert len(versions) == 4
    assert [version.as_of for version in versions] == sorted(
        (version.as_of for version in versions), reverse=True
    )
    assert versions[0].tags == ["latest"]
    with pytest.raises(LangSmithNotFoundError):
        client.read_example(two.id)


def test_a_tag_sits_on_the_version_at_or_before_a_moment(client: Client) -> None:
    dataset = client.create_dataset("tagged")
    one = client.create_example({"q": 1}, dataset_id=dataset.id)
    two = client.create_example({"q": 2}, dataset_id=dataset.id)
    assert one.modified_at is not None
    assert two.modified_at is not None
    between = one.modified_at + (two.modified_at - one.modified_at) / 2
    client.update_dataset_tag(dataset_id=dataset.id, as_of=between, tag="prod")
    version = client.read_dataset_version(dataset_id=dataset.id, tag="prod")
    assert (version.as_of, version.tags) == (one.modified_at, ["prod"])
    assert client.read_dataset_version(dataset_id=dataset.id, as_of=between).as_of == version.as_of
    assert len(list(client.list_examples(dataset_id=dataset.id, as_of="prod"))) == 1
    client.update_dataset_tag(dataset_id=dataset.id, as_of=two.modified_at, tag="prod")
    assert len(list(client.list_examples(dataset_id=dataset.id, as_of="prod"))) == 2
    with pytest.raises(LangSmithNotFoundError):
        client.read_dataset_version(dataset_id=dataset.id, tag="nothing")


def test_a_difference_names_what_came_went_and_changed(client: Client) -> None:
    dataset = client.create_dataset("difference")
    stays = client.create_example({"q": 0}, dataset_id=dataset.id)
    goes = client.create_example({"q": 1}, dataset_id=dataset.id)
    changes = client.create_example({"q": 2}, dataset_id=dataset.id)
    client.update_dataset_tag(dataset_id=dataset.id, as_of=changes.modified_at, tag="before")
    comes = client.create_example({"q": 3}, dataset_id=dataset.id)
    client.update_example(changes.id, inputs={"q": "two"})
    client.delete_example(goes.id)
    found = client.diff_dataset_versions(
        dataset_id=dataset.id, from_version="before", to_version="latest"
    )
    assert found.examples_added == [comes.id]
    assert found.examples_modified == [changes.id]
    assert found.examples_removed == [goes.id]
    assert stays.id not in found.examples_modified


def test_examples_move_between_splits(client: Client) -> None:
    dataset = client.create_dataset("split")
    one, two = (client.create_example({"q": n}, dataset_id=dataset.id) for n in (1, 2))
    assert client.list_dataset_splits(dataset_id=dataset.id) == ["base"]
    client.update_dataset_splits(
        dataset_id=dataset.id, split_name="train", example_ids=[str(one.id)]
    )
    rows = client.list_examples(dataset_id=dataset.id, splits=["train"])
    assert [row.id for row in rows] == [one.id]
    assert client.list_dataset_splits(dataset_id=dataset.id) == ["base", "train"]
    before = client.read_example(one.id).modified_at
    client.update_dataset_splits(
        dataset_id=dataset.id, split_name="train", example_ids=[str(one.id)], remove=True
    )
    assert client.list_dataset_splits(dataset_id=dataset.id) == ["base"]
    assert client.list_dataset_splits(dataset_id=dataset.id, as_of=before) == ["base", "train"]
    assert len(list(client.list_examples(dataset_id=dataset.id, splits=["base"]))) == 2
    assert two.id


@pytest.mark.parametrize("remove", [False, True])
def test_older_clients_move_examples_by_another_door(call: Call, remove: bool) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    example = call(
        "POST",
        "/examples",
        json={"dataset_id": dataset, "inputs": {}, "split": ["base", "train"]},
    ).json()["id"]
    body = {"split_name": "train" if remove else "test", "examples": [example], "remove": remove}
    assert call("PUT", f"/datasets/{dataset}/splits", json=body).status_code == 200
    splits = call("GET", f"/datasets/{dataset}/splits").json()
    assert splits == (["base"] if remove else ["base", "test", "train"])


def test_chat_examples_become_lines_for_fine_tuning(client: Client) -> None:
    dataset = client.create_dataset("chat", data_type=DataType.chat)
    client.create_example(
        {"input": [{"type": "human", "data": {"content": "Hi"}}]},
        outputs={"output": {"type": "ai", "data": {"content": "Hello"}}},
        dataset_id=dataset.id,
    )
    lines = client.read_dataset_openai_finetuning(dataset_id=dataset.id)
    assert lines == [
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
            ]
        }
    ]
