"""Records as JSON Lines, with payloads as they were sent, and as CSV that spreadsheets can open."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from experiments.exports.parquet import parquet_blocks
from experiments.exports.records import Export, Record
from experiments.formats.formulas import guarded
from experiments.formats.members import BadJson, Scanner
from experiments.rawjson import NotJsonError, dumps, loads, loads_exact, storable

BLOCK_CHARACTERS = 64 * 1024
MAX_SPREAD = 200
_BREAKS = str.maketrans("\r\n", "  ")


def json_lines(export: Export) -> Iterator[str]:
    """One object per line. Line breaks between the tokens of a payload become blanks."""
    prefixes = {column: f"{dumps(column)}:" for column in export.columns}
    for record in export.read():
        members = (prefixes[column] + text for column, text in record.items() if text is not None)
        yield "{" + ",".join(members).translate(_BREAKS) + "}\n"


def csv_lines(export: Export) -> Iterator[str]:
    """A header and rows; objects get a column per key when there are at most two hundred keys."""
    spread = _keys_of(export)
    line = _line_writer()
    header = [name for column in export.columns for name in _names(column, spread)]
    yield line([guarded(storable(name)) for name in header])
    for record in export.read():
        yield line([text for column in export.columns for text in _cells(column, record, spread)])


def blocks(lines: Iterator[str]) -> Iterator[bytes]:
    """The lines in pieces of a size that is worth sending."""
    waiting: list[str] = []
    size = 0
    try:
        for line in lines:
            waiting.append(line)
            size += len(line)
            if size >= BLOCK_CHARACTERS:
                yield "".join(waiting).encode()
                waiting, size = [], 0
        if waiting:
            yield "".join(waiting).encode()
    finally:
        if hasattr(lines, "close"):
            lines.close()


WRITERS: dict[str, Callable[[Export], Iterator[bytes]]] = {
    "jsonl": lambda export: blocks(json_lines(export)),
    "csv": lambda export: blocks(csv_lines(export)),
    "parquet": parquet_blocks,
}


def _line_writer() -> Callable[[list[str]], str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)

    def line(cells: list[str]) -> str:
        writer.writerow(cells)
        text = buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        return text

    return line


def _keys_of(export: Export) -> dict[str, list[str]]:
    """The keys in each column of objects, in the order they come; too many: no entry."""
    found: dict[str, dict[str, None]] = {column: {} for column in export.spread}
    if found:
        for record in export.read():
            for column in list(found):
                _note_keys(column, record.get(column), found)
    return {column: list(keys) for column, keys in found.items()}


def _note_keys(column: str, text: str | None, found: dict[str, dict[str, None]]) -> None:
    value = _load(text) if text is not None and text != "null" else {}
    if isinstance(value, dict):
        found[column].update(dict.fromkeys(value))
    if not isinstance(value, dict) or len(found[column]) > MAX_SPREAD:
        del found[column]


def _load(text: str) -> Any:
    """The value; None for what is nested too deeply to be taken apart."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return loads(text)
        except NotJsonError:
            return None


def _members(text: str) -> Mapping[str, str]:
    """Keys and texts of an object; of a key that stands twice the last, as JSON readers do."""
    try:
        return Scanner().members(text)[0]
    except BadJson:
        return {key: dumps(value) for key, value in loads_exact(text).items()}


def _names(column: str, spread: Mapping[str, list[str]]) -> list[str]:
    if column not in spread:
        return [column]
    return [f"{column}.{key}" for key in spread[column]]


def _cells(column: str, record: Record, spread: Mapping[str, list[str]]) -> Iterator[str]:
    text = record.get(column)
    if column not in spread:
        yield _plain(text)
        return
    members = _members(text) if text and text != "null" else {}
    for key in spread[column]:
        yield _plain(members.get(key))


def _plain(text: str | None) -> str:
    """A cell of a table: a JSON text is unpacked, all else stays the JSON it is."""
    if text is None or text == "null":
        return ""
    if text.startswith('"'):
        return guarded(storable(str(_load(text))))
    return text
