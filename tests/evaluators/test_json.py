"""JSON: what counts as it, equality, edit distance, schemas; nothing remote, nothing endless."""

from __future__ import annotations

import builtins
import socket
import time
from typing import Any

import pytest

from evaluators import load_evaluator
from evaluators.json_reading import NotJson, TooDeep, mended, read_json

READINGS: list[tuple[str, Any]] = [
    ('{"a": 1}', {"a": 1}),
    ('  `{"a": 1}`\n', {"a": 1}),
    ('```json\n{"a": 1}\n```', {"a": 1}),
    ('Sure:\n```JSON\n{"a": 1}\n```\nDone.', {"a": 1}),
    ('```\n{"a": 1}', {"a": 1}),
    ("```python\nx = 1\n```\n```json\n[2]\n```", [2]),
    ("```\nnot json\n``` 3", NotJson),
    ('Here:\n````json\n{"md": "```"}\n````', {"md": "```"}),
    ('```json\n{"code": "```py\\nx```"}\n``` ok', {"code": "```py\nx```"}),
    ('```json\n{"a": 1} and more\n```', NotJson),
    ("{} {}", NotJson),
    ("3 dogs", NotJson),
    ("NaN", NotJson),
    ("[-Infinity]", NotJson),
    ("{'a': 1}", NotJson),
    ('{"a": 1,}', NotJson),
    ("", NotJson),
    ("}", NotJson),
    ('"\ttab"', "\ttab"),
    ("\ufeff{}", NotJson),
]


@pytest.mark.parametrize(("text", "value"), READINGS)
def test_it_reads_json_by_one_rule(text: str, value: Any) -> None:
    if value is NotJson:
        with pytest.raises(NotJson):
            read_json(text)
    else:
        assert read_json(text) == value


def test_it_keeps_numbers_exact() -> None:
    assert read_json("[1e999]")[0] > 10**300
    digits = "9" * 5000
    assert str(read_json(digits)) == digits
    assert read_json("123456789012345678901234567890") == 123456789012345678901234567890


DEEP = "[" * 100_000 + "]" * 100_000
NAMES = ["json_validity", "json_equality", "json_edit_distance", "json_schema_validation"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "prediction",
    [DEEP, "[" * 2000 + "]" * 2000, '{"a":' * 90_000, "[" * 600 + "]" * 600],
)
def test_it_makes_a_row_error_of_json_that_is_too_deep(name: str, prediction: str) -> None:
    row = {"prediction": prediction, "reference": {} if "schema" in name else "[]"}
    if name == "json_validity":
        del row["reference"]
    start = time.process_time()
    loaded = load_evaluator(name)
    results = loaded.evaluate_batch([row])
    assert time.process_time() - start < 2
    assert results[0]["score"] is None
    assert results[0]["error_type"] == "TooDeep"
    with pytest.raises(TooDeep):
        loaded.evaluate_strings(**row)


def test_it_compares_no_huge_json_by_edits() -> None:
    row = {"prediction": f'"{"a" * 30_000}"', "reference": f'"{"b" * 30_000}"'}
    [result] = load_evaluator("json_edit_distance").evaluate_batch([row])
    assert "20,000" in result["error"]
    row["reference"] = row["prediction"]
    assert load_evaluator("json_edit_distance").evaluate_strings(**row) == {"score": 0.0}


EQUALITIES: list[tuple[Any, Any, str, int]] = [
    ([1, [2, 3]], [[2, 3], 1], "top", 1),
    ([1, [2, 3]], [[3, 2], 1], "top", 0),
    ([1, [2, 3]], [[3, 2], 1], "ignore", 1),
    ([1, 2], [2, 1], "strict", 0),
    ({"a": [1, 2]}, {"a": [2, 1]}, "top", 0),
    ({"a": [1, 2]}, {"a": [2, 1]}, "ignore", 1),
    ({"a": {"b": True}}, {"a": {"b": 1}}, "top", 0),
    ([True], [1], "top", 0),
    ([1], [1.0], "top", 1),
    (None, "null", "top", 1),
    (4, "4", "top", 1),
    ("null", [None], "top", 0),
    ({"a": 1}, '{"a": 1}', "top", 1),
    (0.1, 0.30000000000000004, "top", 0),
]


@pytest.mark.parametrize(("prediction", "reference", "order", "score"), EQUALITIES)
def test_it_counts_types_and_lists_as_told(
    prediction: Any, reference: Any, order: str, score: int
) -> None:
    equal = load_evaluator("json_equality", list_order=order)
    assert equal.evaluate_strings(prediction=prediction, reference=reference)["score"] == score


def test_it_gives_the_worst_score_to_what_is_not_json_and_says_why() -> None:
    row = {"prediction": "3 dogs", "reference": "3"}
    equal = load_evaluator("json_equality").evaluate_strings(**row)
    distance = load_evaluator("json_edit_distance").evaluate_strings(**row)
    assert (equal["score"], distance["score"]) == (0, 1.0)
    assert "not JSON" in equal["reasoning"]
    assert "not JSON" in distance["reasoning"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1', {"a": 1}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": "tex', {"a": "tex"}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b": ', {"a": 1}),
        ('Here: {"a": true} ok', {"a": True}),
    ],
)
def test_it_mends_what_was_cut_off_only_when_asked(text: str, value: Any) -> None:
    assert mended(text) == value
    row = {"prediction": text, "reference": value}
    assert load_evaluator("json_equality").evaluate_strings(**row)["score"] == 0
    assert load_evaluator("json_equality", allow_partial=True).evaluate_strings(**row) == {
        "score": 1
    }


def test_it_gives_up_mending_what_holds_no_json() -> None:
    with pytest.raises(NotJson):
        mended("hello")


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"minimum": 0}},
    "patternProperties": {"^x-": {"type": "integer"}},
    "additionalProperties": False,
    "required": ["name"],
}


def test_it_lists_all_errors_with_their_paths() -> None:
    schema = load_evaluator("json_schema_validation", schema=PERSON)
    assert not schema.requires_reference
    row = {"prediction": {"name": "ann", "age": -1, "x-a": "1", "z": 0}}
    result = schema.evaluate_strings(**row)
    assert result["score"] == 0
    paths = [error["path"] for error in result["errors"]]
    assert sorted(paths) == ["$.age", "$.name", "$.z", "$['x-a']"]
    assert schema.evaluate_strings(prediction='{"name": "Ann", "x-b": 1}') == {"score": 1}


def test_it_applies_a_schema_to_additional_properties() -> None:
    schema = load_evaluator(
        "json_schema_validation", schema={"additionalProperties": {"type": "integer"}}
    )
    assert schema.evaluate_strings(prediction={"a": 1, "b": 2})["score"] == 1
    assert schema.evaluate_strings(prediction={"a": "1"})["score"] == 0


@pytest.mark.parametrize(
    "schema", [{"type": "integr"}, "not json", [], "3", {"a": {1, 2}}, {"pattern": 3}]
)
def test_it_refuses_a_bad_schema_when_it_is_set(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"(?i)schema"):
        load_evaluator("json_schema_validation", schema=schema)


ADDRESSES = [
    "http://127.0.0.1:9/s.json",
    "https://example.test/s.json",
    "file:///etc/hostname",
    "ftp://127.0.0.1/s",
    "/etc/hostname",
    "other.json",
    "urn:x:y",
]


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_it_reads_nothing_that_is_elsewhere(
    address: str, keyword: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = load_evaluator("json_schema_validation")
    schema.evaluate_strings(prediction="1", reference={"type": "integer"})

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("it went outside")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(ValueError, match="leads nowhere"):
        schema.evaluate_strings(prediction="1", reference={keyword: address})


def test_it_stops_patterns_of_schemas_that_take_too_long() -> None:
    slow = r"^(\w+\s?)*\d$"
    text = "word " * 12 + "!"
    for schema, prediction in (
        ({"pattern": slow}, f'"{text}"'),
        ({"patternProperties": {slow: {}}}, {text: 1}),
        ({"patternProperties": {slow: {}}, "additionalProperties": False}, {text: 1}),
    ):
        start = time.monotonic()
        load_evaluator("json_schema_validation").evaluate_batch(
            [{"prediction": prediction, "reference": schema}]
        )
        assert time.monotonic() - start < 5


def test_it_stops_patterns_that_tell_what_is_unevaluated() -> None:
    slow = {"patternProperties": {r"^(a|a)*$": {}}, "unevaluatedProperties": False}
    quick = {"patternProperties": {"^x-": {}}, "unevaluatedProperties": False}
    schema = load_evaluator("json_schema_validation")
    rows: list[dict[str, Any]] = [
        {"prediction": {"x-a": 1}, "reference": quick},
        {"prediction": {"y": 1}, "reference": quick},
    ]
    assert [row["score"] for row in schema.evaluate_batch(rows)] == [1, 0]
    start = time.monotonic()
    [row] = schema.evaluate_batch([{"prediction": {"a" * 60 + "!": 1}, "reference": slow}])
    assert time.monotonic() - start < 5
    assert row["error_type"] == "OutOfTime"
    assert schema.evaluate_batch(rows)[0] == {"score": 1}


TWICE = '{"a": 1, "b": {"c": 1, "c": 2}}'


@pytest.mark.parametrize(
    ("name", "reference", "worst"),
    [
        ("json_validity", None, 0),
        ("json_equality", {"a": 1, "b": {"c": 2}}, 0),
        ("json_edit_distance", {"a": 1, "b": {"c": 2}}, 1.0),
        ("json_schema_validation", {"type": "object"}, 0),
    ],
)
def test_it_refuses_a_key_twice_if_told_to(name: str, reference: Any, worst: float) -> None:
    row = {"prediction": TWICE, **({} if reference is None else {"reference": reference})}
    best = 1 - worst
    assert load_evaluator(name).evaluate_batch([row])[0]["score"] == best
    for options in ({}, {} if name == "json_validity" else {"allow_partial": True}):
        strict = load_evaluator(name, reject_duplicate_keys=True, **options)
        result = strict.evaluate_batch([row])[0]
        assert result["score"] == worst
        assert "'c'" in result["reasoning"]
        assert strict.evaluate_strings(**row) == result


def test_it_builds_one_validator_for_one_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    from jsonschema.validators import Draft202012Validator

    checks = []
    check = Draft202012Validator.check_schema

    def counted(schema: Any) -> None:
        checks.append(schema)
        check(schema)

    monkeypatch.setattr(Draft202012Validator, "check_schema", counted)
    schema = {"type": "integer", "title": "only here"}
    rows = [{"prediction": str(number), "reference": dict(schema)} for number in range(20)]
    results = load_evaluator("json_schema_validation").evaluate_batch(rows)
    assert [result["score"] for result in results] == [1] * 20
    assert len(checks) == 1


def test_it_gives_each_row_of_a_schema_its_own_result_or_error() -> None:
    schema = {"type": "integer"}
    rows: list[dict[str, Any]] = [
        {"prediction": "1", "reference": schema},
        {"prediction": '"x"', "reference": schema},
        {"reference": schema},
        {"prediction": DEEP, "reference": schema},
        {"prediction": "1", "reference": None},
        {"prediction": "1", "reference": {"type": "string"}},
        {"prediction": "2", "reference": schema},
    ]
    results = load_evaluator("json_schema_validation").evaluate_batch(rows)
    assert [result["score"] for result in results] == [1, 0, None, None, None, 0, 1]
    assert [result.get("error_type") for result in results[2:5]] == [
        "TypeError",
        "TooDeep",
        "ValueError",
    ]


def test_it_sees_that_a_schema_was_changed() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    loaded = load_evaluator("json_schema_validation")
    assert loaded.evaluate_strings(prediction="1", reference=schema)["score"] == 1
    schema["type"] = "string"
    assert loaded.evaluate_strings(prediction="1", reference=schema)["score"] == 0


def test_it_ends_a_schema_that_refers_to_itself_for_ever() -> None:
    row = {"prediction": "1", "reference": {"$ref": "#"}}
    [result] = load_evaluator("json_schema_validation").evaluate_batch([row])
    assert result["error_type"] == "ValueError"
