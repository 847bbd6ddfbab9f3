"""Evaluators that stand on optional packages; those not installed are left out."""

from __future__ import annotations

import time
from typing import Any

import pytest

from evaluators import kind, load_evaluator

TABLE: list[tuple[str, dict[str, Any], Any, Any, float]] = [
    ("bleu", {}, "the cat sat on the mat", "the cat sat on the mat", 1),
    ("bleu", {}, "a b c d", "w x y z", 0),
    ("bleu", {"tokenize": "zh"}, "东京是日本的首都", "东京是日本的首都", 1),
    ("bleu", {}, "the cat sat on the mat", ["no", "the cat sat on the mat"], 1),
    ("chrf", {}, "东京是日本的首都", "东京是日本的首都", 1),
    ("chrf", {}, "abc", "xyz", 0),
    ("ter", {}, "the cat sat", "The cat sat", 0),
    ("ter", {"ignore_case": False}, "the cat sat", "The cat sat", 1 / 3),
    ("ter", {}, "sat the cat on the mat", "the cat sat on the mat", 1 / 6),
    ("ter", {}, "the dog", ["no", "the cat"], 2 / 3),
    ("ter", {"asian": True}, "东京是首府", "东京是首都", 1 / 5),
    ("word_error_rate", {}, "the cat sat", "the cat sat", 0),
    ("word_error_rate", {}, "the dog sat down", "the cat sat", 2 / 3),
    ("word_error_rate", {"unit": "characters"}, "abd", "abc", 1 / 3),
    ("sql_match", {}, "select A,b from T where 1=1 and x>2;", "SELECT a, b FROM t WHERE x > 2", 1),
    ("sql_match", {}, "```sql\nSELECT 1\n```", "select 1", 1),
    ("sql_match", {}, "select a from t", "select b from t", 0),
    ("sql_match", {}, "not sql at (", "select 1", 0),
    ("sql_match", {}, "So:\n```SQL\nSELECT 1;\n```\nDone.", "select 1", 1),
    (
        "sql_match",
        {},
        "select a from t inner join u on t.i = u.i",
        "select a from t join u on t.i = u.i",
        1,
    ),
    (
        "sql_match",
        {},
        "select a from t left outer join u on t.i = u.i",
        "select a from t left join u on t.i = u.i",
        1,
    ),
    (
        "sql_match",
        {},
        "select a from t left join u on t.i = u.i",
        "select a from t join u on t.i = u.i",
        0,
    ),
    ("sql_match", {}, "select a from t order by a asc", "select a from t order by a", 1),
    ("sql_match", {}, "select a from t order by a desc", "select a from t order by a", 0),
    ("sql_match", {"dialect": "mysql"}, "select `a` from t", "select a from t", 1),
    ("sql_match", {"dialect": "postgres"}, 'select "A" from t', "select a from t", 0),
    ("sql_match", {}, "sql select a from t", "select a from t", 1),
    ("math_match", {}, "答案是42。", "42", 1),
    ("math_match", {}, "共42个", "43", 0),
    ("math_match", {}, "So it is $\\frac{1}{2}$.", "0.5", 1),
    ("math_match", {}, "$x^2+2x+1$", "$(x+1)^2$", 1),
    ("math_match", {}, "The answer is 7", "8", 0),
    ("personal_data", {}, "Write to ann@example.org", None, 1),
    ("personal_data", {}, "Card 4111 1111 1111 1111", None, 1),
    ("personal_data", {}, "Card 4111 1111 1111 1112", None, 0),
    ("personal_data", {}, "The capital is Canberra.", None, 0),
    ("personal_data", {"only": "IBAN_CODE"}, "ann@example.org", None, 0),
    ("personal_data", {"only": "IBAN_CODE"}, "DE89370400440532013000", None, 1),
]


def _loaded(name: str, **settings: Any) -> Any:
    problem = kind(name).problem
    if problem:
        pytest.skip(problem)
    return load_evaluator(name, **settings)


@pytest.mark.parametrize(("name", "settings", "prediction", "reference", "score"), TABLE)
def test_it_scores_as_the_table_says(
    name: str, settings: dict[str, Any], prediction: Any, reference: Any, score: float
) -> None:
    loaded = _loaded(name, **settings)
    row = {"prediction": prediction}
    if loaded.requires_reference:
        row["reference"] = reference
    result = loaded.evaluate_strings(**row)
    assert result["score"] == pytest.approx(score)
    assert loaded.evaluate_batch([row]) == [result]


def test_it_stops_mathematics_without_end() -> None:
    maths = _loaded("math_match", time_limit=1.0)
    maths.evaluate_strings(prediction="1", reference="1")
    start = time.monotonic()
    [row] = maths.evaluate_batch([{"prediction": "$9^{9^{9^9}}$", "reference": "$8^{9^{9^9}}$"}])
    assert time.monotonic() - start < 10
    assert row["score"] in (0, None)
    assert maths.evaluate_strings(prediction="2", reference="2") == {"score": 1}


def test_it_refuses_settings_it_does_not_know() -> None:
    refused: list[tuple[str, dict[str, Any]]] = [
        ("sql_match", {"dialect": "klingon"}),
        ("personal_data", {"only": "SHOE_SIZE"}),
        ("word_error_rate", {"unit": "pages"}),
    ]
    for name, settings in refused:
        if kind(name).available:
            with pytest.raises(ValueError, match=r"[Uu]nknown|must be"):
                load_evaluator(name, **settings)


def test_it_cannot_be_loaded_without_its_package() -> None:
    for name in ("bleu", "word_error_rate", "sql_match", "math_match", "personal_data"):
        if not kind(name).available:
            with pytest.raises(ValueError, match="pip install"):
                load_evaluator(name)
