"""What becomes of columns: roles, keys, JSON in cells, ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client

from experiments.models import ExampleRevision
from tests.factories import make_dataset
from tests.web.uploading import (
    address,
    check,
    form_of,
    page,
    payloads,
    sent,
    signed_in,
    store,
    upload_whole,
)
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture(autouse=True)
def _own_files(settings, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path


def test_the_preview_shows_what_will_be_stored(client: Client) -> None:
    upload = sent(client, "literals.csv")
    form = form_of(client, upload, **{"role-0": "input", "key-0": "code"})
    answer = client.post(address(upload, "mapping"), form, headers={"HX-Request": "true"})
    assert "<html" not in answer.content.decode()
    assert "&quot;code&quot;: &quot;007&quot;" in answer.content.decode()
    shown = page(client, upload, "map").context["rows"]
    upload = store(client, check(client, upload))
    assert [(row.inputs, row.outputs, row.metadata) for row in shown] == payloads(upload.dataset)[
        :5
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"role-0": "metadata"}, "At least one column must be an input."),
        ({"role-1": "input", "key-1": "question"}, "is used for “question” as well"),
        ({"key-0": ""}, "Give a key."),
        ({"role-0": "id", "role-1": "id", "role-2": "input"}, "Only one column"),
    ],
)
def test_it_names_what_is_wrong_with_a_mapping(
    client: Client, changes: dict[str, str], problem: str
) -> None:
    upload = sent(client, "semicolon.csv")
    form = form_of(client, upload, **changes) | {"then": "check"}
    answer = client.post(address(upload, "mapping"), form)
    assert answer.status_code == 422
    assert problem in answer.content.decode()


def test_it_refuses_a_form_made_for_other_columns(client: Client) -> None:
    upload = sent(client, "semicolon.csv")
    form = form_of(client, upload) | {"then": "check"}
    client.post(address(upload, "layout"), {"format": "csv", "encoding": "utf-8", "delimiter": "9"})
    answer = client.post(address(upload, "mapping"), form)
    assert answer.status_code == 422
    assert "read differently" in answer.content.decode()


def test_it_takes_json_in_cells_as_it_stands_and_names_bad_ones(client: Client) -> None:
    text = 'question,answer\nA,"{""z"": 1, ""b"": 1e5}"\nB,{broken\nC,\nD,12345678901234567890\n'
    upload = check(client, sent(client, "cells.csv", text.encode()), **{"parse-1": "on"})
    assert [(one["line"], one["column"]) for one in upload.problems] == [(3, "answer")]
    assert upload.problems[0]["reason"].startswith("is not JSON")
    upload = store(client, upload, "skip")
    assert [outputs for _, outputs, _ in payloads(upload.dataset)] == [
        '{"answer":{"z": 1, "b": 1e5}}',
        '{"answer":""}',
        '{"answer":12345678901234567890}',
    ]


def test_it_takes_whole_objects_splits_and_ids(client: Client) -> None:
    lines = [
        {
            "id": "q-1",
            "inputs": {"b": 1, "a": [2]},
            "outputs": {"answer": "x"},
            "split": "train",
            "metadata": {"topic": "t"},
        },
        {
            "id": "0190a6a0-0000-7000-8000-000000000001",
            "inputs": {},
            "split": ["test", "hard"],
            "extra": True,
        },
    ]
    text = "\n".join(map(json.dumps, lines)).encode()
    upload = upload_whole(client, "whole.jsonl", text)
    assert payloads(upload.dataset) == [
        ('{"b": 1, "a": [2]}', '{"answer": "x"}', '{"topic":"t","id":"q-1"}'),
        ("{}", None, '{"extra":true}'),
    ]
    rows = ExampleRevision.objects.order_by("example_id")
    assert [row.splits for row in rows] == [["train"], ["test", "hard"]]
    assert str(rows[1].example.uid) == "0190a6a0-0000-7000-8000-000000000001"


def test_it_reports_ids_that_are_taken(client: Client) -> None:
    first = upload_whole(client, "ids.csv", b"id,question\nq1,A\nq2,B\n")
    assert first.dataset is not None
    target = {"target": "existing", "dataset": str(first.dataset.uid)}
    data = b"id,question\nq2,B again\nq3,C\nq3,C again\n,D\n"
    upload = check(client, sent(client, "ids.csv", data, **target))
    expected = [
        (2, "id", "an example with this id exists already"),
        (4, "id", "this id stands in an earlier line"),
    ]
    assert [(one["line"], one["column"], one["reason"]) for one in upload.problems] == expected
    upload = store(client, upload, "skip")
    assert [(one["line"], one["column"], one["reason"]) for one in upload.problems] == expected
    assert upload.options["stored"]["rows"] == 2


def test_it_keeps_keys_that_come_late_as_metadata(client: Client) -> None:
    lines = [json.dumps({"question": str(n)}) for n in range(600)]
    lines.append(json.dumps({"question": "last", "late": {"z": 1, "a": 2}}))
    upload = check(client, sent(client, "late.jsonl", "\n".join(lines).encode()))
    assert upload.options["check"]["later_keys"] == [{"key": "late", "line": 601}]
    assert "<b>late</b> (line 601)" in page(client, upload, "check").content.decode()
    upload = store(client, upload)
    assert payloads(upload.dataset)[600][2] == '{"late":{"z": 1, "a": 2}}'


def test_it_obeys_the_schema_of_the_dataset(client: Client, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, [])
    dataset.inputs_schema = '{"properties": {"question": {"maxLength": 3}}}'
    dataset.save()
    data = b"question,answer\nshort,1\nok,2\n"
    target = {"target": "existing", "dataset": str(dataset.uid)}
    upload = check(client, sent(client, "rows.csv", data, **target))
    assert [(one["line"], one["column"]) for one in upload.problems] == [(2, "inputs.question")]
