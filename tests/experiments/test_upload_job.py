"""The job that stores an upload, in real workers: all or nothing, and never for ever nothing."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from django.conf import settings

from experiments.models import Dataset, Example, ExampleRevision, Experiment, Run, Upload
from experiments.rawjson import loads
from experiments.services.uploading.columns import guess_columns
from experiments.services.uploading.files import Receiver, path_of
from experiments.services.uploading.previewing import survey_of
from experiments.services.uploading.storing import locked_uploads
from experiments.services.uploads import (
    create_upload,
    discard_upload,
    forgotten_uploads,
    queue_upload,
    set_mapping,
    withdraw_upload,
)
from experiments.tasks import hint, store
from tests.engine.processes import Worker, eventually
from tests.factories import make_dataset
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def table(rows: int) -> bytes:
    """A numbered CSV table."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["n", "question", "answer"])
    for n in range(1, rows + 1):
        writer.writerow([n, f"Row {n}: what is {n} times 7? {'filler ' * 20}", n * 7])
    return text.getvalue().encode()


def queued(
    workspace: Workspace,
    data: bytes,
    dataset: Dataset | None = None,
    *,
    write: str = "append",
    experiment: str = "",
) -> Upload:
    receiver = Receiver()
    receiver.write(data)
    upload = create_upload(
        workspace=workspace,
        file=receiver.finish(),
        filename="rows.csv",
        dataset=dataset,
        experiment=experiment,
    )
    set_mapping(upload, guess_columns(survey_of(upload)), write=write)
    return queue_upload(upload, policy="stop")


def ended(upload: Upload) -> bool:
    upload.refresh_from_db()
    return upload.state in (Upload.State.COMPLETE, Upload.State.FAILED)


def begun(upload: Upload) -> bool:
    upload.refresh_from_db()
    return upload.rows_done > 0


def test_a_worker_stores_the_rows_in_the_order_of_the_file(
    workspace: Workspace, tmp_path: Path
) -> None:
    upload = queued(workspace, table(5_000))
    with Worker(log=tmp_path / "log"):
        hint(store, upload.pk)
        eventually(lambda: ended(upload), 40, "stored")
    assert upload.state == Upload.State.COMPLETE, upload.error
    rows = ExampleRevision.objects.filter(dataset=upload.dataset).order_by("example_id")
    metadata = rows.values_list("payload__metadata", flat=True)
    assert [loads(text or "")["n"] for text in metadata] == [str(n) for n in range(1, 5_001)]
    assert upload.dataset is not None
    assert upload.dataset.example_count == 5_000
    assert upload.dataset.versions.get().added == 5_000
    assert not path_of(upload).exists()


def test_a_killed_worker_leaves_nothing_and_another_stores_all(
    workspace: Workspace, tmp_path: Path
) -> None:
    dataset = make_dataset(workspace)
    upload = queued(workspace, table(40_000), dataset)
    with Worker(log=tmp_path / "one") as first:
        hint(store, upload.pk)
        eventually(lambda: begun(upload), 30, "the first rows seen from outside")
        assert upload.state == Upload.State.RUNNING
        assert 0 < upload.bytes_done < upload.size
        assert forgotten_uploads() == []
        assert Example.objects.filter(dataset=dataset).count() == 3
        first.kill()
    upload.refresh_from_db()
    assert upload.state == Upload.State.RUNNING
    assert Example.objects.filter(dataset=dataset).count() == 3
    assert dataset.versions.count() == 1
    with Worker(name="second", log=tmp_path / "two"):
        eventually(lambda: ended(upload), 90, "stored by the second worker")
    assert upload.state == Upload.State.COMPLETE, upload.error
    dataset.refresh_from_db()
    assert dataset.example_count == 40_003
    assert Example.objects.filter(dataset=dataset).count() == 40_003
    assert dataset.versions.count() == 2


@pytest.mark.parametrize("write", ["upsert", "replace"])
def test_a_killed_worker_changes_and_removes_nothing(
    workspace: Workspace, tmp_path: Path, write: str
) -> None:
    dataset = make_dataset(workspace)
    first = stored_rows(queued(workspace, identified(2_000), dataset), tmp_path)
    upload = queued(workspace, identified(40_000, answer="new"), dataset, write=write)
    with Worker(log=tmp_path / "one") as doomed:
        hint(store, upload.pk)
        eventually(lambda: begun(upload), 60, "the first rows seen from outside")
        doomed.kill()
    assert stored(dataset) == first
    with Worker(name="second", log=tmp_path / "two"):
        eventually(lambda: ended(upload), 120, "stored by the second worker")
    assert upload.state == Upload.State.COMPLETE, upload.error
    dataset.refresh_from_db()
    assert dataset.example_count == (40_003 if write == "upsert" else 40_000)
    assert dataset.versions.count() == 3


def test_a_killed_worker_leaves_no_half_experiment(workspace: Workspace, tmp_path: Path) -> None:
    dataset = make_dataset(workspace)
    stored_rows(queued(workspace, identified(8_000), dataset), tmp_path)
    upload = queued(workspace, identified(8_000), dataset, experiment="theirs")
    with Worker(log=tmp_path / "one") as doomed:
        hint(store, upload.pk)
        eventually(lambda: begun(upload), 60, "the first rows seen from outside")
        doomed.kill()
    assert not Experiment.objects.filter(name="theirs").exists()
    assert not Run.objects.exists()
    with Worker(name="second", log=tmp_path / "two"):
        eventually(lambda: ended(upload), 120, "stored by the second worker")
    assert upload.state == Upload.State.COMPLETE, upload.error
    assert Run.objects.filter(experiment__name="theirs").count() == 8_000


def identified(rows: int, answer: str = "old") -> bytes:
    filler = "filler " * 20
    lines = (f"{n},What is {n}? {filler},{answer}" for n in range(rows))
    return "\n".join(["id,question,answer", *lines]).encode()


def stored_rows(upload: Upload, folder: Path) -> int:
    with Worker(log=folder / "before"):
        hint(store, upload.pk)
        eventually(lambda: ended(upload), 60, "stored")
    assert upload.dataset is not None
    return stored(upload.dataset)


def stored(dataset: Dataset) -> int:
    rows = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
    return rows.count()


def test_it_stops_when_it_is_withdrawn(workspace: Workspace, tmp_path: Path) -> None:
    upload = queued(workspace, table(40_000))
    with Worker(log=tmp_path / "log"):
        hint(store, upload.pk)
        eventually(lambda: begun(upload), 30, "the first rows")
        withdraw_upload(upload)
        eventually(lambda: not locked_uploads(), 20, "the job has ended")
        upload.refresh_from_db()
        assert upload.state == Upload.State.MAPPING
        assert not Dataset.objects.exists()
        assert path_of(upload).exists()
        discard_upload(upload)


def test_a_lost_message_is_made_good_by_the_sweep(workspace: Workspace, tmp_path: Path) -> None:
    upload = queued(workspace, table(10))
    with Worker(log=tmp_path / "log"):
        eventually(lambda: ended(upload), 40, "found by the sweep")
    assert upload.state == Upload.State.COMPLETE


def test_a_broken_file_stores_nothing(workspace: Workspace, tmp_path: Path) -> None:
    data = table(3_000) + b'x,"never closed,y\n'
    upload = queued(workspace, data)
    with Worker(log=tmp_path / "log"):
        hint(store, upload.pk)
        eventually(lambda: ended(upload), 40, "refused")
    assert upload.state == Upload.State.FAILED
    assert "line 3,002: a quotation mark opens in this row" in upload.error
    assert not Dataset.objects.exists()
    assert not Example.objects.exists()


def test_a_missing_file_is_said(workspace: Workspace, tmp_path: Path) -> None:
    upload = queued(workspace, table(10))
    (Path(settings.FILES_PATH) / upload.path).unlink()
    with Worker(log=tmp_path / "log"):
        hint(store, upload.pk)
        eventually(lambda: ended(upload), 40, "refused")
    assert "upload it again" in upload.error


def _peak_megabytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024  # type: ignore[index]


@pytest.mark.slow
def test_120000_rows_keep_their_order_and_the_worker_its_size(
    workspace: Workspace, tmp_path: Path
) -> None:
    small = queued(workspace, table(2_000), make_dataset(workspace))
    large = queued(workspace, table(120_000))
    with Worker(log=tmp_path / "log") as worker:
        hint(store, small.pk)
        eventually(lambda: ended(small), 60, "the small file is stored")
        before = _peak_megabytes(worker.process.pid)
        hint(store, large.pk)
        eventually(lambda: ended(large), 240, "the large file is stored")
        grown = _peak_megabytes(worker.process.pid) - before
    assert large.state == Upload.State.COMPLETE, large.error
    rows = ExampleRevision.objects.filter(dataset=large.dataset).order_by("example_id")
    texts = rows.values_list("payload__metadata", flat=True).iterator()
    assert all(text == f'{{"n":"{n}"}}' for n, text in zip(range(1, 120_001), texts, strict=True))
    assert grown < 40
