"""Rows that are added, that change those of the same id, or that take the place of all."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from experiments.errors import InvalidError
from experiments.models import Dataset, SavedMapping, Upload
from experiments.services.examples import delete_examples
from experiments.services.uploading.columns import guess_columns, nested, paths_in
from experiments.services.uploading.files import Receiver
from experiments.services.uploading.previewing import mapped, survey_of
from experiments.services.uploading.remembering import remember_mapping
from experiments.services.uploading.storing import store_upload
from experiments.services.uploading.undoing import undo_upload
from experiments.services.uploads import check_upload, create_upload, queue_upload, set_mapping
from tests.factories import example_ids, make_dataset
from tests.web.uploading import payloads
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return stored(upload_of(workspace, rows(("1", "one"), ("2", "two"), ("3", "three")))).dataset  # type: ignore[return-value]


def rows(*pairs: tuple[str, str]) -> bytes:
    return "".join(
        json.dumps({"id": uid, "question": f"q{uid}", "answer": answer}) + "\n"
        for uid, answer in pairs
    ).encode()


def upload_of(
    workspace: Workspace, data: bytes, dataset: Dataset | None = None, **options: Any
) -> Upload:
    receiver = Receiver()
    receiver.write(data)
    upload = create_upload(
        workspace=workspace, file=receiver.finish(), filename="x", dataset=dataset
    )
    if dataset is None:
        Upload.objects.filter(pk=upload.pk).update(dataset_name="made")
        upload.refresh_from_db()
    return set_mapping(upload, guess_columns(survey_of(upload)), **options)


def stored(upload: Upload, policy: str = "stop") -> Upload:
    queue_upload(upload, policy=policy)
    store_upload(upload.pk, threading.Event())
    upload.refresh_from_db()
    return upload


def answers(dataset: Dataset) -> list[str]:
    return [json.loads(outputs or "{}")["answer"] for _, outputs, _ in payloads(dataset)]


def test_append_refuses_ids_that_are_there(workspace: Workspace, dataset: Dataset) -> None:
    # The ids of a new dataset are its own: texts become UUIDs within their dataset.
    first = stored(upload_of(workspace, rows(("7", "seven")), dataset))
    assert first.state == Upload.State.COMPLETE, first.error
    again = stored(upload_of(workspace, rows(("7", "other")), dataset))
    assert again.state == Upload.State.FAILED
    assert "exists already" in again.problems[0]["reason"]
    assert answers(dataset) == ["one", "two", "three", "seven"]


def test_upsert_changes_what_differs_and_adds_the_rest(
    workspace: Workspace, dataset: Dataset
) -> None:
    data = rows(("2", "TWO"), ("3", "three"), ("4", "four"))
    upload = upload_of(workspace, data, dataset, write="upsert")
    check_upload(upload)
    assert (upload.options["check"]["good"], upload.options["check"]["changes"]) == (3, 2)
    upload = stored(upload)
    done = upload.options["stored"]
    assert (done["rows"], done["changed"], done["unchanged"]) == (1, 1, 1)
    assert answers(dataset) == ["one", "TWO", "three", "four"]
    dataset.refresh_from_db()
    assert dataset.example_count == 4
    version = dataset.versions.latest("as_of")
    assert (version.added, version.changed, version.removed) == (1, 1, 0)
    undo_upload(upload)
    assert answers(dataset) == ["one", "two", "three"]
    dataset.refresh_from_db()
    assert dataset.example_count == 3


def test_replace_takes_the_others_out(workspace: Workspace, dataset: Dataset) -> None:
    upload = stored(
        upload_of(workspace, rows(("3", "three"), ("9", "nine")), dataset, write="replace")
    )
    done = upload.options["stored"]
    assert (done["rows"], done["unchanged"], done["removed"]) == (1, 1, 2)
    assert answers(dataset) == ["three", "nine"]
    undo_upload(upload)
    assert sorted(answers(dataset)) == ["one", "three", "two"]


def test_undo_leaves_alone_what_others_did_since(workspace: Workspace, dataset: Dataset) -> None:
    upload = stored(upload_of(workspace, rows(("1", "ONE"), ("2", "TWO")), dataset, write="upsert"))
    delete_examples(dataset=dataset, uids=example_ids(dataset)[:1])
    undo_upload(upload)
    assert answers(dataset) == ["two", "three"]


@pytest.mark.parametrize("write", ["upsert", "replace"])
def test_one_bad_row_stops_the_whole_or_is_skipped(
    workspace: Workspace, dataset: Dataset, write: str
) -> None:
    data = rows(("1", "ONE"), ("1", "twice"), ("5", "five"))
    before = dataset.versions.count()
    failed = stored(upload_of(workspace, data, dataset, write=write))
    assert failed.state == Upload.State.FAILED
    assert failed.problems[0]["reason"] == "this id stands in an earlier line"
    assert answers(dataset) == ["one", "two", "three"]
    assert dataset.versions.count() == before
    stored(upload_of(workspace, data, dataset, write=write), policy="skip")
    expected = ["ONE", "two", "three", "five"] if write == "upsert" else ["ONE", "five"]
    assert answers(dataset) == expected


def test_an_id_of_another_dataset_is_never_touched(workspace: Workspace, dataset: Dataset) -> None:
    other = make_dataset(workspace)
    data = rows((str(example_ids(other)[0]), "stolen"))
    failed = stored(upload_of(workspace, data, dataset, write="upsert"))
    assert "in another dataset" in failed.problems[0]["reason"]


def test_upsert_needs_an_id(workspace: Workspace, dataset: Dataset) -> None:
    with pytest.raises(InvalidError, match="example id"):
        upload_of(workspace, b"question,answer\na,b\n", dataset, write="upsert")


def test_repeated_rows_are_counted_and_left_out_if_asked(workspace: Workspace) -> None:
    data = b"question,answer\na,b\na,b\na,c\n"
    counted = upload_of(workspace, data)
    check_upload(counted)
    assert counted.options["check"]["repeated"] == 1
    assert "count_repeated" not in Upload.objects.get(pk=counted.pk).options
    dataset = stored(counted).dataset
    assert dataset is not None
    assert answers(dataset) == ["b", "b", "c"]
    more = stored(upload_of(workspace, b"question,answer\na,c\nx,y\n", dataset, distinct=True))
    assert more.options["stored"]["repeated"] == 1
    assert answers(dataset) == ["b", "b", "c", "y"]


def test_values_inside_objects_can_be_picked(workspace: Workspace) -> None:
    data = b'{"log":{"user":{"text":"hi","n":12345678901234567890}},"answer":"x"}\n' * 2
    upload = upload_of(workspace, data)
    survey = survey_of(upload)
    assert ("log", "user", "text") in paths_in(survey)
    columns = [
        *(c for c in guess_columns(survey) if c.name != "log"),
        nested(("log", "user", "text")),
        nested(("log", "user", "n")),
    ]
    set_mapping(upload, columns)
    assert [column.name for column in mapped(upload).columns if column.path] == [
        "log.user.text",
        "log.user.n",
    ]
    upload = stored(upload)
    assert payloads(upload.dataset)[0][0] == '{"text":"hi","n":12345678901234567890}'


def test_a_mapping_is_kept_for_the_same_columns(
    workspace: Workspace, other_workspace: Workspace
) -> None:
    data = b"alpha,beta\na,b\n"
    first = upload_of(workspace, data)
    columns = [
        c.__class__(c.name, "output" if c.name == "beta" else "input", "k")
        for c in mapped(first).columns
    ]
    remember_mapping(workspace, columns)
    receiver = Receiver()
    receiver.write(b"beta,alpha\nb,a\n")
    again = create_upload(workspace=workspace, file=receiver.finish(), filename="again")
    assert {c.name: c.role for c in mapped(again).columns} == {"alpha": "input", "beta": "output"}
    receiver = Receiver()
    receiver.write(data)
    theirs = create_upload(workspace=other_workspace, file=receiver.finish(), filename="x")
    assert all(c.key != "k" for c in mapped(theirs).columns)
    assert SavedMapping.objects.count() == 1
