"""Own evaluators on the three bases: what is checked, what reaches them, what batches give."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

from evaluators import (
    AgentTrajectoryEvaluator,
    PairwiseStringEvaluator,
    Result,
    StringEvaluator,
    UnreadableReply,
    row_error,
)
from tests.evaluators.golden_cases import agrees, cases, identifier, outcomes


def _seen(reference: Any, input: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"reference": reference, "input": input, "extra": sorted(kwargs)}


class WordCount(StringEvaluator):
    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        return {"score": len(prediction.split()), "seen": _seen(reference, input, kwargs)}


class MoreWords(PairwiseStringEvaluator):
    def _evaluate_string_pairs(
        self,
        *,
        prediction: Any,
        prediction_b: Any,
        reference: Any = None,
        input: Any = None,
        **kwargs: Any,
    ) -> Result:
        more = len(prediction.split()) > len(prediction_b.split())
        return {"score": int(more), "seen": _seen(reference, input, kwargs)}


class StepCount(AgentTrajectoryEvaluator):
    def _evaluate_agent_trajectory(
        self,
        *,
        prediction: Any,
        agent_trajectory: Any,
        input: Any,
        reference: Any = None,
        **kwargs: Any,
    ) -> Result:
        return {"score": len(agent_trajectory), "seen": _seen(reference, input, kwargs)}


BASES = {"string": WordCount, "pairwise": MoreWords, "trajectory": StepCount}


def _own(config: dict[str, Any]) -> Any:
    settings: dict[str, Any] = {
        name: config[name] for name in ("requires_input", "requires_reference") if name in config
    }
    return type(config["class_name"], (BASES[config["kind"]],), settings)()


@pytest.mark.parametrize("case", cases("custom"), ids=identifier)
def test_it_checks_arguments_as_recorded(case: dict[str, Any]) -> None:
    names = ("input", "prediction", "prediction_b", "reference", "agent_trajectory")
    row = {name: case[name] for name in names if name in case} | case.get("extra_args", {})
    for outcome in outcomes(lambda: (_own(case["config"]), None), row):
        if "error" in case:
            assert outcome.error
            assert case.get("error_message", outcome.error) == outcome.error
        else:
            assert agrees(outcome.result, case["expected"])
        assert [text.split(",")[0] for text in outcome.warned] == [
            text.split(",")[0] for text in case.get("warnings", [])
        ]


def test_it_is_called_by_its_class() -> None:
    assert WordCount().evaluation_name == "WordCount"


def test_it_gives_an_error_row_for_a_row_that_fails() -> None:
    rows: list[dict[str, Any]] = [{"prediction": "a b"}, {"prediction": 3}, {"prediction": "c"}]
    results = WordCount().evaluate_batch(rows)
    assert [result["score"] for result in results] == [2, None, 1]
    assert results[1]["error_type"] == "AttributeError"
    assert asyncio.run(WordCount().aevaluate_batch(rows)) == results


def test_it_keeps_a_judges_reply_in_the_error_row() -> None:
    assert row_error(UnreadableReply("no verdict", "raw")) == {
        "score": None,
        "error": "no verdict",
        "error_type": "UnreadableReply",
        "reply": "raw",
    }


def test_it_runs_at_most_so_many_rows_at_a_time() -> None:
    running, most = 0, 0

    class Slow(WordCount):
        async def _aevaluate_strings(self, **arguments: Any) -> Result:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1
            return {"score": 1}

    results = asyncio.run(Slow().aevaluate_batch([{"prediction": "a"}] * 9, concurrency=3))
    assert (len(results), most) == (9, 3)


def test_it_takes_properties_as_the_guides_write_them() -> None:
    class Guide(WordCount):
        @property
        def requires_reference(self) -> bool:
            return True

        @property
        def evaluation_name(self) -> str:
            return "scored"

    assert Guide().evaluation_name == "scored"
    with pytest.raises(ValueError, match=r"^Guide requires a reference string\.$"):
        Guide().evaluate_strings(prediction="a")


def test_it_warns_at_the_callers_line() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        WordCount().evaluate_strings(prediction="a", input="q")
    assert seen[0].filename == __file__
