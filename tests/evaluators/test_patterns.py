"""Regular expressions: modes, flags, time limit, bad patterns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evaluators import OutOfTime, load_evaluator, patterns
from evaluators.processes import within_process

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
    ("Dear Ann", "Dear {d}", {}, 0),
    ("Dear {d}", "Dear {d}", {}, 1),
    ("bc", "ab{e}", {"mode": "search"}, 0),
    ("ab{1<=e<=3}", "ab{1<=e<=3}", {"mode": "fullmatch"}, 1),
    ("aab{x}", r"a{2}b\{x}", {"mode": "fullmatch"}, 1),
    ("{A", r"{\N{LATIN CAPITAL LETTER A}", {"mode": "fullmatch"}, 1),
    ("b{", "b[{x]", {"mode": "fullmatch"}, 1),
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


def test_it_turns_a_time_out_into_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def match(self, text: str, timeout: float) -> None:
            raise TimeoutError

    monkeypatch.setattr(patterns, "compiled", lambda pattern, flags: Endless())
    with pytest.raises(OutOfTime, match=r"0\.5 seconds"):
        patterns.matches("x", "x", "match", seconds=0.5)


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


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\w+\s\w+", "a\u0301 b"),
        (r"\w+$", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        (r"a\b.", "a\u0301"),
        (r"a\sb", "a\x1cb"),
        (r"\w", "\u00b2"),
        (r"[\W]", "\u203f"),
        (r"(?i)i", "\u0131"),
        (r"(?si).i", "x\u0130"),
        (r"i\u0307", "\u0130"),
        (r"(?a:\w)?\w", "\u00e9"),
        (r"\B", ""),
    ],
)
@pytest.mark.parametrize("mode", ["match", "search", "fullmatch"])
@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_it_reads_words_blanks_and_case_as_python_does(
    pattern: str, text: str, mode: str, flags: int
) -> None:
    wanted = int(getattr(re.compile(pattern, flags), mode)(text) is not None)
    match = load_evaluator("regex_match", mode=mode, flags=int(flags))
    assert match.evaluate_strings(prediction=text, reference=pattern) == {"score": wanted}
    if mode == "search" and not flags:
        schema = load_evaluator("json_schema_validation", schema={"pattern": pattern})
        assert schema.evaluate_strings(prediction=json.dumps(text))["score"] == wanted


def test_it_stops_in_time_on_such_characters_too() -> None:
    match = load_evaluator("regex_match", time_limit=0.5)
    match.evaluate_strings(prediction="a\u0301", reference=r"\w")
    start = time.monotonic()
    with pytest.raises(OutOfTime):
        match.evaluate_strings(prediction="a" * 40 + "\u0301", reference=r"(\w+\w?)+$")
    assert time.monotonic() - start < 5


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\n"
        "from evaluators import load_evaluator\n"
        "match = load_evaluator('regex_match')\n"
        "print(match.evaluate_strings(prediction='a\\u0301', reference=r'\\w'))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.split("\n") == ["once", "{'score': 1}", ""]


def test_a_process_that_dies_is_an_error_of_its_row() -> None:
    with pytest.raises(ValueError, match="ended its process"):
        within_process(os._exit, (3,), 5.0)
    assert within_process(len, ("abc",), 5.0) == 3
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        within_process(divmod, (1, 0), 5.0)
