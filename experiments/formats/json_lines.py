"""JSON Lines: one object per line; a broken line costs that line only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from experiments.formats.encodings import TextFile
from experiments.formats.members import BadJson, Scanner, space
from experiments.formats.rows import BadRow, Row, Source


class JsonLinesSource(Source):
    """Rows of a JSON Lines file; every cell is the JSON text of a value."""

    is_json = True

    def __init__(self, path: Path, *, encoding: str) -> None:
        self.file = TextFile(path, encoding)
        self.header: list[str] = []
        self.notices: list[str] = []
        self.blank = 0
        self.scanner = Scanner()

    def close(self) -> None:
        self.file.close()

    def bytes_read(self) -> int:
        return self.file.bytes_read()

    def rows(self) -> Iterator[Row | BadRow]:
        while line := self.file.next_line():
            if line.isspace():
                self.blank += 1
            else:
                yield self._row(line.rstrip(), self.file.line)

    def _row(self, text: str, line: int) -> Row | BadRow:
        start = space(text, 0)
        if text[start] != "{":
            return BadRow(line, "", "is not a JSON object")
        try:
            members, end = self.scanner.members(text, start)
        except BadJson as error:
            return BadRow(line, error.column, told(error, text))
        if space(text, end) < len(text):
            return BadRow(line, "", f"something follows the object at character {end + 1:,}")
        return Row(line, members)


def told(error: BadJson, text: str) -> str:
    """The reason, and the place within the line where it shows."""
    if error.column or not error.end or error.end > len(text):
        return error.reason
    return f"broken JSON at character {error.end + 1:,}: {error.reason}"
