"""Parquet: rows as JSON values, nested ones too, a batch at a time. Needs pyarrow, an extra."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from importlib.util import find_spec
from math import isinf, isnan
from pathlib import Path
from typing import Any
from uuid import UUID

import simplejson

from experiments.formats.rows import MAX_COLUMNS, BadRow, BrokenFile, Row, Source

# A packed file may say the same long text a million times: few rows at once, and not too many.
BATCH_ROWS = 32
MAX_RATIO = 200
FREE_CHARACTERS = 64_000_000
_HALF = re.compile("[\ud800-\udfff]")
MAX_ROWS = 50_000_000
MISSING = (
    "This is a Parquet file. The server reads these once pyarrow is installed: "
    "pip install 'tiebreak[parquet]'."
)


def is_available() -> bool:
    return find_spec("pyarrow") is not None


class ParquetSource(Source):
    """Rows of a Parquet file; every cell is the JSON text of a value, null included."""

    is_json = True

    def __init__(self, path: Path, *, limit: int | None = None) -> None:
        if not is_available():
            raise BrokenFile(0, MISSING)
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        self.size, self.at, self.blank, self.characters = path.stat().st_size, 0, 0, 0
        self.notices: list[str] = []
        self._broken = (ArrowException, OSError, ValueError)
        try:
            self.file = ParquetFile(path, memory_map=False, buffer_size=1 << 20, pre_buffer=False)
            self._check(limit)
        except self._broken as error:
            raise BrokenFile(0, f"The Parquet file cannot be read: {_first_line(error)}") from error
        self.header: list[str] = list(self.file.schema_arrow.names)
        if len(set(self.header)) < len(self.header):
            twice = next(name for name in self.header if self.header.count(name) > 1)
            raise BrokenFile(0, f"The column “{twice}” stands twice.")

    def _check(self, limit: int | None) -> None:
        about = self.file.metadata
        groups = (about.row_group(number) for number in range(about.num_row_groups))
        unpacked = sum(group.total_byte_size for group in groups)
        if about.num_rows > MAX_ROWS or (limit is not None and unpacked > limit):
            raise BrokenFile(0, "The Parquet file unpacks to more than is read here.")
        if len(self.file.schema_arrow.names) > MAX_COLUMNS:
            raise BrokenFile(0, f"more than {MAX_COLUMNS:,} columns are not read")

    def close(self) -> None:
        self.file.close()

    def bytes_read(self) -> int:
        return int(self.size * self.at // max(self.file.metadata.num_rows, 1))

    def rows(self) -> Iterator[Row | BadRow]:
        try:
            for batch in self.file.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
                for values in batch.to_pylist(maps_as_pydicts="lossy"):
                    self.at += 1
                    row = self._row(values)
                    self._check_ratio(row)
                    yield row
        except self._broken as error:
            raise BrokenFile(self.at + 1, f"cannot be read: {_first_line(error)}") from error

    def _check_ratio(self, row: Row | BadRow) -> None:
        if isinstance(row, Row):
            self.characters += sum(map(len, row.cells.values()))
        if self.characters > max(FREE_CHARACTERS, MAX_RATIO * self.size):
            raise BrokenFile(
                self.at,
                f"the file unpacks to more than {MAX_RATIO} times its size; it was not read",
            )

    def _row(self, values: dict[str, Any]) -> Row | BadRow:
        cells = {}
        for name, value in values.items():
            try:
                cells[name] = json_text(value)
            except (TypeError, ValueError) as error:
                return BadRow(self.at, name, f"cannot be written as JSON: {error}")
        return Row(self.at, cells)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0][:200]


def json_text(value: Any) -> str:
    """The JSON of a value: every digit of decimals, ISO 8601 for times, Base64 for bytes.

    Not-a-number is how tables say that nothing is there: null.
    """
    plain = _plain(value)
    text = _dumps(plain, ensure_ascii=False)
    # Half a surrogate pair can only be written as an escape.
    return _dumps(plain, ensure_ascii=True) if _HALF.search(text) else text


def _dumps(value: Any, *, ensure_ascii: bool) -> str:
    return str(
        simplejson.dumps(
            value,
            use_decimal=True,
            ensure_ascii=ensure_ascii,
            separators=(",", ":"),
            allow_nan=False,
        )
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return None if isnan(value) else str(value) if isinf(value) else value
    if isinstance(value, Decimal) and not value.is_finite():
        return None
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta | UUID):
        return str(value)
    return value
