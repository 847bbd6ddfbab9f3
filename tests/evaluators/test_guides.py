"""Own evaluators as LangChain's guides shape them: typed from `typing`, a chain inside, actions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

import pytest

from evaluators import AgentTrajectoryEvaluator, PairwiseStringEvaluator, StringEvaluator


@dataclass
class Action:
    """Has what an agent's action has there."""

    tool: str
    tool_input: str
    log: str = ""


class Chain:
    """Has what a chain has there: `invoke`, with a mapping."""

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: list[dict[str, Any]] = []

    def invoke(self, values: dict[str, Any], **kwargs: Any) -> str:
        self.asked.append(values)
        return self.reply


class SpreadEvaluator(StringEvaluator):
    def __init__(self, model_id: str = "tiny") -> None:
        self.model_id = model_id

    def _evaluate_strings(
        self,
        *,
        prediction: str,
        reference: Optional[str] = None,  # noqa: UP045
        input: Optional[str] = None,  # noqa: UP045
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"score": len(set(prediction))}


class LongerWins(PairwiseStringEvaluator):
    def _evaluate_string_pairs(
        self,
        *,
        prediction: str,
        prediction_b: str,
        reference: Optional[str] = None,  # noqa: UP045
        input: Optional[str] = None,  # noqa: UP045
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"score": int(len(prediction.split()) > len(prediction_b.split()))}


class ChainPrefers(PairwiseStringEvaluator):
    def __init__(self) -> None:
        self.eval_chain = Chain("Shorter.\n\nPreference: 2")

    @property
    def requires_input(self) -> bool:
        return True

    @property
    def requires_reference(self) -> bool:
        return False

    def _evaluate_string_pairs(
        self, *, prediction: str, prediction_b: str, input: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        shown = {"input": input, "prediction": prediction, "prediction_b": prediction_b}
        reasoning, preference = self.eval_chain.invoke(shown).split("Preference: ", maxsplit=1)
        score = 1.0 if preference == "1" else 0.0
        return {"reasoning": reasoning.strip(), "value": preference, "score": score}


class NeededSteps(AgentTrajectoryEvaluator):
    def __init__(self) -> None:
        self.chain = Chain("All needed.\nY")

    def _evaluate_agent_trajectory(
        self,
        *,
        prediction: str,
        input: str,
        agent_trajectory: Sequence[tuple[Action, str]],
        reference: Optional[str] = None,  # noqa: UP045
        **kwargs: Any,
    ) -> dict[str, Any]:
        steps = [
            f"{number}: Action=[{action.tool}] returned observation = [{observation}]"
            for number, (action, observation) in enumerate(agent_trajectory)
        ]
        reply = self.chain.invoke({"trajectory": "\n".join(steps), "input": input})
        decision = reply.split("\n")[-1].strip()
        return {"score": int(decision == "Y"), "value": decision, "reasoning": reply}


STEPS = {
    "prediction": "It is Monday.",
    "input": "What day is it?",
    "agent_trajectory": [(Action("calendar", "today"), "Monday")],
}


def test_they_give_one_result_in_three_calls() -> None:
    cases: list[tuple[Any, dict[str, Any], float]] = [
        (SpreadEvaluator(model_id="tiny"), {"prediction": "abca"}, 3),
        (LongerWins(), {"prediction": "one two", "prediction_b": "one"}, 1),
        (ChainPrefers(), {"prediction": "a", "prediction_b": "b", "input": "q"}, 0),
        (NeededSteps(), STEPS, 1),
    ]
    for evaluator, row, score in cases:
        result = evaluator.evaluate_row(row)
        assert result["score"] == score
        assert asyncio.run(evaluator.aevaluate_row(row)) == result
        assert evaluator.evaluate_batch([row, row]) == [result, result]


def test_their_needs_are_checked_by_their_own_names() -> None:
    with pytest.raises(ValueError, match=r"^ChainPrefers requires an input string\.$"):
        ChainPrefers().evaluate_string_pairs(prediction="a", prediction_b="b")
    with pytest.warns(UserWarning, match="Ignoring reference in LongerWins, as it is not expected"):
        LongerWins().evaluate_string_pairs(prediction="a", prediction_b="b", reference="r")


def test_what_reaches_the_chain_is_what_was_given() -> None:
    evaluator = NeededSteps()
    evaluator.evaluate_agent_trajectory(**STEPS)
    assert evaluator.chain.asked == [
        {
            "trajectory": "0: Action=[calendar] returned observation = [Monday]",
            "input": "What day is it?",
        }
    ]
