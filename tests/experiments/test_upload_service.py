"""What happens to uploads that stop, fail, are forgotten or left behind."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.utils import timezone

from experiments.errors import ConflictError, InvalidError
from experiments.formats.surveys import Survey
from experiments.models import Dataset, DatasetVersion, Example, Upload
from experiments.services import upserts
from experiments.services.datasets import create_dataset
from experiments.services.examples import insert_examples
from experiments.services.uploading import storing
from experiments.services.uploading.columns import Column, Role, guess_columns, pack, unpack
from experiments.services.uploading.files import Receiver, path_of
from experiments.services.uploading.previewing import survey_of
from experiments.services.uploading.storing import UPLOAD_LOCK, store_upload
from experiments.services.uploads import (
    create_upload,
    discard_upload,
    forgotten_uploads,
    queue_upload,
    set_mapping,
)
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_files(settings, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path


def waiting(workspace: Workspace, data: bytes = b"question,answer\nWhy?,So\n") -> Upload:
    receiver = Receiver()
    receiver.write(data)
    return create_upload(workspace=workspace, file=receiver.finish(), filename="rows.csv")


def queued(workspace: Workspace, data: bytes = b"question,answer\nWhy?,So\n") -> Upload:
    upload = waiting(workspace, data)
    set_mapping(upload, guess_columns(survey_of(upload)))
    return queue_upload(upload, policy="stop")


def state_of(upload: Upload) -> str:
    upload.refresh_from_db()
    return upload.state


def test_a_stopping_worker_gives_it_back(workspace: Workspace) -> None:
    upload = queued(workspace)
    stopping = threading.Event()
    stopping.set()
    store_upload(upload.pk, stopping)
    assert state_of(upload) == Upload.State.QUEUED
    assert not Example.objects.exists()
    store_upload(upload.pk, threading.Event())
    assert state_of(upload) == Upload.State.COMPLETE


def test_a_second_delivery_of_the_message_does_nothing(workspace: Workspace) -> None:
    upload = queued(workspace)
    store_upload(upload.pk, threading.Event())
    store_upload(upload.pk, threading.Event())
    assert DatasetVersion.objects.count() == 1


def test_nobody_stores_what_another_worker_is_storing(workspace: Workspace) -> None:
    upload = queued(workspace)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [UPLOAD_LOCK, upload.pk])
        other = threading.Thread(target=_store_and_close, args=[upload.pk])
        other.start()
        other.join()
    assert state_of(upload) == Upload.State.QUEUED


def _store_and_close(upload_id: int) -> None:
    store_upload(upload_id, threading.Event())
    connection.close()


def test_it_is_given_up_after_five_deaths(workspace: Workspace) -> None:
    upload = queued(workspace)
    upload.options["attempts"] = storing.MAX_ATTEMPTS
    upload.state = Upload.State.RUNNING
    upload.save()
    store_upload(upload.pk, threading.Event())
    assert state_of(upload) == Upload.State.FAILED
    assert "died 5 times" in upload.error


def test_an_unexpected_error_fails_it_and_stores_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> None:
        raise ZeroDivisionError

    upload = queued(workspace)
    monkeypatch.setattr(upserts, "insert_examples", explode)
    store_upload(upload.pk, threading.Event())
    assert state_of(upload) == Upload.State.FAILED
    assert "ZeroDivisionError" in upload.error
    assert not Dataset.objects.exists()


def test_a_name_taken_meanwhile_is_said(workspace: Workspace) -> None:
    upload = queued(workspace)
    create_dataset(workspace=workspace, name="rows")
    store_upload(upload.pk, threading.Event())
    assert state_of(upload) == Upload.State.FAILED
    assert "already exists" in upload.error


def test_discarding_while_it_runs_stores_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = queued(workspace)
    insert = insert_examples

    def discarded_meanwhile(*arguments):
        other = threading.Thread(target=_discard_and_close, args=[upload])
        other.start()
        other.join()
        return insert(*arguments)

    monkeypatch.setattr(upserts, "insert_examples", discarded_meanwhile)
    store_upload(upload.pk, threading.Event())
    assert not Example.objects.exists()
    assert not Upload.objects.exists()


def _discard_and_close(upload: Upload) -> None:
    discard_upload(upload)
    connection.close()


def test_the_sweep_finds_lost_messages_and_dead_workers(workspace: Workspace) -> None:
    fresh, lost, dead = (queued(workspace), queued(workspace), queued(workspace))
    assert forgotten_uploads() == []
    old = timezone.now() - timedelta(minutes=1)
    Upload.objects.filter(pk=lost.pk).update(heartbeat_at=old)
    Upload.objects.filter(pk=dead.pk).update(state=Upload.State.RUNNING)
    assert forgotten_uploads() == sorted([lost.pk, dead.pk])
    assert state_of(fresh) == Upload.State.QUEUED


def test_the_sweep_clears_what_was_left_behind(workspace: Workspace, tmp_path: Path) -> None:
    kept, stale = waiting(workspace), waiting(workspace)
    Upload.objects.filter(pk=stale.pk).update(created_at=timezone.now() - timedelta(days=8))
    orphan, arriving = (tmp_path / "uploads" / name for name in ("orphan", "arriving"))
    for file in (orphan, arriving):
        file.write_bytes(b"rows")
    hours_ago = time.time() - 7200
    for file in (orphan, path_of(kept)):
        os.utime(file, (hours_ago, hours_ago))
    forgotten_uploads()
    assert path_of(kept).exists()
    assert arriving.exists()
    assert not orphan.exists()
    assert not path_of(stale).exists()
    assert list(Upload.objects.all()) == [kept]


def test_an_upload_that_is_queued_cannot_be_changed(workspace: Workspace) -> None:
    upload = queued(workspace)
    with pytest.raises(ConflictError):
        set_mapping(upload, [])
    with pytest.raises(ConflictError):
        queue_upload(upload, policy="stop")
    with pytest.raises(InvalidError):
        queue_upload(waiting(workspace), policy="hope")


@pytest.mark.parametrize(
    ("name", "role", "key"),
    [
        ("Question", Role.INPUT, "Question"),
        ("user message", Role.METADATA, "user message"),
        ("Expected Output", Role.OUTPUT, "Expected Output"),
        ("input_text", Role.INPUT, "text"),
        ("outputs.answer", Role.OUTPUT, "answer"),
        ("reference_output.answer", Role.OUTPUT, "answer"),
        ("metadata.source", Role.METADATA, "source"),
        ("split", Role.SPLIT, "split"),
        ("uid", Role.ID, "uid"),
        ("weight", Role.METADATA, "weight"),
    ],
)
def test_names_choose_roles_beforehand(name: str, role: Role, key: str) -> None:
    columns = guess_columns(Survey(columns=["prompt", name]))
    assert columns[1] == Column(name, role, key)


def test_the_first_column_is_the_input_when_no_name_tells() -> None:
    columns = guess_columns(Survey(columns=["id", "a", "b"]))
    assert [column.role for column in columns] == [Role.ID, Role.INPUT, Role.METADATA]


def test_names_with_odd_characters_are_kept() -> None:
    columns = [Column("key\x00name \ud83d", Role.INPUT, "key\x00name \ud83d", parse=True)]
    assert unpack(pack(columns)) == columns
