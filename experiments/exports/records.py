"""A record of an export: columns whose cells are JSON texts, so that payloads stay as sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from experiments.rawjson import dumps

CHUNK = 500
Record = dict[str, str | None]
Item = TypeVar("Item")
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Export:
    """What is written: the columns in order, and a way to read the records, also twice.

    A cell is a JSON text; None leaves the member out. `spread` names columns of objects that a
    table gives a column per key.
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[], Iterator[Record]]
    spread: tuple[str, ...] = ()


def cell(value: Any) -> str | None:
    """A value as a cell; moments and ids as texts, nothing as no cell."""
    if value is None:
        return None
    if isinstance(value, bool | int | float | list | dict):
        return dumps(value)
    return dumps(value.isoformat() if hasattr(value, "isoformat") else str(value))


def texts(values: Iterable[object]) -> str:
    """A list of texts as a cell."""
    return dumps([str(value) for value in values])


def batches(items: Iterable[Item], size: int = CHUNK) -> Iterator[list[Item]]:
    """The items in lists of at most `size`."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def in_chunks(found: QuerySet[Row], full: QuerySet[Row]) -> Iterator[list[Row]]:
    """The rows of `found` in its order, with all that `full` selects."""
    return fetched(found, full.in_bulk)


def fetched(
    found: QuerySet[Row], fetch: Callable[[list[int]], Mapping[int, Item]]
) -> Iterator[list[Item]]:
    """What `fetch` gives for the keys of `found`, in its order.

    A server-side cursor holds the keys as they are at the beginning; the rows themselves are
    fetched a chunk at a time, so neither side keeps more than a chunk.
    """
    keys = found.values_list("pk", flat=True).iterator(chunk_size=4 * CHUNK)
    for chunk in batches(keys):
        rows = fetch(chunk)
        yield [rows[key] for key in chunk if key in rows]


def flatten(chunks: Iterable[Iterable[Record]]) -> Iterator[Record]:
    for chunk in chunks:
        yield from chunk
