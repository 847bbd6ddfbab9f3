"""Workbooks and Parquet: recognised by content, typed cells as they are shown, bombs refused."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from experiments.formats import parquet, workbooks
from experiments.formats.layouts import Layout, open_source
from experiments.formats.rows import BrokenFile
from experiments.formats.surveys import survey
from tests.formats.reading import FILES, cells, guessed, read


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def test_a_workbook_called_csv_is_read_as_the_workbook_it_is() -> None:
    path = FILES / "really_xlsx.csv"
    assert guessed(path).format == "workbook"
    rows, bad = read(path)
    assert rows
    assert not bad


def test_cells_of_a_workbook_are_texts(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["question", "answer", "when", ""],
        ["one\ntwo", 3, date(2026, 3, 4), "x"],
        ["007", 0.1, datetime(2026, 3, 4, 6, 0), ""],
        ["", "", "", ""],
        [True, 1234567890123, "=not a formula", "é😀"],
    ]
    path = workbook(tmp_path / "t.png", data=rows)
    assert cells(path)[:2] == [
        ["one\ntwo", "3", "2026-03-04", "x"],
        ["007", "0.1", "2026-03-04T06:00:00", ""],
    ]
    assert cells(path)[2][:2] == ["TRUE", "1234567890123"]
    found = survey(path, guessed(path))
    assert found.columns == ["question", "answer", "when", "column 4"]


def test_the_sheet_is_told_and_can_be_chosen(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", first=[["a"], ["1"]], second=[["b"], ["2"]])
    assert workbooks.sheet_names(path) == ["first", "second"]
    assert "first" in survey(path, guessed(path)).notices[0]
    assert cells(path, Layout("workbook", "utf-8", sheet="second")) == [["2"]]


def test_columns_without_a_name_get_one_and_blank_rows_are_none(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", data=[[], ["a", "b"], ["1", "2", "3"], [], ["4", "5"]])
    rows, bad = read(path)
    assert not bad
    assert [(row.line, list(row.cells.values())) for row in rows] == [
        (3, ["1", "2", "3"]),
        (5, ["4", "5", ""]),
    ]


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (workbooks.MAX_UNPACKED + 1))
    assert path.stat().st_size < 100_000
    with pytest.raises(BrokenFile, match="save its sheet as CSV"):
        workbooks.sheet_names(path)


def test_damaged_workbooks_are_refused_and_never_crash(tmp_path: Path) -> None:
    whole = workbook(tmp_path / "t.xlsx", data=[["a"], ["1"]] * 20).read_bytes()
    chance, path = random.Random(5), tmp_path / "damaged"
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 30)):
            damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.choice([len(damaged), chance.randrange(10, 5000)])])
        found = survey(path, Layout("workbook", "utf-8"))
        assert found.broken or found.columns is not None


def table(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_keeps_types_digits_and_nesting(tmp_path: Path) -> None:
    path = table(
        tmp_path / "t.csv",
        inputs=pa.array([{"q": "é\u0000", "tags": ["a", "b"]}, {"q": "x", "tags": None}]),
        big=pa.array([9007199254740993, 1], pa.int64()),
        exact=pa.array([Decimal("1.10"), None], pa.decimal128(10, 2)),
        when=pa.array([date(2026, 3, 4), None]),
        number=pa.array([0.1, float("nan")]),
        raw=pa.array([b"\x00\xff", None]),
        map=pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
    )
    assert guessed(path).format == "parquet"
    assert cells(path) == [
        [
            '{"q":"é\\u0000","tags":["a","b"]}',
            "9007199254740993",
            "1.10",
            '"2026-03-04"',
            "0.1",
            '"AP8="',
            '{"k":1}',
        ],
        ['{"q":"x","tags":null}', "1", "null", "null", "null", "null", "{}"],
    ]


def test_parquet_of_many_rows_is_read_in_batches(tmp_path: Path) -> None:
    path = table(tmp_path / "t", n=list(range(1000)))
    with open_source(path, guessed(path)) as source:
        lines = []
        for row in source.rows():
            lines.append(row.line)
            assert source.bytes_read() <= path.stat().st_size
    assert lines == list(range(1, 1001))


def test_parquet_that_unpacks_to_too_many_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MAX_ROWS", 10)
    path = table(tmp_path / "t", n=[1] * 11)
    assert "more than is read here" in survey(path, guessed(path)).broken


def test_one_long_text_said_a_million_times_is_refused(tmp_path: Path) -> None:
    text = pa.array(["x" * 100_000]).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000), text.dictionary)
    path = table(tmp_path / "t", text=column)
    assert path.stat().st_size < 300_000
    with (
        pytest.raises(BrokenFile, match="200 times its size"),
        open_source(path, guessed(path)) as source,
    ):
        for _ in source.rows():
            pass


def test_without_pyarrow_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path / "t", n=[1])
    monkeypatch.setattr(parquet, "is_available", lambda: False)
    assert "tiebreak[parquet]" in survey(path, guessed(path)).broken


def test_damaged_parquet_is_refused_and_never_crashes(tmp_path: Path) -> None:
    whole = table(tmp_path / "t", n=list(range(500)), text=["abc"] * 500).read_bytes()
    chance, path = random.Random(6), tmp_path / "damaged"
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 5)):
            damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        survey(path, Layout("parquet", "utf-8"))
