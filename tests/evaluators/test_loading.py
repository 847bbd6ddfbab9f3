"""Loading by name, against what was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators import load_evaluator, load_evaluators
from tests.evaluators.golden_cases import Judge, Vectors, cases, decode, identifier

LOADERS: dict[str, Any] = {"load_evaluator": load_evaluator, "load_evaluators": load_evaluators}


def _loaded(case: dict[str, Any]) -> Any:
    args = {
        name: Vectors({}) if value == "$fake" else decode(value)
        for name, value in case["args"].items()
    }
    return LOADERS[case["call"]](**args, llm=Judge("Y"))


@pytest.mark.parametrize("case", cases("loading"), ids=identifier)
def test_it_loads_what_was_recorded(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValueError, match=r".+"):
            _loaded(case)
        return
    loaded = _loaded(case)
    wanted = case["expected"]
    if isinstance(wanted, dict):
        loaded, wanted = [loaded], [wanted]
    for evaluator, facts in zip(loaded, wanted, strict=True):
        assert type(evaluator).__name__ == facts["class"]
        assert evaluator.requires_input == facts["requires_input"]
        assert evaluator.requires_reference == facts["requires_reference"]
        assert facts.get("evaluation_name", evaluator.evaluation_name) == evaluator.evaluation_name
