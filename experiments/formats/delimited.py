"""CSV and its relatives: any delimiter, quoted newlines, a `sep=` line, odd headers."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.formats.encodings import TextFile
from experiments.formats.formulas import unguarded
from experiments.formats.rows import MAX_COLUMNS, BadRow, BrokenFile, Row, Source

MAX_CELL = 16_000_000
csv.field_size_limit(MAX_CELL)


def separator_line(line: str) -> str | None:
    """The delimiter that a line such as `sep=;` names, as spreadsheet programs write it."""
    bare = line.rstrip("\r\n")
    if len(bare) == 5 and bare[:4].lower() == "sep=":
        return bare[4]
    return None


class DelimitedSource(Source):
    """Rows of a delimited file; every cell is the text between the delimiters."""

    is_json = False

    def __init__(
        self, path: Path, *, encoding: str, delimiter: str, quote: str, unguard: bool = False
    ) -> None:
        self.file = TextFile(path, encoding)
        self.unguard = unguard
        self.blank = 0
        self.notices: list[str] = []
        self.reader = csv.reader(
            self._lines(),
            delimiter=delimiter,
            quotechar=quote or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            strict=True,
        )
        try:
            self.header = self._read_header()
        except BaseException:
            self.file.close()
            raise

    def close(self) -> None:
        self.file.close()

    def bytes_read(self) -> int:
        return self.file.bytes_read()

    def _lines(self) -> Iterator[str]:
        while line := self.file.next_line():
            if self.file.line > 1 or separator_line(line) is None:
                yield line

    def _read_header(self) -> list[str]:
        for found in self._records():
            if isinstance(found, BadRow):
                raise BrokenFile(found.line, found.reason)
            names, self.notices = distinct_names(found[1])
            if len(names) > MAX_COLUMNS:
                raise BrokenFile(
                    0, f"{len(names):,} columns are too many; {MAX_COLUMNS:,} are read"
                )
            return names
        return []

    def rows(self) -> Iterator[Row | BadRow]:
        width = len(self.header)
        for found in self._records():
            if isinstance(found, BadRow):
                yield found
            elif len(found[1]) == width:
                yield Row(found[0], dict(zip(self.header, found[1], strict=True)))
            else:
                yield BadRow(found[0], "", _wrong_width(len(found[1]), width))

    def _records(self) -> Iterator[tuple[int, list[str]] | BadRow]:
        """The filled records with their first lines; blank ones are counted."""
        while True:
            line = self.file.line + 1
            try:
                cells = next(self.reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield self._bad(line, str(error))
                continue
            if any(map(str.strip, cells)):
                yield line, list(map(unguarded, cells)) if self.unguard else cells
            else:
                self.blank += 1

    def _bad(self, line: int, message: str) -> BadRow:
        if "unexpected end" in message:
            raise BrokenFile(line, "a quotation mark opens in this row and is never closed")
        if "field limit" in message:
            reason = f"a cell has more than {MAX_CELL:,} characters; is a quotation mark open?"
            return BadRow(line, "", reason)
        span = f" (lines {line:,} to {self.file.line:,})" if self.file.line > line else ""
        if "expected after" in message:
            return BadRow(line, "", f"text follows a closing quotation mark{span}")
        return BadRow(line, "", f"{message}{span}")


def _wrong_width(found: int, expected: int) -> str:
    return f"has {found} cell{'' if found == 1 else 's'}, the header has {expected}"


def distinct_names(header: Sequence[str]) -> tuple[list[str], list[str]]:
    """Column names that differ, and what had to be done for that, in words."""
    names: list[str] = []
    notices: list[str] = []
    given = {cell.strip() for cell in header}
    for number, cell in enumerate(header, 1):
        name = cell.strip()
        if name != cell and name:
            notices.append(f"Blanks around the name “{name}” (column {number}) were taken away.")
        if not name:
            name = _free(f"column {number}", given | set(names))
            notices.append(f"Column {number} has no name; it is called “{name}” here.")
        elif name in names:
            name = _repeated(name, number, given | set(names), names, notices)
        names.append(name)
    return names, notices


def _repeated(
    name: str, number: int, taken: set[str], names: Sequence[str], notices: list[str]
) -> str:
    fresh = _free(name, taken)
    first = names.index(name) + 1
    notices.append(
        f"The name “{name}” stands in columns {first} and {number}; "
        f"the second is called “{fresh}” here."
    )
    return fresh


def _free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name} {number}" in taken:
        number += 1
    return f"{name} {number}"
