"""The job: the whole file into one version of a dataset, or nothing.

An advisory lock on the transaction that stores the rows says that somebody works on an upload. The
database lets go of it when the worker dies, together with all that was not finished.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction

from experiments.errors import ConflictError, InvalidError
from experiments.formats.rows import BrokenFile
from experiments.models import Dataset, DataType, Upload
from experiments.services.datasets import create_dataset
from experiments.services.example_rows import Writer
from experiments.services.uploading.columns import Role, unpack
from experiments.services.uploading.files import remove_file
from experiments.services.uploading.marks import is_results
from experiments.services.uploading.progress import Progress, Withdrawn
from experiments.services.uploading.reading import (
    MAX_PROBLEMS,
    ContentCheck,
    IdCheck,
    Problem,
    UploadReader,
)
from experiments.services.uploading.results import ResultWriter
from experiments.services.upserts import Upserter
from experiments.services.versions import Change, new_version

log = logging.getLogger(__name__)
UPLOAD_LOCK = 0x7570
AT_ONCE = 4
# Larger files are stored first; what searches look at follows in the background.
SEARCH_LATER_BYTES = 8_000_000
MAX_ATTEMPTS = 5
_slots = threading.BoundedSemaphore(AT_ONCE)


class Stopping(Exception):
    """The worker is being stopped; another one begins again."""


class GivenUp(Exception):
    """The worker died over this file again and again."""


class BadRows(Exception):
    """There are rows that cannot be stored, and the person wants all or nothing."""


@dataclass
class Stored:
    """What has been stored so far."""

    rows: int = 0
    skipped: int = 0
    blank: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    repeated: int = 0
    experiment: str = ""
    as_of: datetime | None = None
    dataset: Dataset | None = None


def store_upload(upload_id: int, stopping: threading.Event) -> None:
    """Store a queued upload; does nothing if another worker is at it or it was withdrawn."""
    # Each upload takes two connections; waiting for the second must not block the others.
    if not _slots.acquire(blocking=False):
        return
    try:
        waiting = [Upload.State.QUEUED, Upload.State.RUNNING]
        rows = Upload.objects.select_related("workspace", "dataset", "author")
        upload = rows.filter(pk=upload_id, state__in=waiting).first()
        if upload is not None:
            _attempt(upload, stopping)
    finally:
        _slots.release()


def _attempt(upload: Upload, stopping: threading.Event) -> None:
    problems: list[Problem] = []
    try:
        with transaction.atomic():
            if not _lock(upload):
                return
            if upload.options.get("attempts", 0) >= MAX_ATTEMPTS:
                raise GivenUp
            _store(upload, stopping, problems)
    except Withdrawn:
        return
    except Stopping:
        _requeue(upload)
    except GivenUp:
        _fail(upload, f"The worker died {MAX_ATTEMPTS} times over this file.", problems)
    except BadRows:
        _fail(upload, "Some rows cannot be stored, so nothing was stored.", problems)
    except BrokenFile as error:
        _fail(upload, f"The file cannot be read to its end: {error}", problems)
    except (ConflictError, InvalidError) as error:
        _fail(upload, getattr(error, "message", str(error)), problems)
    except IntegrityError:
        _fail(upload, "Another write took one of these ids meanwhile. Please start again.", [])
    except FileNotFoundError:
        _fail(upload, "The uploaded file is gone. Please upload it again.", [])
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        log.exception("Upload %s cannot be stored", upload.uid)
        _fail(upload, f"Nothing was stored: {type(error).__name__}.", problems)
    else:
        remove_file(upload)


def _lock(upload: Upload) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [UPLOAD_LOCK, upload.pk])
        return bool(cursor.fetchone()[0])


def locked_uploads() -> set[int]:
    """The uploads that some worker is storing at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND classid = %s AND objsubid = 2"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [UPLOAD_LOCK],
        )
        return {row[0] for row in cursor.fetchall()}


def _store(upload: Upload, stopping: threading.Event, problems: list[Problem]) -> None:
    with Progress(upload) as progress:
        if is_results(upload):
            stored = _store_results(upload, progress, stopping, problems)
            _complete(upload, stored, problems)
            return
        stored = Stored(dataset=upload.dataset or _new_dataset(upload))
        assert stored.dataset is not None
        note = f"Upload of {upload.filename}"
        with new_version(stored.dataset, author=upload.author, note=note) as change:
            _insert(upload, change, stored, progress, stopping, problems)
        touched = change.added or change.changed or change.removed
        stored.as_of = change.moment if touched else None
    _complete(upload, stored, problems)


def _new_dataset(upload: Upload) -> Dataset:
    return create_dataset(
        workspace=upload.workspace,
        name=upload.dataset_name,
        uid=upload.uid,
        data_type=upload.options.get("data_type", DataType.KV),
    )


def _insert(
    upload: Upload,
    change: Change,
    stored: Stored,
    progress: Progress,
    stopping: threading.Event,
    problems: list[Problem],
) -> None:
    stop = upload.options.get("policy") != "skip"
    ids, contents = IdCheck(upload, change.moment), ContentCheck(upload)
    with Writer() as writer, UploadReader(upload) as reader:
        progress.advance(0, 0)
        target = _target(upload, stored.dataset, change, writer)
        for chunk in reader.chunks():
            writer.wait()
            ids.sift(chunk)
            stored.repeated += contents.sift(chunk)
            problems += chunk.problems[: MAX_PROBLEMS - len(problems)]
            if chunk.problems and stop:
                raise BadRows
            target.write(chunk.examples)
            stored.skipped += len(chunk.problems)
            progress.advance(reader.source.bytes_read(), change.added + change.changed)
            if stopping.is_set():
                raise Stopping
        writer.wait()
        if upload.options.get("write") == "replace":
            target.end_the_others()
        stored.blank = reader.source.blank
    stored.rows, stored.changed, stored.removed = change.added, change.changed, change.removed
    stored.unchanged = len(target.unchanged)


def _store_results(
    upload: Upload, progress: Progress, stopping: threading.Event, problems: list[Problem]
) -> Stored:
    stop, stored = upload.options.get("policy") != "skip", Stored(dataset=upload.dataset)
    writer = ResultWriter.begin(upload)
    with UploadReader(upload) as reader:
        progress.advance(0, 0)
        for chunk in reader.chunks():
            writer.write(chunk)
            problems += chunk.problems[: MAX_PROBLEMS - len(problems)]
            if chunk.problems and stop:
                raise BadRows
            stored.skipped += len(chunk.problems)
            progress.advance(reader.source.bytes_read(), writer.runs)
            if stopping.is_set():
                raise Stopping
        stored.blank = reader.source.blank
    writer.finish()
    stored.rows, stored.experiment = writer.runs, str(writer.experiment.uid)
    return stored


def _target(upload: Upload, dataset: Dataset | None, change: Change, writer: Writer) -> Upserter:
    assert dataset is not None
    roles = {column.role for column in unpack(upload.mapping)}
    return Upserter(
        dataset,
        change,
        writer if upload.size > SEARCH_LATER_BYTES else None,
        keeps_metadata=Role.METADATA not in roles,
        by_id=upload.options.get("write", "append") != "append",
    )


def _complete(upload: Upload, stored: Stored, problems: list[Problem]) -> None:
    """Say so in the very transaction that stores the rows."""
    upload.options["stored"] = {
        "rows": stored.rows,
        "changed": stored.changed,
        "unchanged": stored.unchanged,
        "removed": stored.removed,
        "repeated": stored.repeated,
        "experiment": stored.experiment,
        "skipped": stored.skipped,
        "blank": stored.blank,
        "as_of": stored.as_of.isoformat() if stored.as_of else "",
    }
    found = Upload.objects.filter(pk=upload.pk, state=Upload.State.RUNNING).update(
        state=Upload.State.COMPLETE,
        dataset=stored.dataset,
        options=upload.options,
        problems=[problem.stored() for problem in problems],
        bytes_done=upload.size,
        rows_done=stored.rows + stored.changed,
        error="",
    )
    if not found:
        raise Withdrawn


def _requeue(upload: Upload) -> None:
    Upload.objects.filter(pk=upload.pk, state=Upload.State.RUNNING).update(
        state=Upload.State.QUEUED, options=upload.options | {"attempts": 0}
    )


def _fail(upload: Upload, error: str, problems: list[Problem]) -> None:
    Upload.objects.filter(pk=upload.pk, state=Upload.State.RUNNING).update(
        state=Upload.State.FAILED,
        error=error,
        problems=[problem.stored() for problem in problems],
    )
