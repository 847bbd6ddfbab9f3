"""The guess of format, encoding, delimiter and quotation mark."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.formats.layouts import Layout, guess_for
from experiments.formats.recognition import really
from tests.formats.reading import FILES, cells, guessed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bom_crlf.csv", Layout("csv", "utf-8", ",")),
        ("semicolon.csv", Layout("csv", "utf-8", ";")),
        ("tabs.tsv", Layout("csv", "utf-8", "\t")),
        ("cp1252.csv", Layout("csv", "cp1252", ",")),
        ("utf16.txt", Layout("csv", "utf-16", "\t")),
        ("one_column.csv", Layout("csv", "utf-8", ",")),
        ("literals.csv", Layout("csv", "utf-8", ",")),
        ("nul_surrogate.jsonl", Layout("jsonl", "utf-8")),
        ("bigints.jsonl", Layout("jsonl", "utf-8")),
    ],
)
def test_it_guesses_the_layout_of_a_file(name: str, expected: Layout) -> None:
    assert guessed(FILES / name) == expected


@pytest.mark.parametrize(
    ("text", "format_", "delimiter"),
    [
        ('[{"a": 1}]', "json", ","),
        (' [\n {"a": 1}\n]', "json", ","),
        ("[]", "json", ","),
        ('{"a": 1}\n{"a": 2}\n', "jsonl", ","),
        ('{"a": 1}', "jsonl", ","),
        ('{"messages": [{"role": "user"}]}', "jsonl", ","),
        ('{"data": [{"a": 1}]}', "json", ","),
        ('{"meta": {"v": [1]}, "total": 2, "rows": [{"a": 1}]}', "json", ","),
        ('{\n"data": [{"a": 1}],"total": 1}\n', "json", ","),
        ('{"rows": [\n{"a": 1},\n{"a": 2}\n]}', "json", ","),
        ('{"data": [{"a": 1}]}\n{"data": [{"a": 2}]}\n', "jsonl", ","),
        ('{"id": 1, "messages": [{"role": "user"}], "data": [{"a": 1}]}', "jsonl", ","),
        ('{\n  "rows": [\n    {"a": 1}\n  ]\n}', "json", ","),
        ('{"a": 1\n{"a": 2}\n{"a": 3}\n', "jsonl", ","),
        ("[id],[name]\n1,x\n", "csv", ","),
        ("a|b\n1|2,3\n", "csv", "|"),
        ("a;b\n1,5;2,5\n", "csv", ";"),
        ('a,b\n"x;y;z",2\n', "csv", ","),
        ("sep=^\na^b\n1^2\n", "csv", "^"),
        ("text\nHello, world\nBye\n", "csv", "\t"),
        ('q,a\n"one\ntwo",2\n', "csv", ","),
    ],
)
def test_it_guesses_from_a_text(text: str, format_: str, delimiter: str) -> None:
    layout = guess_for(text, "utf-8", whole=True)
    assert (layout.format, layout.delimiter) == (format_, delimiter)


def test_it_reads_quotation_marks_as_text_where_they_are() -> None:
    text = 'question\tanswer\n"Hi" he said\tyes\n"Bye" she said\tno\n'
    assert guess_for(text, "utf-8", whole=True).quote == ""


@pytest.mark.parametrize("order", ["le", "be"])
def test_it_reads_utf32_by_its_mark(tmp_path: Path, order: str) -> None:
    path = tmp_path / "wide.txt"
    path.write_bytes("\ufeffquestion,answer\r\nHow much?,5 \u20ac\r\n".encode(f"utf-32-{order}"))
    assert really(path.read_bytes()) is None
    assert guessed(path) == Layout("csv", "utf-32", ",")
    assert cells(path) == [["How much?", "5 \u20ac"]]


def test_it_sees_utf16_without_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "plain.txt"
    path.write_bytes("question\tanswer\r\nHow much?\t5\r\n".encode("utf-16-le"))
    assert guessed(path) == Layout("csv", "utf-16-le", "\t")


@pytest.mark.parametrize(
    "layout",
    [
        Layout("xlsx", "utf-8"),
        Layout("csv", "rot13"),
        Layout("csv", "utf-8", ""),
        Layout("csv", "utf-8", "\n"),
        Layout("csv", "utf-8", "'", "'"),
        Layout("csv", "utf-8", ",", "xx"),
    ],
)
def test_it_refuses_a_layout_that_makes_no_sense(layout: Layout) -> None:
    assert layout.problem()
