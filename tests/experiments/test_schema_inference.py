"""Schemas read off examples, and enforced at every door from then on."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from experiments.errors import InvalidError
from experiments.models import Dataset, Upload
from experiments.rawjson import dumps
from experiments.services.datasets import create_dataset
from experiments.services.examples import ExampleChange, NewExample, add_examples, update_examples
from experiments.services.schema_inference import adopt_schemas, infer_schemas
from experiments.services.uploading.storing import store_upload
from tests.api.conftest import caller
from tests.factories import example_ids
from tests.web.uploading import signed_in
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dataset(workspace: Workspace, settings: Any, tmp_path: Path) -> Dataset:
    settings.FILES_PATH = tmp_path
    made = create_dataset(workspace=workspace, name="shaped")
    given: list[dict[str, Any]] = [
        {"question": "a", "n": 1, "tags": ["x"], "more": None},
        {"question": "b", "n": 1.5, "tags": []},
    ]
    rows = [NewExample(dumps(one), dumps({"answer": "x"})) for one in given]
    add_examples(dataset=made, examples=rows)
    return made


def test_it_holds_what_all_examples_keep(dataset: Dataset) -> None:
    found = infer_schemas(dataset)
    assert json.loads(found.inputs or "") == {
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "n": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "more": {"type": "null"},
        },
        "required": ["question", "n", "tags"],
    }
    dataset.refresh_from_db()
    assert dataset.inputs_schema is None


def test_every_door_keeps_it(dataset: Dataset, live_server: Any, api_key: str) -> None:
    adopt_schemas(dataset)
    with pytest.raises(InvalidError, match="question"):
        add_examples(dataset=dataset, examples=[NewExample('{"n":1,"tags":[]}')])
    change = ExampleChange(example_ids(dataset)[0], inputs='{"question":3,"n":1,"tags":[]}')
    with pytest.raises(InvalidError, match="question"):
        update_examples(dataset=dataset, changes=[change])
    call = caller(f"{live_server.url}/api", api_key)
    body = {"dataset_id": str(dataset.uid), "inputs": {"question": 1, "n": 1, "tags": []}}
    assert call("POST", "/examples", json=body).status_code == 422
    lines = b'{"question":"c","n":2,"tags":[]}\n{"question":"d","n":"two","tags":[]}\n'
    mapping = [{"name": name, "role": "input"} for name in ("question", "n", "tags")]
    files = {
        "file": ("rows", lines),
        "dataset": (None, str(dataset.uid)),
        "mapping": (None, json.dumps(mapping)),
    }
    sent = call("POST", "/uploads", files=files)
    assert sent.status_code == 202, sent.text
    upload = Upload.objects.get(uid=sent.json()["id"])
    store_upload(upload.pk, threading.Event())
    upload.refresh_from_db()
    assert upload.state == Upload.State.FAILED
    assert (upload.problems[0]["line"], upload.problems[0]["column"]) == (2, "inputs.n")


def test_the_page_and_the_api_adopt_it(
    dataset: Dataset, alice: User, live_server: Any, api_key: str
) -> None:
    browser, address = signed_in(alice), reverse("dataset_schemas", args=[dataset.uid])
    shown = browser.post(address, follow=True).content.decode()
    assert "must have this shape" in shown
    assert "&quot;question&quot;" in shown
    browser.post(address, {"step": "drop"})
    dataset.refresh_from_db()
    assert dataset.inputs_schema is None
    call = caller(f"{live_server.url}/api", api_key)
    told = call("POST", f"/datasets/{dataset.uid}/schemas/infer", json={"adopt": True}).json()
    assert told["inputs_schema_definition"]["required"] == ["question", "n", "tags"]
    dataset.refresh_from_db()
    assert dataset.inputs_schema is not None


def test_an_empty_dataset_has_nothing_to_tell(workspace: Workspace, alice: User) -> None:
    empty = create_dataset(workspace=workspace, name="empty")
    address = reverse("dataset_schemas", args=[empty.uid])
    assert "no examples" in signed_in(alice).post(address, follow=True).content.decode()
