"""An upload can be taken back: exactly its examples, as a new version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from experiments.exports.datasets import dataset_export
from experiments.models import Dataset, Upload
from experiments.rawjson import dumps
from experiments.services.examples import ExampleChange, update_examples
from tests.factories import example_ids, make_dataset
from tests.web.uploading import address, payloads, signed_in, upload_whole
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = b"question,answer\nWhy?,So\nWho?,Me\n"


@pytest.fixture
def client(alice: User, settings: Any, tmp_path: Path) -> Client:
    settings.FILES_PATH = tmp_path
    return signed_in(alice)


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, ["4", "Paris"])


@pytest.fixture
def upload(client: Client, dataset: Dataset) -> Upload:
    return upload_whole(client, "rows.csv", ROWS, target="existing", dataset=str(dataset.uid))


def test_exactly_its_examples_go(client: Client, dataset: Dataset, upload: Upload) -> None:
    assert upload.dataset == dataset
    uids = example_ids(dataset)
    changes = [ExampleChange(uid, outputs=dumps({"answer": "new"})) for uid in (uids[0], uids[3])]
    update_examples(dataset=dataset, changes=changes)
    full = dataset.modified_at
    assert "lacks its 2 examples" in client.get(address(upload, "undo")).content.decode()
    answer = client.post(address(upload, "undo"), follow=True)
    assert "2 examples were taken out again" in answer.content.decode()
    dataset.refresh_from_db()
    assert [outputs for _, outputs, _ in payloads(dataset)] == [
        '{"answer":"new"}',
        '{"answer":"Paris"}',
    ]
    version = dataset.versions.latest("as_of")
    assert (dataset.example_count, version.removed) == (2, 2)
    assert version.note == "Undo of the upload of rows.csv"
    assert len(list(dataset_export(dataset, as_of=full).read())) == 4


def test_it_is_undone_once(client: Client, dataset: Dataset, upload: Upload) -> None:
    client.post(address(upload, "undo"))
    answer = client.post(address(upload, "undo"), follow=True)
    assert "Nothing of this upload is left" in answer.content.decode()
    assert "Undo this upload" not in answer.content.decode()
    assert dataset.versions.count() == 3


def test_viewers_and_strangers_may_not(
    client: Client, upload: Upload, alice: User, mallory: User
) -> None:
    assert signed_in(mallory).post(address(upload, "undo")).status_code == 404
    alice.memberships.update(role=Role.VIEWER)
    assert client.post(address(upload, "undo")).status_code == 403
    assert len(payloads(upload.dataset)) == 4
