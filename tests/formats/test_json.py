"""JSON Lines and JSON arrays: values keep every character."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.formats.layouts import Layout
from experiments.formats.members import BadJson, check_value
from experiments.formats.rows import BrokenFile
from experiments.formats.surveys import survey
from tests.formats.reading import FILES, cells, guessed, read

LINES, ARRAY = Layout("jsonl", "utf-8"), Layout("json", "utf-8")


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    return path


def test_it_keeps_every_digit() -> None:
    assert [row[1] for row in cells(FILES / "bigints.jsonl")] == [
        "9007199254740993",
        "9007199254740993",
        "314159265358979323",
        "12345678901234567890123",
        "-9223372036854775809",
        "0.1",
        "1.0",
    ]


def test_it_keeps_nul_and_half_surrogates_as_escapes() -> None:
    rows, bad = read(FILES / "nul_surrogate.jsonl")
    assert bad == []
    assert [row.cells["answer"] for row in rows[:5]] == [
        r'"before\u0000after"',
        r'"cut emoji \ud83d"',
        r'"\ude00 start"',
        r'"\ud83d\ude00 fine"',
        r'"\u0001 \u007f \u200b"',
    ]
    assert list(rows[5].cells) == ["key\x00name", "answer"]


def test_it_keeps_key_order_and_reports_a_repeated_key() -> None:
    rows, bad = read(FILES / "key_order.jsonl")
    assert rows[0].cells["answer"] == '{"zeta_first": 1, "b": 2, "alpha_last": [3, 1, 2]}'
    assert [(row.line, row.column) for row in bad] == [(3, "answer")]
    assert "“x” stands twice" in bad[0].reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"a": 1', "broken JSON at character 8"),
        ('{"a": }', "broken JSON at character 7"),
        ("{'a': 1}", "broken JSON at character 2"),
        ('{"a": 1} {"a": 2}', "something follows the object at character 9"),
        ('{"a": 1, "a": 2}', "the key “a” stands twice"),
        ('{"a": [{"b": {"c": 1, "c": 2}}]}', "the key “c” stands twice"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": "tab\there"}', "broken JSON"),
        ("[1, 2]", "is not a JSON object"),
        ('"text"', "is not a JSON object"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "nested too deeply"),
        ('{"a": ' + "[" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_it_names_a_broken_line_and_reads_on(tmp_path: Path, line: str, reason: str) -> None:
    rows, bad = read(_file(tmp_path, f'{{"a": 0}}\n\n{line}\n{{"a": 9}}\n'), LINES)
    assert [row.cells for row in rows] == [{"a": "0"}, {"a": "9"}]
    assert [row.line for row in bad] == [3]
    assert reason in bad[0].reason


@pytest.mark.parametrize(
    "text",
    [
        '{"errors": [], "data": [{"a": 1}, {"a": {"z": 1, "b": [2]}}]}',
        '[{"a": 1}, {"a": {"z": 1, "b": [2]}}]',
        '\n[\n{"a": 1},\n{"a": {"z": 1, "b": [2]}}\n]\n',
        '{"version": 3, "other": [1], "data": [{"a": 1}, {"a": {"z": 1, "b": [2]}}], "x": null}',
    ],
)
def test_it_reads_an_array_alone_or_wrapped(tmp_path: Path, text: str) -> None:
    rows, bad = read(_file(tmp_path, text), ARRAY)
    assert [row.cells for row in rows] == [{"a": "1"}, {"a": '{"z": 1, "b": [2]}'}]
    assert bad == []


def test_it_reads_an_array_far_larger_than_its_window(tmp_path: Path) -> None:
    values = [{"n": n, "text": "é\n" * (n % 700)} for n in range(3_000)]
    path = _file(tmp_path, json.dumps(values, indent=1, ensure_ascii=False))
    rows, _ = read(path, guessed(path))
    assert [int(row.cells["n"]) for row in rows] == list(range(3_000))
    assert json.loads(rows[699].cells["text"]) == "é\n" * 699
    assert rows[2].line == 10


def test_it_reads_one_value_of_many_windows(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    rows, _ = read(_file(tmp_path, json.dumps([{"a": long}, {"a": "next"}])), ARRAY)
    assert [len(row.cells["a"]) for row in rows] == [1_000_002, 6]


def test_it_reports_what_is_no_object_in_an_array(tmp_path: Path) -> None:
    rows, bad = read(_file(tmp_path, '[{"a": 1},\n7,\n{"a": 1, "a": 2},\n{"a": 2}]'), ARRAY)
    assert [row.cells for row in rows] == [{"a": "1"}, {"a": "2"}]
    assert [(row.line, row.reason) for row in bad] == [
        (2, "is not a JSON object"),
        (3, "the key “a” stands twice"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('[{"a": 1},\n{"a": 2', 2, "ends in the middle"),
        ('[{"a": 1},\n{"a" 2},\n{"a": 3, "padding": "padding padding padding"}]', 2, "':'"),
        ('[{"a": 1}\n{"a": 2}]', 2, "“,” should stand"),
        ('[{"a": 1}]\n[', 2, "something follows"),
        ('[{"a": 1},\n]', 2, "a comma stands before"),
        ('{"a": 1, "b": "c"}', 0, "no list of objects"),
    ],
)
def test_it_says_where_an_array_breaks(tmp_path: Path, text: str, line: int, reason: str) -> None:
    with pytest.raises(BrokenFile) as broken:
        read(_file(tmp_path, text), ARRAY)
    assert broken.value.line == line
    assert reason in broken.value.reason


def test_it_shows_the_rows_before_the_break(tmp_path: Path) -> None:
    found = survey(_file(tmp_path, '[{"a": 1},\n{"b": 2},\n{"a" 2}, "some more text here"]'), ARRAY)
    assert found.columns == ["a", "b"]
    assert found.broken.startswith("line 3: broken JSON")


@pytest.mark.parametrize("text", ["1", ' {"b": 1, "a": 2} ', '"x"', "[1e5]", "null", "-0"])
def test_it_keeps_json_in_a_cell_as_it_is(text: str) -> None:
    assert check_value(text) == text.strip()


@pytest.mark.parametrize("text", ["", "nothing", "{a: 1}", "1 2", "NaN", '{"a":1,"a":1}', "'x'"])
def test_it_refuses_what_is_no_json(text: str) -> None:
    with pytest.raises(BadJson):
        check_value(text)
