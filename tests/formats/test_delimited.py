"""Delimited files: what is in a cell is what is between the delimiters."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.formats.layouts import Layout, open_source
from experiments.formats.rows import BrokenFile
from experiments.formats.surveys import survey
from tests.formats.reading import FILES, cells, guessed, read


def _file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "bom_crlf.csv",
            [
                ["What is 2+2?", "4"],
                ["Capital of France?", "Paris"],
                ["Last row", "ends without newline"],
            ],
        ),
        (
            "semicolon.csv",
            [
                ["How much is a half?", "0,5", "0,75"],
                ["Price; with VAT?", "12,99 EUR", "1,0"],
                ["Which list?", "a,b,c", "0,1"],
            ],
        ),
        (
            "tabs.tsv",
            [
                ["How much is a half?", "0,5", "0,75"],
                ["Price; with VAT?", "12,99 EUR", "1,0"],
                ["Which list?", "a,b,c", "0,1"],
            ],
        ),
        ("cp1252.csv", [["“Café” – how much?", "5 €"], ["Who’s naïve?", "Zoë"]]),
        ("utf16.txt", [["Straße?", "ja"], ["你好?", "好"]]),
        ("one_column.csv", [["Only inputs here"], ["Second input"]]),
        ("header_only.csv", []),
        ("nul_byte.csv", [["plain", "ok"], ["nul byte", "be\x00fore"], ["last", "ok"]]),
        (
            "literals.csv",
            [
                ["007", "Agent?", "NA"],
                ["3.10", "Version?", "None"],
                ["1e5", "Size?", "null"],
                ["TRUE", "Flag?", "N/A"],
                ["0x1F", "Hex?", "nan"],
                ["2026-03-04", "Date?", "03/04/2026"],
                ["9999999999999999", "Big?", "-"],
                ["-0", "Zero?", ""],
            ],
        ),
    ],
)
def test_it_reads_cells_as_written(name: str, expected: list[list[str]]) -> None:
    assert cells(FILES / name) == expected


def test_it_makes_headers_distinct_and_says_so() -> None:
    found = survey(FILES / "dup_headers.csv", guessed(FILES / "dup_headers.csv"))
    assert found.columns == ["question", "answer", "answer 2", "notes", "column 5", "Question"]
    assert any("“answer” stands in columns 2 and 3" in notice for notice in found.notices)
    assert any("“notes”" in notice for notice in found.notices)
    assert any("Column 5 has no name" in notice for notice in found.notices)
    assert found.samples("answer 2") == ["second", "dos"]


def test_it_never_gives_a_fresh_name_that_stands_already(tmp_path: Path) -> None:
    found = survey(_file(tmp_path, "a,a,a 2,,column 4\n1,2,3,4,5\n"), Layout("csv", "utf-8"))
    assert found.columns == ["a", "a 3", "a 2", "column 4 2", "column 4"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a,b\n1,2\n3\n4,5\n", 3, "has 1 cell, the header has 2"),
        ("a,b\n1,2\n3,4,5\n6,7\n", 3, "has 3 cells, the header has 2"),
        ('a,b\n1,2\n"x"y,4\n6,7\n', 3, "text follows a closing quotation mark"),
        ('a,b\n"1\n1",2\n\n3\n', 5, "has 1 cell"),
    ],
)
def test_it_names_the_line_of_a_bad_row(tmp_path: Path, text: str, line: int, reason: str) -> None:
    rows, bad = read(_file(tmp_path, text), Layout("csv", "utf-8"))
    assert [(row.line, reason in row.reason) for row in bad] == [(line, True)]
    assert rows


@pytest.mark.parametrize(
    ("data", "encoding", "line", "reason"),
    [
        (b'a,b\n1,2\n"open,4\n6,7\n', "utf-8", 3, "never closed"),
        (b"a,b\n1,2\n3,\xff\n", "utf-8", 3, "byte 0xFF at offset 10 is not UTF-8"),
        (b"a,b\n1,2\n3,\x81\n", "cp1252", 3, "byte 0x81 at offset 10 is not Windows-1252"),
    ],
)
def test_it_says_where_a_file_breaks(
    tmp_path: Path, data: bytes, encoding: str, line: int, reason: str
) -> None:
    with pytest.raises(BrokenFile) as broken:
        read(_file(tmp_path, data), Layout("csv", encoding))
    assert broken.value.line == line
    assert reason in broken.value.reason


def test_it_counts_blank_lines_and_rows_of_nothing(tmp_path: Path) -> None:
    with open_source(_file(tmp_path, "a,b\n\n1,2\n,\n \n"), Layout("csv", "utf-8")) as source:
        assert len(list(source.rows())) == 1
        assert source.blank == 3


def test_it_reads_a_cell_of_300000_characters(tmp_path: Path) -> None:
    long = "word " * 60_000
    assert cells(_file(tmp_path, f'a,b\n"{long}",2\n')) == [[long, "2"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_it_reads_every_kind_of_line_end(tmp_path: Path, end: str) -> None:
    text = f'a,b{end}"one{end}two",2{end}3,4{end}'
    rows, _ = read(_file(tmp_path, text), Layout("csv", "utf-8"))
    assert [list(row.cells.values()) for row in rows] == [[f"one{end}two", "2"], ["3", "4"]]
    assert [row.line for row in rows] == [2, 4]


def test_it_keeps_rows_in_the_order_of_a_large_file(tmp_path: Path) -> None:
    text = "n,text\n" + "".join(f"{n},row {n}\n" for n in range(20_000))
    assert [row[0] for row in cells(_file(tmp_path, text))] == [str(n) for n in range(20_000)]
