"""Excel and OpenDocument workbooks: a sheet's cells as the texts that a CSV of it would hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from python_calamine import CalamineError, CalamineWorkbook

from experiments.formats.delimited import distinct_names
from experiments.formats.rows import MAX_COLUMNS, BadRow, BrokenFile, Row, Source

# A sheet is read into memory as a whole: some fifteen times what it takes unpacked in the file.
MAX_UNPACKED = 64_000_000
UNREADABLE = "The workbook cannot be read: it is broken, cut off or protected by a password."


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook in their order; raises BrokenFile."""
    return list(_open(path).sheet_names)


def _open(path: Path) -> CalamineWorkbook:
    _check_size(path)
    try:
        return CalamineWorkbook.from_path(str(path))
    except (CalamineError, OSError, ValueError) as error:
        raise BrokenFile(0, UNREADABLE) from error


def _check_size(path: Path) -> None:
    """What a workbook says of itself may be a lie: what is packed in it counts."""
    size = path.stat().st_size
    if is_zipfile(path):
        try:
            with ZipFile(path) as archive:
                size = sum(_unpacked_size(archive, name) for name in archive.namelist())
        except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise BrokenFile(0, UNREADABLE) from error
    if size > MAX_UNPACKED:
        raise BrokenFile(
            0,
            f"The workbook holds more than {MAX_UNPACKED // 1_000_000} MB of cells; "
            "save its sheet as CSV.",
        )


def _unpacked_size(archive: ZipFile, name: str) -> int:
    size = 0
    with archive.open(name) as member:
        while size <= MAX_UNPACKED and (block := member.read(256 * 1024)):
            size += len(block)
    return size


class WorkbookSource(Source):
    """Rows of a sheet; the first filled one is the header."""

    is_json = False

    def __init__(self, path: Path, *, sheet: str) -> None:
        self.size, self.blank = path.stat().st_size, 0
        book = _open(path)
        if not book.sheet_names:
            raise BrokenFile(0, "The workbook has no sheets.")
        name = sheet if sheet in book.sheet_names else book.sheet_names[0]
        try:
            self.cells: Sequence[Sequence[Any]] = book.get_sheet_by_name(name).to_python(
                skip_empty_area=False
            )
        except (CalamineError, ValueError) as error:
            raise BrokenFile(0, f"The sheet “{name}” cannot be read as a table.") from error
        self.header, self.notices, self.at = self._read_header()
        if len(book.sheet_names) > 1:
            self.notices.insert(0, f"The rows are the sheet “{name}”; the others are left out.")

    def close(self) -> None:
        self.cells = ()

    def _read_header(self) -> tuple[list[str], list[str], int]:
        for number, cells in enumerate(self.cells, 1):
            found = [shown(cell) for cell in cells]
            if any(map(str.strip, found)):
                names, notices = distinct_names(found[: self._width()])
                if len(names) > MAX_COLUMNS:
                    raise BrokenFile(0, f"more than {MAX_COLUMNS:,} columns are not read")
                return names, notices, number
        return [], [], len(self.cells)

    def _width(self) -> int:
        """Up to the last column that holds anything; beyond it there may be mere formatting."""
        width = 0
        for cells in self.cells:
            filled = len(cells)
            while filled > width and cells[filled - 1] in ("", None):
                filled -= 1
            width = max(width, filled)
        return width

    def bytes_read(self) -> int:
        return self.size * self.at // max(len(self.cells), 1)

    def rows(self) -> Iterator[Row | BadRow]:
        for number in range(self.at, len(self.cells)):
            cells = [shown(cell) for cell in self.cells[number]]
            self.at = number + 1
            if any(map(str.strip, cells)):
                yield Row(self.at, dict(zip(self.header, cells, strict=False)))
            else:
                self.blank += 1


def shown(cell: Any) -> str:
    """The text of a cell: whole numbers without a fraction, times as ISO 8601 writes them."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return "" if cell is None else repr(cell)
