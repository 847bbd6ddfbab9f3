"""Datasets from a CSV file, and as lines for fine-tuning."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments import rawjson
from experiments.errors import InvalidError
from experiments.models import DataType
from experiments.queries.examples import example_revisions
from experiments.services.datasets import create_dataset
from experiments.services.examples import NewExample, add_examples
from tiebreak import access
from tiebreak.api.multipart import Part, request_parts
from tiebreak.api.reading import to_uuid, workspace_of
from tiebreak.api.shapes import dataset_shape

LIST_FIELDS = ("input_keys", "output_keys", "metadata_keys")


@api_view(["POST"])
def upload(request: Request) -> Response:
    """A CSV file with the names of its input and output columns; values stay texts."""
    workspace = workspace_of(request)
    fields, file = _form(request)
    if file is None:
        raise InvalidError("file", "is needed")
    examples = list(_examples(file.read(), fields))
    uid = fields.get("id")
    with transaction.atomic():
        dataset = create_dataset(
            workspace=workspace,
            name=fields.get("name") or file.filename or "",
            uid=to_uuid("id", uid) if uid else None,
            description=fields.get("description"),
            data_type=fields.get("data_type") or DataType.KV,
        )
        if examples:
            add_examples(dataset=dataset, examples=examples, note=file.filename or "")
    return Response(dataset_shape(dataset, workspace), status=201)


def _form(request: Request) -> tuple[dict[str, Any], Part | None]:
    fields: dict[str, Any] = {name: [] for name in LIST_FIELDS}
    file = None
    for part in request_parts(request._request):
        if part.name == "file":
            file = part
            continue
        value = part.read().decode("utf-8", "replace")
        if part.name in LIST_FIELDS:
            fields[part.name].append(value)
        else:
            fields[part.name] = value
    return fields, file


def _examples(data: bytes, fields: dict[str, Any]) -> Iterator[NewExample]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidError("file", f"is not UTF-8 at byte {error.start}") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    header = reader.fieldnames or []
    for key in (*fields["input_keys"], *fields["output_keys"], *fields["metadata_keys"]):
        if key not in header:
            raise InvalidError("file", f"has no column {key!r}")
    try:
        for row in reader:
            yield _example(row, reader.line_num, len(header), fields)
    except csv.Error as error:
        raise InvalidError("file", f"line {reader.line_num}: {error}") from error


def _example(
    row: dict[str | Any, Any], line: int, width: int, fields: dict[str, Any]
) -> NewExample:
    if None in row or any(value is None for value in row.values()):
        raise InvalidError("file", f"line {line} does not have {width} cells")
    inputs, outputs, metadata = (
        rawjson.dumps({key: row[key] for key in fields[name]}) for name in LIST_FIELDS
    )
    return NewExample(
        inputs=inputs,
        outputs=outputs if fields["output_keys"] else None,
        metadata=metadata if fields["metadata_keys"] else None,
    )


@api_view(["GET"])
def openai_finetuning(request: Request, uid: str) -> HttpResponse:
    """One line of chat messages per example of a chat dataset."""
    workspace = workspace_of(request)
    dataset = access.dataset(workspace, uid)
    rows = example_revisions(workspace, dataset=dataset).order_by("example_id")
    lines = []
    for row in rows:
        inputs = rawjson.loads_exact(row.payload.inputs)
        outputs = rawjson.loads_exact(row.payload.outputs or "{}")
        lines.append(rawjson.dumps(_conversation(inputs, outputs)))
    return HttpResponse("\n".join(lines), content_type="application/x-ndjson")


def _conversation(inputs: Any, outputs: Any) -> dict[str, Any]:
    messages = _messages(inputs, "user") + _messages(outputs, "assistant")
    conversation: dict[str, Any] = {"messages": messages}
    for key in ("functions", "tools"):
        if isinstance(inputs, dict) and key in inputs:
            conversation[key] = inputs[key]
    return conversation


_ROLES = {"human": "user", "ai": "assistant"}


def _messages(value: Any, role: str) -> list[Any]:
    if not isinstance(value, dict):
        return []
    found = value.get("messages", value.get("input", value.get("output")))
    if found is None:
        return [{"role": role, "content": str(next(iter(value.values()), ""))}]
    if isinstance(found, str):
        return [{"role": role, "content": found}]
    return [_message(item, role) for item in (found if isinstance(found, list) else [found])]


def _message(item: Any, role: str) -> Any:
    """A message as stored by older clients, `{"type": …, "data": {"content": …}}`, or as it is."""
    if isinstance(item, dict) and isinstance(item.get("data"), dict):
        kind = str(item.get("type", role))
        data = {k: v for k, v in item["data"].items() if k in ("content", "name")}
        return {"role": _ROLES.get(kind, kind), **data}
    return item if isinstance(item, dict) else {"role": role, "content": str(item)}
