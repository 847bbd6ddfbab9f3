"""Regular expressions: modes, flags, time limit, bad patterns."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from evaluators import OutOfTime, load_evaluator
from evaluators.patterns import within_time

MATCHES: list[tuple[str, str, dict[str, Any], int]] = [
    ("say yes", "yes", {}, 0),
    ("say yes", "yes", {"mode": "search"}, 1),
    ("yes!", "yes", {"mode": "fullmatch"}, 0),
    ("YES", "yes", {"flags": int(re.IGNORECASE)}, 1),
    ("٣", r"\d", {"flags": int(re.ASCII)}, 0),
    ("a\nb", "a.b", {"flags": int(re.DOTALL)}, 1),
    ("a", "[[:alpha:]]", {}, 0),
    (":]", "[[:alpha:]]", {}, 1),
    ("[:", r"\[:", {}, 1),
    ("xay", "[[]a|a", {"mode": "search"}, 1),
]


@pytest.mark.parametrize(("prediction", "reference", "settings", "score"), MATCHES)
def test_it_matches_as_python_does(
    prediction: str, reference: str, settings: dict[str, Any], score: int
) -> None:
    match = load_evaluator("regex_match", **settings)
    row = {"prediction": prediction, "reference": reference}
    assert match.evaluate_strings(**row) == {"score": score}


SLOW = [
    ("(a+)+$", "a" * 40 + "!"),
    (r"^(\w+\s?)*$", "word " * 20 + "!"),
    ("(a|aa)+$", "a" * 60 + "!"),
    ("^(a|aa)+$", "a" * 60 + "b"),
    (r"(x+x+)+y", "x" * 40),
]


@pytest.mark.parametrize(("pattern", "text"), SLOW)
def test_it_never_hangs(pattern: str, text: str) -> None:
    start = time.monotonic()
    [result] = load_evaluator("regex_match").evaluate_batch(
        [{"prediction": text, "reference": pattern}]
    )
    assert time.monotonic() - start < 10
    assert result["score"] in (0, None)
    if result["score"] is None:
        assert result["error_type"] == "OutOfTime"


def test_it_turns_a_time_out_into_an_error_of_its_own() -> None:
    def endless(text: str, timeout: float) -> None:
        raise TimeoutError

    with pytest.raises(OutOfTime, match=r"0\.5 seconds"):
        within_time(endless, "x", 0.5)


def test_it_names_a_bad_pattern() -> None:
    for pattern in ("(", r"\p{L}", "a{99999999999999999999}"):
        with pytest.raises(ValueError, match="Bad pattern") as caught:
            load_evaluator("regex_match").evaluate_strings(prediction="a", reference=pattern)
        assert repr(pattern) in str(caught.value)


def test_it_checks_one_pattern_for_all_rows_at_once() -> None:
    with pytest.raises(ValueError, match="Bad pattern"):
        load_evaluator("regex_match", pattern="(")
    match = load_evaluator("regex_match", pattern="^a")
    assert not match.requires_reference
    assert match.evaluate_strings(prediction="ab") == {"score": 1}


@pytest.mark.parametrize(
    "settings", [{"mode": "find"}, {"flags": "IGNORECASE"}, {"time_limit": 3}, {"time_limit": 0}]
)
def test_it_refuses_settings_it_cannot_keep(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        load_evaluator("regex_match", **settings)
