"""Statements that take many rows at once: one array per column, bound by the server.

psycopg would quote every element of a list in Python; for texts of a kilobyte that is half the work
of taking in a run.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import psycopg
from django.db import connection
from django.db.models import Model

from experiments.rawjson import RawJsonField

Row = TypeVar("Row", bound=Model)

MOST_ROWS = 500
MOST_CHARACTERS = 4_000_000


def array(values: Iterable[Any]) -> str:
    """A PostgreSQL array in its text form; None becomes NULL."""
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f'"{value.isoformat()}"' if isinstance(value, datetime) else str(value)


def fetch(statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run one statement with $1, $2 … in it, prepared once per connection; gives back its rows."""
    with _cursor() as cursor:
        cursor.execute(statement, parameters, prepare=True)
        return cursor.fetchall() if cursor.description else []


def columns_of(model: type[Model], alias: str) -> str:
    """The columns of a table, for `made` to read; JSON comes as its text."""
    return ", ".join(
        f"{alias}.{field.column}{'::text' if isinstance(field, RawJsonField) else ''}"
        for field in model._meta.concrete_fields
    )


def made(model: type[Row], values: Sequence[Any]) -> Row:
    """A row of a model out of its columns."""
    return model.from_db("default", [f.attname for f in model._meta.concrete_fields], values)


def write_rows(
    statement: str, rows: Iterable[Sequence[Any]], shared: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Run a statement over rows, as one array per column; PostgreSQL takes them in this order.

    `shared` are parameters behind the arrays, the same for all rows.
    """
    found: list[tuple[Any, ...]] = []
    for part in _portions(rows):
        arrays = [array(column) for column in zip(*part, strict=True)]
        found += fetch(statement, [*arrays, *shared])
    return found


def _portions(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    """Rows in portions that are neither long nor heavy."""
    part: list[Sequence[Any]] = []
    weight = 0
    for row in rows:
        part.append(row)
        weight += sum(len(value) for value in row if isinstance(value, str))
        if len(part) == MOST_ROWS or weight > MOST_CHARACTERS:
            yield part
            part, weight = [], 0
    if part:
        yield part


@contextmanager
def _cursor() -> Iterator[psycopg.RawCursor[tuple[Any, ...]]]:
    """A cursor whose parameters travel beside the statement; Django's own writes them into it."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.RawCursor(connection.connection) as cursor:
        yield cursor
