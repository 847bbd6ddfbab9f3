"""Files of examples, or of what a system answered, stored in the background."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.db import transaction
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.formats.encodings import LABELS
from experiments.formats.layouts import TEXT_FORMATS
from experiments.formats.workbooks import sheet_names
from experiments.models import DataType, Upload
from experiments.services.uploading.columns import Column, mapping_problems
from experiments.services.uploading.files import ReceivedFile, Receiver, path_of
from experiments.services.uploading.marks import is_results
from experiments.services.uploading.previewing import Mapped, mapped
from experiments.services.uploading.reading import layout_of
from experiments.services.uploads import (
    create_upload,
    discard_upload,
    queue_upload,
    set_layout,
    set_mapping,
    target_problem,
)
from experiments.tasks import start_upload
from tiebreak import access
from tiebreak.api.comparisons import named_as_sent
from tiebreak.api.multipart import Part, request_parts
from tiebreak.api.reading import to_bool, workspace_of
from tiebreak.api.shapes import Shape

BLOCK = 256 * 1024
# How a file is read: guessed from what is in it, unless the fields say otherwise.
AS_TOLD = ("format", "encoding", "delimiter", "quote", "sheet")


@api_view(["POST"])
def uploads(request: Request) -> Response:
    """One request: the file, where its rows go, and what becomes of its columns (else guessed).

    `dataset` is the id of a dataset, `dataset_name` that of a new one, `data_type` its type; with
    `experiment` the rows are what a system answered to the dataset. Answers 202;
    `GET uploads/{id}` tells how it goes.
    """
    workspace = workspace_of(request)
    fields, file, filename = _form(request)
    uid = fields.get("dataset")
    upload = create_upload(
        workspace=workspace,
        file=file,
        filename=filename,
        dataset=access.dataset(workspace, uid) if uid else None,
        dataset_name=fields.get("dataset_name", ""),
        experiment=fields.get("experiment", ""),
        data_type=fields.get("data_type") or DataType.KV,
    )
    try:
        _start(upload, fields)
    except BaseException:
        discard_upload(upload)
        raise
    return Response(_shape(upload), status=202)


def _start(upload: Upload, fields: dict[str, str]) -> None:
    problem = target_problem(upload)
    if problem:
        raise InvalidError("dataset_name", problem)
    _read_as_told(upload, fields)
    found = mapped(upload)
    columns = _columns(fields["mapping"], found) if fields.get("mapping") else found.columns
    results = is_results(upload)
    problems = mapping_problems(columns, is_json=found.survey.is_json, results=results)
    for number, text in problems.items():
        name = "mapping" if number < 0 else f"mapping.{columns[number].name}"
        raise InvalidError(name, text)
    set_mapping(
        upload,
        columns,
        write=fields.get("write", "append"),
        distinct=to_bool("distinct", fields.get("distinct", "false")),
    )
    with transaction.atomic():
        start_upload(queue_upload(upload, policy=fields.get("policy", "stop")))


def _read_as_told(upload: Upload, fields: dict[str, str]) -> None:
    """Read the file otherwise than guessed, where the fields say so."""
    given: dict[str, Any] = {name: fields[name] for name in AS_TOLD if fields.get(name)}
    if not given:
        return
    guessed = layout_of(upload)
    allowed = {
        "format": [name for name, _ in TEXT_FORMATS] if guessed.is_text else [guessed.format],
        "encoding": list(LABELS),
        "sheet": sheet_names(path_of(upload)) if guessed.format == "workbook" else [],
    }
    for name, known in allowed.items():
        if name in given and given[name] not in known:
            raise InvalidError(
                name, f"must be one of {', '.join(known) or 'none: it has no sheets'}"
            )
    with named_as_sent({"layout": "delimiter"}):
        set_layout(upload, replace(guessed, **given))


def _columns(text: str, found: Mapped) -> list[Column]:
    """The mapping as sent, such as `[{"name": "q", "role": "input", "key": "question"}]`."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InvalidError("mapping", "must be JSON") from error
    if not isinstance(given, list):
        raise InvalidError("mapping", "must be a list of columns")
    return [_column(number, item, found) for number, item in enumerate(given)]


def _column(number: int, item: Any, found: Mapped) -> Column:
    if not isinstance(item, dict) or not isinstance(item.get("role"), str):
        raise InvalidError(f"mapping.{number}", "must be an object with name (or path) and role")
    path = item.get("path") or []
    if not isinstance(path, list) or not all(isinstance(step, str) for step in path):
        raise InvalidError(f"mapping.{number}.path", "must be a list of texts")
    name = ".".join(path) if path else item.get("name")
    if (path[0] if path else name) not in found.survey.columns:
        known = ", ".join(found.survey.columns[:20])
        raise InvalidError(f"mapping.{number}.name", f"must be a column of the file: {known}")
    key = item.get("key", path[-1] if path else name)
    if not isinstance(key, str) or not isinstance(item.get("parse", False), bool):
        raise InvalidError(f"mapping.{number}", "key must be a text, parse true or false")
    return Column(str(name), item["role"], key, item.get("parse", False), tuple(path))


def _form(request: Request) -> tuple[dict[str, str], ReceivedFile, str]:
    fields: dict[str, str] = {}
    received: tuple[ReceivedFile, str] | None = None
    for part in request_parts(request._request):
        if part.name == "file":
            received = _receive(part), part.filename or "file"
        else:
            fields[part.name] = part.read().decode("utf-8", "replace")
    if received is None:
        raise InvalidError("file", "is needed")
    return fields, *received


def _receive(part: Part) -> ReceivedFile:
    receiver = Receiver()
    for block in part.blocks(BLOCK):
        receiver.write(block)
    return receiver.finish()


@api_view(["GET", "DELETE"])
def upload(request: Request, uid: str) -> Response:
    """How far an upload is and what it came to; deleting one stops it and forgets its file."""
    found = access.upload(workspace_of(request), uid)
    if request.method == "DELETE":
        discard_upload(found)
        return Response(status=204)
    return Response(_shape(found))


def _shape(upload: Upload) -> Shape:
    upload.refresh_from_db()
    stored = upload.options.get("stored", {})
    return {
        "id": upload.uid,
        "state": upload.state,
        "filename": upload.filename,
        "format": upload.format,
        "layout": {name: upload.options.get(name) for name in AS_TOLD if name in upload.options},
        "dataset_id": upload.dataset.uid if upload.dataset else None,
        "experiment_id": stored.get("experiment") or None,
        "rows_done": upload.rows_done,
        "bytes_done": upload.bytes_done,
        "size": upload.size,
        "stored": {key: value for key, value in stored.items() if key != "experiment"} or None,
        "problems": upload.problems,
        "error": upload.error or None,
    }
