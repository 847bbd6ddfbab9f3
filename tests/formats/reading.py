"""How the tests of formats read a file: as the product does after an upload."""

from __future__ import annotations

from pathlib import Path

from experiments.formats.encodings import Utf8Check
from experiments.formats.layouts import Layout, guess_layout, open_source
from experiments.formats.rows import BadRow, Row

FILES = Path(__file__).parent / "files"


def guessed(path: Path) -> Layout:
    check = Utf8Check()
    check.feed(path.read_bytes(), last=True)
    return guess_layout(path, is_utf8=check.holds)


def read(path: Path, layout: Layout | None = None) -> tuple[list[Row], list[BadRow]]:
    with open_source(path, layout or guessed(path)) as source:
        found = list(source.rows())
    rows = [row for row in found if isinstance(row, Row)]
    return rows, [row for row in found if isinstance(row, BadRow)]


def cells(path: Path, layout: Layout | None = None) -> list[list[str]]:
    return [list(row.cells.values()) for row in read(path, layout)[0]]
