"""Rows of examples as COPY takes them: texts made here once, nothing formatted value by value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Model

from experiments.copying import NULL, copy_text, escaped
from experiments.models import Dataset, Example, ExamplePayload, ExampleRevision
from experiments.rawjson import dumps, loads_exact, storable_value

Block = tuple[type[Model], Sequence[str], str]
# Key, example, inputs, outputs, metadata, splits, and the text for searches (None: made later).
RevisionRow = tuple[int, int, str, str | None, str | None, Sequence[str], str | None]
EXAMPLE = ("id", "workspace_id", "uid", "created_at", "dataset_id", "source_run_uid")
REVISION = ("id", "example_id", "dataset_id", "valid_from", "splits", "metadata", "search")
PAYLOAD = ("revision_id", "inputs", "outputs", "metadata")
_NOT_PLAIN = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def example_block(
    dataset: Dataset,
    moment: datetime,
    rows: Iterable[tuple[int, UUID, datetime | None, UUID | None]],
) -> Block:
    """The identities: key, id, when it was made, the run it came from."""
    now = moment.isoformat()
    place = f"\t{dataset.workspace_id}\t"
    lines = [
        f"{pk}{place}{uid}\t{made.isoformat() if made else now}\t{dataset.pk}\t{run or NULL}\n"
        for pk, uid, made, run in rows
    ]
    return Example, EXAMPLE, "".join(lines)


def revision_blocks(dataset: Dataset, moment: datetime, rows: Iterable[RevisionRow]) -> list[Block]:
    """The revisions with their payloads."""
    since = f"\t{dataset.pk}\t{moment.isoformat()}\t"
    revisions: list[str] = []
    payloads: list[str] = []
    arrays: dict[tuple[str, ...], str] = {}
    for pk, example, inputs, outputs, metadata, splits, search in rows:
        names = tuple(splits)
        array = arrays.get(names)
        if array is None:
            array = arrays[names] = escaped(_array(names))
        given = NULL if metadata is None else escaped(metadata)
        plain = "{}" if metadata is None else _searchable(metadata, given)
        looked_up = NULL if search is None else escaped(search)
        revisions.append(f"{pk}\t{example}{since}{array}\t{plain}\t{looked_up}\n")
        answer = NULL if outputs is None else escaped(outputs)
        payloads.append(f"{pk}\t{escaped(inputs)}\t{answer}\t{given}\n")
    return [
        (ExampleRevision, REVISION, "".join(revisions)),
        (ExamplePayload, PAYLOAD, "".join(payloads)),
    ]


def _searchable(metadata: str, given: str) -> str:
    """For the `jsonb` column, which cannot hold NUL or half surrogate pairs."""
    if not _NOT_PLAIN.search(metadata):
        return given
    return escaped(dumps(storable_value(loads_exact(metadata))))


def _array(names: Sequence[str]) -> str:
    quoted = (name.replace("\\", "\\\\").replace('"', '\\"') for name in names)
    return "{" + ",".join(f'"{name}"' for name in quoted) + "}"


def write_blocks(blocks: Sequence[Block]) -> None:
    """Write at once, over Django's connection."""
    with connection.cursor() as cursor, connection.wrap_database_errors:
        for model, columns, text in blocks:
            copy_text(cursor, model, columns, text)


@dataclass
class Writer:
    """Writes while its owner goes on making rows; the connection is the owner's again after `wait`.

    Everything goes over the owner's connection, so it belongs to the owner's transaction.
    """

    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _open: Future[None] | None = None

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            self._threads.shutdown()

    def wait(self) -> None:
        """Until all that was given is written; raises what went wrong."""
        waiting, self._open = self._open, None
        if waiting is not None:
            with connection.wrap_database_errors:
                waiting.result()

    def write(self, blocks: Sequence[Block]) -> None:
        self.wait()
        connection.ensure_connection()
        self._open = self._threads.submit(_write, connection.connection, blocks)


def _write(connected: Any, blocks: Sequence[Block]) -> None:
    with connected.cursor() as cursor:
        for model, columns, text in blocks:
            copy_text(cursor, model, columns, text)
