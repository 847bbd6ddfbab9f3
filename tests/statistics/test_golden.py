import json
from pathlib import Path
from typing import Any

import pytest

from evaluators.statistics import OPS

CASES = json.loads(Path(__file__).with_name("golden.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_it_reproduces_the_published_value(case: dict[str, Any]) -> None:
    result = OPS[case["op"]](**case["inputs"])
    json.dumps(result, allow_nan=False)
    assert result["reason"] is None or case["op"] == "bt_identifiable"
    for key, expected in case["expected"].items():
        assert_close(result[key], expected, case["abs_tol"])


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key, value in expected.items():
            assert_close(actual[key], value, tolerance)
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, value in zip(actual, expected, strict=True):
            assert_close(one, value, tolerance)
    elif isinstance(expected, bool | str | None):
        assert actual == expected
        assert type(actual) is type(expected)
    else:
        assert type(actual) in (int, float)
        assert abs(actual - expected) <= tolerance + 1e-12


def test_the_registry_holds_every_operation() -> None:
    assert {case["op"] for case in CASES} == OPS.keys()
    assert len(OPS) == 32
