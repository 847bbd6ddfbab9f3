"""A look at the first rows: which columns there are, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from experiments.formats.layouts import Layout, open_source
from experiments.formats.rows import MAX_COLUMNS, BadRow, BrokenFile, Row, Source

SURVEYED_ROWS = 500
SURVEYED_BYTES = 4_000_000


@dataclass
class Survey:
    """The beginning of a file; `broken` says why there is no more of it."""

    is_json: bool = False
    columns: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    broken: str = ""

    def samples(self, column: str) -> list[str]:
        """The cells of a column in the first rows."""
        return [row.cells[column] for row in self.rows if column in row.cells]


def survey(path: Path, layout: Layout) -> Survey:
    """Read the first rows; what cannot be read is said, not raised."""
    found = Survey()
    try:
        with open_source(path, layout) as source:
            found.is_json, found.columns = source.is_json, list(source.header)
            try:
                _read(source, found)
            finally:
                found.notices = list(source.notices)
    except BrokenFile as error:
        found.broken = str(error)
    if found.is_json:
        names = dict.fromkeys(name for row in found.rows for name in row.cells)
        found.columns = list(islice(names, MAX_COLUMNS))
    return found


def _read(source: Source, found: Survey) -> None:
    for row in islice(source.rows(), SURVEYED_ROWS):
        if isinstance(row, BadRow):
            found.bad.append(row)
        else:
            found.rows.append(row)
        if source.bytes_read() > SURVEYED_BYTES:
            return
