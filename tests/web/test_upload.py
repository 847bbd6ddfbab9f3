"""A file goes through the four steps into a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Dataset, Upload
from tests.factories import make_dataset
from tests.web.uploading import (
    address,
    check,
    form_of,
    kept_files,
    page,
    payloads,
    send,
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


def test_it_stores_a_csv_file_as_a_new_dataset(client: Client) -> None:
    upload = upload_whole(client, "bom_crlf.csv")
    assert upload.dataset is not None
    assert upload.dataset.name == "bom_crlf"
    assert payloads(upload.dataset) == [
        ('{"question":"What is 2+2?"}', '{"answer":"4"}', None),
        ('{"question":"Capital of France?"}', '{"answer":"Paris"}', None),
        ('{"question":"Last row"}', '{"answer":"ends without newline"}', None),
    ]
    version = upload.dataset.versions.get()
    assert (version.added, version.note) == (3, "Upload of bom_crlf.csv")
    done = page(client, upload, "done").content.decode()
    assert "3 examples stored" in done
    assert reverse("dataset_detail", args=[upload.dataset.uid]) in done
    assert kept_files() == []


def test_a_new_dataset_has_the_type_that_was_chosen(client: Client) -> None:
    upload = upload_whole(client, "bom_crlf.csv", data_type="llm")
    assert upload.dataset is not None
    assert upload.dataset.data_type == "llm"
    assert (
        "text in, text out"
        in client.get(reverse("dataset_detail", args=[upload.dataset.uid])).content.decode()
    )


def test_it_says_when_no_file_was_chosen(client: Client) -> None:
    answer = client.post(reverse("upload_new"), {"target": "new"})
    assert answer.status_code == 422
    assert "Choose a file, or paste its text." in answer.content.decode()


def test_it_takes_pasted_text(client: Client) -> None:
    form = {"target": "new", "text": "question,answer\nWhy?,Because\n", "dataset_name": "pasted"}
    assert client.post(reverse("upload_new"), form).status_code == 302
    upload = store(client, check(client, Upload.objects.get()))
    assert payloads(upload.dataset) == [('{"question":"Why?"}', '{"answer":"Because"}', None)]


def test_it_stores_nothing_when_bad_rows_stop_it(client: Client) -> None:
    upload = store(client, check(client, sent(client, "key_order.jsonl")), "stop")
    assert upload.state == Upload.State.FAILED
    assert not Dataset.objects.exists()
    shown = page(client, upload, "done").content.decode()
    assert "Nothing was stored" in shown
    assert "the key “x” stands twice" in shown
    assert len(kept_files()) == 1
    assert store(client, upload, "skip").state == Upload.State.COMPLETE


def test_it_adds_to_a_dataset_that_exists(client: Client, workspace: Workspace) -> None:
    dataset = make_dataset(workspace)
    new = client.get(reverse("upload_new"), {"dataset": str(dataset.uid)})
    assert f'<option value="{dataset.uid}" selected>' in new.content.decode()
    upload = upload_whole(client, "bom_crlf.csv", target="existing", dataset=str(dataset.uid))
    assert upload.dataset == dataset
    dataset.refresh_from_db()
    assert dataset.example_count == 6


def test_it_keeps_the_file_when_the_name_is_taken(client: Client, workspace: Workspace) -> None:
    make_dataset(workspace, name="taken")
    answer = send(client, "bom_crlf.csv", dataset_name="taken")
    upload = Upload.objects.get()
    assert answer.url == f"{address(upload)}?step=file"
    assert (
        "A dataset named “taken” exists already." in page(client, upload, "file").content.decode()
    )
    form = {"target": "new", "dataset_name": "taken"}
    assert client.post(address(upload, "target"), form).status_code == 422
    form["dataset_name"] = "free"
    assert client.post(address(upload, "target"), form).status_code == 302
    assert store(client, check(client, upload)).dataset == Dataset.objects.get(name="free")


def test_it_finds_a_free_name_by_itself(client: Client, workspace: Workspace) -> None:
    make_dataset(workspace, name="bom_crlf")
    assert sent(client, "bom_crlf.csv").dataset_name == "bom_crlf 2"


def test_it_loses_nothing_on_the_way_back(client: Client) -> None:
    upload = sent(client, "semicolon.csv")
    form = form_of(client, upload, **{"role-2": "output", "key-2": "importance"})
    assert client.post(address(upload, "mapping"), form).status_code == 302
    check(client, upload)
    page(client, upload, "file")
    line = page(client, upload, "map").context["lines"][2]
    assert (line.column.role, line.column.key) == ("output", "importance")
    assert page(client, upload, "check").context["report"]["good"] == 3


def test_it_shows_the_done_step_while_it_is_queued(client: Client) -> None:
    upload = check(client, sent(client, "bom_crlf.csv"))
    client.post(address(upload, "start"), {"policy": "stop"})
    for step in ("file", "map", "check", "done"):
        assert "Waiting for a worker" in page(client, upload, step).content.decode()
    fragment = page(client, upload, "done", headers={"HX-Request": "true"}).content.decode()
    assert fragment.strip().startswith('<div id="progress" hx-get')
    client.post(address(upload, "stop"))
    upload.refresh_from_db()
    assert upload.state == Upload.State.MAPPING
    assert "Store 3 examples" in page(client, upload, "check").content.decode()


def test_it_discards_an_upload_with_its_file(client: Client) -> None:
    upload = sent(client, "bom_crlf.csv")
    assert len(kept_files()) == 1
    asked = client.get(address(upload, "discard")).content.decode()
    assert "Discard the upload of bom_crlf.csv?" in asked
    assert len(kept_files()) == 1
    assert client.post(address(upload, "discard")).status_code == 302
    assert kept_files() == []
    assert not Upload.objects.exists()


def test_the_list_of_uploads_is_paged_and_costs_the_same(
    client: Client, django_assert_num_queries
) -> None:
    for _ in range(60):
        sent(client, "bom_crlf.csv")
    first = client.get(reverse("upload_new"), {"size": "25"})
    assert len(first.context["uploads"]) == 25
    second = client.get(reverse("upload_new") + first.context["older"])
    assert len(second.context["uploads"]) == 25
    assert not set(first.context["uploads"]) & set(second.context["uploads"])
    with django_assert_num_queries(5):
        client.get(reverse("upload_new"), {"size": "25"})
    with django_assert_num_queries(5):
        client.get(reverse("upload_new"), {"size": "50"})
