"""Files over the API: examples into datasets, and what a system answered into experiments."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from experiments.models import Dataset, Experiment, Feedback, Run, Upload
from experiments.services.uploading.storing import store_upload
from tests.api.conftest import Call
from tests.factories import example_ids, make_dataset
from tests.web.uploading import check, sent, signed_in, store
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path


def send(call: Call, data: bytes, name: str = "rows.bin", **fields: str) -> Any:
    files = {"file": (name, data), **{key: (None, value) for key, value in fields.items()}}
    return call("POST", "/uploads", files=files)


def done(call: Call, answer: Any) -> dict[str, Any]:
    assert answer.status_code == 202, answer.text
    upload = Upload.objects.get(uid=answer.json()["id"])
    store_upload(upload.pk, threading.Event())
    found: dict[str, Any] = call("GET", f"/uploads/{upload.uid}").json()
    return found


def test_a_file_becomes_a_dataset_and_is_changed_by_another(call: Call) -> None:
    first = done(call, send(call, b"id,question,answer\n1,a,b\n2,c,d\n", dataset_name="mine"))
    assert first["state"] == "complete"
    assert first["stored"]["rows"] == 2
    again = send(
        call,
        b'{"id":"2","question":"c","answer":"D"}\n',
        dataset=first["dataset_id"],
        write="upsert",
    )
    assert done(call, again)["stored"]["changed"] == 1


def test_a_mapping_can_be_sent(call: Call) -> None:
    mapping = [
        {"path": ["log", "text"], "role": "input", "key": "question"},
        {"name": "log", "role": "metadata", "key": "log"},
    ]
    data = b'{"log":{"text":"hi","n":1}}\n'
    found = done(call, send(call, data, dataset_name="mine", mapping=json.dumps(mapping)))
    assert found["stored"]["rows"] == 1
    dataset = Dataset.objects.get(uid=found["dataset_id"])
    payload = dataset.revisions.get().payload
    assert (payload.inputs, payload.metadata) == (
        '{"question":"hi"}',
        '{"log":{"text":"hi","n":1}}',
    )


def test_a_file_is_read_as_the_fields_say(call: Call) -> None:
    data = "question^answer\n東京は？^はい\n".encode("shift_jis")
    told = {"encoding": "shift_jis", "delimiter": "^"}
    found = done(call, send(call, data, dataset_name="old", **told))
    assert (found["layout"]["encoding"], found["layout"]["delimiter"]) == ("shift_jis", "^")
    payload = Dataset.objects.get(uid=found["dataset_id"]).revisions.get().payload
    assert payload.inputs == '{"question":"東京は？"}'
    assert payload.outputs == '{"answer":"はい"}'


def test_a_new_dataset_has_the_type_that_was_asked_for(call: Call) -> None:
    data = b'{"messages":[{"role":"user","content":"hi"}],"answer":"hello"}\n'
    found = done(call, send(call, data, dataset_name="talk", data_type="chat"))
    assert Dataset.objects.get(uid=found["dataset_id"]).data_type == "chat"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"mapping": "nonsense"}, "mapping"),
        ({"mapping": '[{"name": "nope", "role": "input"}]'}, "mapping.0.name"),
        ({"mapping": '[{"name": "a", "role": "ignore"}]'}, "mapping"),
        ({"mapping": '[{"name": "a", "role": "input", "key": 3}]'}, "mapping.0"),
        ({"write": "destroy"}, "write"),
        ({"policy": "guess"}, "policy"),
        ({"experiment": "x"}, "dataset"),
        ({"distinct": "maybe"}, "distinct"),
        ({"data_type": "video"}, "data_type"),
        ({"encoding": "morse"}, "encoding"),
        ({"format": "parquet"}, "format"),
        ({"delimiter": "ab"}, "delimiter"),
        ({"sheet": "Sheet 2"}, "sheet"),
    ],
)
def test_bad_fields_are_named_and_nothing_is_kept(
    call: Call, tmp_path: Path, fields: dict[str, str], field: str
) -> None:
    answer = send(call, b"a,b\n1,2\n", **fields)
    assert answer.status_code == 422, answer.text
    assert field in answer.text
    assert not Upload.objects.exists()
    assert list((tmp_path / "uploads").iterdir()) == []


def test_answers_keyed_by_id_become_an_experiment(call: Call, workspace: Workspace) -> None:
    dataset = make_dataset(workspace)
    uids = example_ids(dataset)
    lines = [
        {"id": str(uids[0]), "output": {"answer": "4"}, "score": 1, "score_tone": "kind"},
        {"id": str(uids[1]), "output": {"answer": "Rome"}, "score": 0.25, "score_tone": None},
        {"id": str(uids[0]), "output": {"answer": "5"}, "score": False},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    found = done(call, send(call, data, dataset=str(dataset.uid), experiment="theirs"))
    assert found["state"] == "complete", found
    experiment = Experiment.objects.get(name="theirs")
    assert found["experiment_id"] == str(experiment.uid)
    assert (experiment.num_examples, experiment.num_repetitions) == (2, 2)
    assert experiment.dataset_version == dataset.modified_at
    runs = Run.objects.filter(experiment=experiment).order_by("pk").select_related("payload")
    assert [run.payload.outputs for run in runs] == [
        '{"answer": "4"}',
        '{"answer": "Rome"}',
        '{"answer": "5"}',
    ]
    assert runs[0].example_uid == uids[0]
    assert runs[0].payload.inputs == '{"question":"Question 0?"}'
    marks = Feedback.objects.filter(experiment=experiment).order_by("key", "-score")
    assert [(mark.key, mark.score, mark.value) for mark in marks] == [
        ("score", 1.0, None),
        ("score", 0.25, None),
        ("score", 0.0, None),
        ("tone", None, '"kind"'),
    ]


def test_answers_keyed_by_input_become_an_experiment(call: Call, workspace: Workspace) -> None:
    dataset = make_dataset(workspace)
    data = b"question,answer,score\nQuestion 1?,Rome,0.5\nQuestion 0?,4,\n"
    found = done(call, send(call, data, dataset=str(dataset.uid), experiment="theirs"))
    assert found["stored"]["rows"] == 2, found
    runs = Run.objects.filter(experiment__name="theirs").order_by("pk")
    assert [run.example_uid for run in runs] == [example_ids(dataset)[n] for n in (1, 0)]


def test_rows_without_an_example_stop_the_whole_or_are_skipped(
    call: Call, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace)
    data = b"question,answer\nQuestion 1?,Rome\nNever asked?,4\n"
    fields = {"dataset": str(dataset.uid), "experiment": "theirs"}
    found = done(call, send(call, data, **fields))
    assert found["state"] == "failed"
    assert found["problems"] == [{"line": 3, "column": "", "reason": "no example has these inputs"}]
    assert not Experiment.objects.exists()
    assert not Run.objects.exists()
    found = done(call, send(call, data, policy="skip", **fields))
    assert (found["stored"]["rows"], found["stored"]["skipped"]) == (1, 1)


def test_the_browser_takes_results_too(alice: User, workspace: Workspace) -> None:
    dataset, browser = make_dataset(workspace), signed_in(alice)
    data = b"question,answer,score\nQuestion 1?,Rome,1\nQuestion 9?,x,1\n"
    fields = {"target": "results", "answered": str(dataset.uid), "experiment": "theirs"}
    upload = check(browser, sent(browser, "results.csv", data, **fields))
    assert upload.options["check"]["bad"] == 1
    upload = store(browser, upload, "skip")
    assert upload.state == Upload.State.COMPLETE, upload.error
    experiment = Experiment.objects.get(name="theirs")
    shown = browser.get(reverse("upload_detail", args=[upload.uid])).content.decode()
    assert reverse("experiment_detail", args=[experiment.uid]) in shown
    assert browser.get(reverse("experiment_detail", args=[experiment.uid])).status_code == 200


def test_strangers_see_nothing(call: Call, mallory: User, workspace: Workspace) -> None:
    found = done(call, send(call, b"a\n1\n", dataset_name="mine"))
    browser: Browser = signed_in(mallory)
    assert browser.get(reverse("upload_detail", args=[found["id"]])).status_code == 404
