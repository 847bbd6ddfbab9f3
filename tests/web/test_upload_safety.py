"""What must not come in, and who must not see it."""

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
    send,
    sent,
    signed_in,
    store,
)
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture(autouse=True)
def _own_files(settings, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path


def test_it_never_stores_text_in_an_encoding_that_does_not_fit(client: Client) -> None:
    upload = sent(client, "cp1252.csv")
    client.post(
        address(upload, "layout"), {"format": "csv", "encoding": "utf-8", "delimiter": "44"}
    )
    shown = page(client, upload, "map").content.decode()
    assert "line 2: byte 0x93 at offset 17 is not UTF-8" in shown
    form = form_of(client, upload) | {"then": "check"}
    assert client.post(address(upload, "mapping"), form).status_code == 422


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("photo.csv", b"\x89PNG\r\n\x1a\n\x00\x00", "a PNG image"),
        ("rows.jsonl", b"PAR1\x15\x04", "The Parquet file cannot be read"),
        ("header_only.csv", None, "a header (question, answer) but no rows"),
        ("empty.csv", b"", "The file is empty."),
        ("blank.csv", b"\n \n", "The file is empty."),
        ("nothing.json", b"[]", "The file holds no rows."),
    ],
)
def test_it_refuses_what_it_cannot_read_by_what_it_is(
    client: Client, name: str, data: bytes | None, reason: str
) -> None:
    answer = send(client, name, data)
    assert answer.status_code == 422
    assert reason in answer.content.decode()
    assert not Upload.objects.exists()
    assert not Dataset.objects.exists()
    assert kept_files() == []


def test_it_refuses_a_file_above_the_limit(client: Client, settings) -> None:
    settings.MAX_UPLOAD_BYTES = 1024
    assert "1 kB" in client.get(reverse("upload_new")).content.decode()
    for size in (2000, 3 * 1024 * 1024):
        answer = send(client, "long.csv", b"a,b\n" + b"1,2\n" * (size // 4))
        assert answer.status_code == 422
        assert "larger than 1 kB" in answer.content.decode()
    assert kept_files() == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"question": "q", "meta_number": 1e99999}', "too large for metadata"),
        ('{"question": ' + "1" * 5000 + "}", "more than 4,000 digits"),
        ('{"question": ' + "[" * 250 + "]" * 250 + "}", "nested too deeply"),
        ('{"question": "q", "id": [1]}', "an id is a text or a whole number"),
        ('{"question": "q", "split": {"a": 1}}', "must be a text or a list of texts"),
        ('{"question": "q", "dataset_split": [1]}', "must be a text or a list of texts"),
    ],
)
def test_it_names_values_that_the_database_would_refuse(
    client: Client, line: str, reason: str
) -> None:
    text = '{"question": "good", "id": "a", "split": "b", "dataset_split": "c"}\n' + line
    upload = check(client, sent(client, "hostile.jsonl", text.encode()))
    assert [one["line"] for one in upload.problems] == [2]
    assert reason in upload.problems[0]["reason"]
    assert store(client, upload, "skip").options["stored"]["rows"] == 1


def test_it_shows_file_names_and_cells_as_text(client: Client) -> None:
    name = "<img src=x onerror=alert(1)>.csv"
    data = b'question,<script>alert(2)</script>\n<img src=x onerror=alert(3)>,"</pre><b>"\n'
    upload = sent(client, name, data)
    pages = [page(client, upload, "map")]
    check(client, upload)
    pages += [page(client, upload, "check"), page(client, upload, "file")]
    store(client, upload)
    pages += [page(client, upload, "done"), client.get(reverse("upload_new"))]
    for answer in pages:
        shown = answer.content.decode()
        assert "<img" not in shown
        assert "<script>alert" not in shown
        assert "</pre><b>" not in shown
        assert " style=" not in shown
    assert not any("img" in str(path) for path in kept_files())


def test_it_hides_uploads_from_strangers(
    client: Client, mallory: User, workspace: Workspace
) -> None:
    upload = sent(client, "bom_crlf.csv")
    stranger = signed_in(mallory)
    assert stranger.get(address(upload)).status_code == 404
    for action in ("target", "layout", "mapping", "start", "stop", "discard"):
        assert stranger.post(address(upload, action)).status_code == 404
    dataset = make_dataset(workspace)
    assert stranger.get(reverse("upload_new"), {"dataset": str(dataset.uid)}).status_code == 404
    answer = send(stranger, "bom_crlf.csv", target="existing", dataset=str(dataset.uid))
    assert answer.status_code == 422
    assert Upload.objects.count() == 1


def test_it_needs_the_role_of_an_editor_and_a_token(client: Client, alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert send(strict, "bom_crlf.csv").status_code == 403
    assert kept_files() == []
    alice.memberships.update(role="viewer")
    assert send(client, "bom_crlf.csv").status_code == 403
    assert client.get(reverse("upload_new")).status_code == 403
    client.logout()
    assert send(client, "bom_crlf.csv").status_code == 302
    assert kept_files() == []
