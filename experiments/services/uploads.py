"""Uploads: a file comes in, its columns are mapped, it is checked, and a job stores it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import PurePath
from typing import Any

from django.db import transaction
from django.utils import timezone

from experiments.errors import ConflictError, InvalidError
from experiments.formats.layouts import Layout, guess_layout
from experiments.formats.recognition import ACCEPTED, HEAD_BYTES, really, table_format
from experiments.formats.surveys import survey
from experiments.models import MAX_NAME, Dataset, DataType, Experiment, Upload
from experiments.rawjson import storable
from experiments.services.datasets import check_data_type, clean_name
from experiments.services.uploading.checking import check_file
from experiments.services.uploading.columns import Column, Role, guess_columns, pack, unpack
from experiments.services.uploading.files import (
    ReceivedFile,
    path_of,
    remove_file,
    remove_orphans,
)
from experiments.services.uploading.previewing import survey_of
from experiments.services.uploading.storing import locked_uploads
from experiments.services.uploading.unpacking import unpacked
from tiebreak.accounts.models import User, Workspace

OPEN = (Upload.State.MAPPING, Upload.State.FAILED)
POLICIES = ("stop", "skip")
WRITES = ("append", "upsert", "replace")
KEPT_FOR = timedelta(days=7)
HINT_SECONDS = 10


def create_upload(
    *,
    workspace: Workspace,
    file: ReceivedFile,
    filename: str,
    dataset: Dataset | None = None,
    dataset_name: str = "",
    author: User | None = None,
    experiment: str = "",
    data_type: str = DataType.KV,
) -> Upload:
    """Take a received file as an upload; one that cannot be read is refused and deleted.

    With the name of an `experiment` the rows are what a system answered to the dataset's examples.
    `data_type` is that of a new dataset.
    """
    try:
        aim = {"data_type": check_data_type(data_type)}
        if experiment:
            aim["experiment"] = check_experiment(workspace, dataset, experiment)
        file, inner = unpacked(file, filename)
        layout = _recognise(file)
        name = "" if dataset else dataset_name.strip() or free_name(workspace, stem(inner))
        return Upload.objects.create(
            workspace=workspace,
            dataset=dataset,
            dataset_name=storable(name)[:MAX_NAME],
            author=author,
            filename=storable(filename)[:255],
            path=file.path,
            size=file.size,
            format=layout.format,
            options=layout.options() | aim,
        )
    except BaseException:
        remove_file(file)
        raise


def stem(filename: str) -> str:
    """A file's name without folders and ending, as the name of a dataset."""
    return storable(PurePath(filename.replace("\\", "/")).stem).strip()[:200]


def free_name(workspace: Workspace, name: str) -> str:
    """The name, with a number behind it when it is taken."""
    taken = set(
        Dataset.objects.filter(workspace=workspace, name__startswith=name).values_list(
            "name", flat=True
        )
    )
    name, number = name or "uploaded rows", 2
    if name not in taken:
        return name
    while f"{name} {number}" in taken:
        number += 1
    return f"{name} {number}"


def target_problem(upload: Upload) -> str:
    """Why the rows cannot go where they should; empty when they can."""
    if upload.dataset is not None:
        return ""
    try:
        check_new_name(upload.workspace, upload.dataset_name)
    except InvalidError as error:
        return error.message
    return ""


def check_new_name(workspace: Workspace, name: str) -> str:
    """A name for a new dataset, or an error at the field."""
    name = clean_name("dataset_name", name)
    if Dataset.objects.filter(workspace=workspace, name=name).exists():
        raise InvalidError("dataset_name", f"A dataset named “{name}” exists already.")
    return name


def check_experiment(workspace: Workspace, dataset: Dataset | None, name: str) -> str:
    """The name of an experiment to be made, or an error at the field."""
    if dataset is None:
        raise InvalidError("dataset", "Results belong to a dataset that exists.")
    name = clean_name("experiment", name)
    if Experiment.objects.filter(workspace=workspace, name=name).exists():
        raise InvalidError("experiment", f"An experiment named “{name}” exists already.")
    return name


def _recognise(file: ReceivedFile) -> Layout:
    """How the file is laid out; InvalidError says what it is when we cannot read it."""
    path = path_of(file)
    with path.open("rb") as opened:
        head = opened.read(HEAD_BYTES)
    if not head.strip():
        raise InvalidError("file", "The file is empty.")
    kind = really(head)
    if kind is not None and table_format(head) is None:
        raise InvalidError("file", f"This is {kind}, whatever its name says. {ACCEPTED}")
    layout = guess_layout(path, is_utf8=file.is_utf8)
    found = survey(path, layout)
    if found.broken and not layout.is_text:
        raise InvalidError("file", found.broken)
    if not found.broken and not found.rows and not found.bad:
        if found.columns:
            names = ", ".join(found.columns[:5])
            raise InvalidError("file", f"The file has a header ({names}) but no rows.")
        raise InvalidError("file", "The file holds no rows.")
    return layout


def _save(upload: Upload, **changes: Any) -> Upload:
    """Change an upload that is not being stored; a failed one becomes a waiting one again."""
    changes["state"] = Upload.State.MAPPING
    changes["error"] = ""
    if not Upload.objects.filter(pk=upload.pk, state__in=OPEN).update(**changes):
        raise ConflictError("This upload is being stored or is done; it cannot be changed.")
    upload.refresh_from_db()
    return upload


def _unchecked(upload: Upload) -> dict[str, Any]:
    return {key: value for key, value in upload.options.items() if key != "check"}


def set_target(
    upload: Upload,
    *,
    dataset: Dataset | None,
    dataset_name: str = "",
    experiment: str = "",
    data_type: str = DataType.KV,
) -> Upload:
    """Say where the rows go: into a dataset, a new one of this name, or an experiment."""
    name = "" if dataset else check_new_name(upload.workspace, dataset_name)
    if experiment:
        experiment = check_experiment(upload.workspace, dataset, experiment)
    aim = {"experiment": experiment, "data_type": check_data_type(data_type)}
    options = _unchecked(upload) | aim
    return _save(upload, dataset=dataset, dataset_name=name, options=options)


def set_layout(upload: Upload, layout: Layout) -> Upload:
    """Read the file differently; roles stay with the columns that keep their names."""
    problem = layout.problem()
    if problem:
        raise InvalidError("layout", problem)
    options = _unchecked(upload) | layout.options()
    _save(upload, format=layout.format, options=options)
    if upload.mapping:
        columns = guess_columns(survey_of(upload), unpack(upload.mapping))
        _save(upload, mapping=pack(columns))
    return upload


def set_mapping(
    upload: Upload,
    columns: Sequence[Column],
    *,
    write: str = "append",
    distinct: bool = False,
) -> Upload:
    """Keep what becomes of each column, and what the rows do to those that are there.

    They are added (`append`), change those of the same id (`upsert`), or take the place of all
    (`replace`). `distinct` leaves out rows that say what another says.
    """
    if write not in WRITES:
        raise InvalidError("write", f"must be one of {', '.join(WRITES)}")
    if write == "upsert" and all(column.role != Role.ID for column in columns):
        raise InvalidError("write", "Choose the column that is the example id.")
    options = _unchecked(upload) | {"write": write, "distinct": distinct}
    return _save(upload, mapping=pack(columns), options=options, problems=[])


def check_upload(upload: Upload) -> Upload:
    """Read the file by its mapping and keep what was found."""
    report, problems = check_file(upload)
    return _save(upload, options=upload.options | {"check": report.stored()}, problems=problems)


@transaction.atomic
def queue_upload(upload: Upload, *, policy: str) -> Upload:
    """Queue the job: bad rows are skipped, or they stop the whole."""
    if policy not in POLICIES:
        raise InvalidError("policy", "Choose what happens to bad rows.")
    if upload.dataset is None:
        check_new_name(upload.workspace, upload.dataset_name)
    options = upload.options | {"policy": policy, "attempts": 0}
    _save(upload, options=options)
    Upload.objects.filter(pk=upload.pk).update(
        state=Upload.State.QUEUED, heartbeat_at=timezone.now(), bytes_done=0, rows_done=0
    )
    upload.refresh_from_db()
    return upload


def withdraw_upload(upload: Upload) -> None:
    """Stop storing; what was stored so far is undone, and the mapping stays."""
    running = [Upload.State.QUEUED, Upload.State.RUNNING]
    Upload.objects.filter(pk=upload.pk, state__in=running).update(state=Upload.State.MAPPING)


def discard_upload(upload: Upload) -> None:
    """Forget an upload with its file; what it has stored stays."""
    Upload.objects.filter(pk=upload.pk).delete()
    remove_file(upload)


def forgotten_uploads() -> list[int]:
    """The uploads that nobody is storing though they should be; old leftovers are cleared."""
    remove_orphans()
    late = timezone.now() - timedelta(seconds=HINT_SECONDS)
    for upload in Upload.objects.filter(state__in=OPEN, created_at__lt=timezone.now() - KEPT_FOR):
        discard_upload(upload)
    waiting = Upload.objects.filter(state=Upload.State.QUEUED, heartbeat_at__lt=late)
    running = set(Upload.objects.filter(state=Upload.State.RUNNING).values_list("pk", flat=True))
    dead = running - locked_uploads() if running else set()
    return sorted({*waiting.values_list("pk", flat=True), *dead})
