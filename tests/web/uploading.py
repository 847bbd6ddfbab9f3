"""The steps of an upload as a signed-in person takes them, without scripts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from experiments.models import Dataset, ExampleRevision, Upload
from experiments.services.uploading.storing import store_upload
from tests.formats.reading import FILES
from tiebreak.accounts.models import User


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def send(client: Client, name: str, data: bytes | None = None, **fields: str) -> Any:
    """Post the form of the first step; without data it is the test file of that name."""
    content = (FILES / name).read_bytes() if data is None else data
    form = {"target": "new", **fields, "file": SimpleUploadedFile(name, content)}
    return client.post(reverse("upload_new"), form)


def sent(client: Client, name: str, data: bytes | None = None, **fields: str) -> Upload:
    answer = send(client, name, data, **fields)
    assert answer.status_code == 302, answer.content.decode()
    return Upload.objects.latest("pk")


def address(upload: Upload, action: str = "detail") -> str:
    return reverse(f"upload_{action}", args=[upload.uid])


def page(client: Client, upload: Upload, step: str, **headers: Any) -> Any:
    answer = client.get(address(upload), {"step": step}, **headers)
    assert answer.status_code == 200
    return answer


def form_of(client: Client, upload: Upload, **changes: str) -> dict[str, str]:
    """What the mapping form would send as it stands, with changes."""
    context = page(client, upload, "map").context
    form = {"fingerprint": context["fingerprint"]}
    for line in context["lines"]:
        form[f"role-{line.number}"] = line.column.role
        form[f"key-{line.number}"] = line.key_shown
        if line.column.parse:
            form[f"parse-{line.number}"] = "on"
    return form | changes


def check(client: Client, upload: Upload, **changes: str) -> Upload:
    form = form_of(client, upload, **changes) | {"then": "check"}
    answer = client.post(address(upload, "mapping"), form)
    assert answer.status_code == 302, answer.content.decode()
    upload.refresh_from_db()
    return upload


def store(client: Client, upload: Upload, policy: str = "stop") -> Upload:
    """Start the job and do its work here."""
    answer = client.post(address(upload, "start"), {"policy": policy})
    assert answer.status_code == 302
    store_upload(upload.pk, threading.Event())
    upload.refresh_from_db()
    return upload


def upload_whole(client: Client, name: str, data: bytes | None = None, **fields: str) -> Upload:
    """All steps with the roles as guessed."""
    upload = store(client, check(client, sent(client, name, data, **fields)))
    assert upload.state == Upload.State.COMPLETE, upload.error
    return upload


def kept_files() -> list[Path]:
    """The files that wait in the uploads folder."""
    folder = Path(settings.FILES_PATH) / "uploads"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def payloads(dataset: Dataset | None) -> list[tuple[str, str | None, str | None]]:
    """Inputs, outputs and metadata of the dataset in its order, as stored."""
    rows = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
    return list(
        rows.order_by("example_id").values_list(
            "payload__inputs", "payload__outputs", "payload__metadata"
        )
    )
