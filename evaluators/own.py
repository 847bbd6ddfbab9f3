"""Evaluators of one's own without a base class: a function, or a dataclass with `evaluate`."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any

from evaluators.base import Evaluator, PairwiseStringEvaluator, Result, StringEvaluator
from evaluators.kinds import Family
from evaluators.running import run_to_end
from evaluators.trajectory_base import AgentTrajectoryEvaluator

CALL_ARGUMENTS = ("prediction", "prediction_b", "reference", "input", "agent_trajectory")


def as_result(value: Any) -> Result:
    """A score or a result dict as a result dict; ValueError for what is no score."""
    result = value if isinstance(value, dict) else {"score": value}
    if "score" not in result:
        raise ValueError("The evaluator returned a dict without `score`.")
    return {**result, "score": _number(result["score"])}


def _number(score: Any) -> int | float | None:
    plain = score.item() if hasattr(score, "item") else score
    if isinstance(plain, Integral):
        return int(plain)
    if isinstance(plain, Real) and math.isfinite(plain):
        return float(plain)
    if plain is None:
        return None
    raise ValueError(f"The evaluator returned {score!r}, not a score.")


class _Own(Evaluator):
    """Calls a function with those of the arguments that it takes."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name
        self.parameters = inspect.signature(function).parameters

    @property
    def evaluation_name(self) -> str:
        """The name it was registered under."""
        return self.name

    @property
    def requires_input(self) -> bool:
        """Whether its `input` has no default."""
        return _has_no_default(self.parameters, "input")

    @property
    def requires_reference(self) -> bool:
        """Whether its `reference` has no default."""
        return _has_no_default(self.parameters, "reference")

    @property
    def uses_input(self) -> bool:
        """Whether it takes an input."""
        return "input" in self.parameters

    @property
    def uses_reference(self) -> bool:
        """Whether it takes a reference."""
        return "reference" in self.parameters

    def call(self, **arguments: Any) -> Result:
        """The result for one row; a coroutine function is run to its end."""
        value = self.function(**self._taken(arguments))
        return as_result(run_to_end(value) if inspect.isawaitable(value) else value)

    async def acall(self, **arguments: Any) -> Result:
        """The async twin of `call`; a plain function runs in a thread."""
        if inspect.iscoroutinefunction(self.function):
            return as_result(await self.function(**self._taken(arguments)))
        return await asyncio.to_thread(partial(self.call, **arguments))

    def _taken(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if any(one.kind is one.VAR_KEYWORD for one in self.parameters.values()):
            return arguments
        return {name: value for name, value in arguments.items() if name in self.parameters}


class OwnStringEvaluator(_Own, StringEvaluator):
    """A function that scores one prediction."""

    def _evaluate_strings(self, **arguments: Any) -> Result:
        return self.call(**arguments)

    async def _aevaluate_strings(self, **arguments: Any) -> Result:
        return await self.acall(**arguments)


class OwnPairwiseEvaluator(_Own, PairwiseStringEvaluator):
    """A function that compares two predictions."""

    def _evaluate_string_pairs(self, **arguments: Any) -> Result:
        return self.call(**arguments)

    async def _aevaluate_string_pairs(self, **arguments: Any) -> Result:
        return await self.acall(**arguments)


class OwnTrajectoryEvaluator(_Own, AgentTrajectoryEvaluator):
    """A function that scores an agent's steps."""

    def _evaluate_agent_trajectory(self, **arguments: Any) -> Result:
        return self.call(**arguments)

    async def _aevaluate_agent_trajectory(self, **arguments: Any) -> Result:
        return await self.acall(**arguments)


OWN: dict[Family, type[_Own]] = {
    "string": OwnStringEvaluator,
    "pairwise": OwnPairwiseEvaluator,
    "trajectory": OwnTrajectoryEvaluator,
}


def family_of(parameters: Any) -> Family:
    """The family that the arguments of a function belong to."""
    if "agent_trajectory" in parameters:
        return "trajectory"
    return "pairwise" if "prediction_b" in parameters else "string"


def _has_no_default(parameters: Any, name: str) -> bool:
    return name in parameters and parameters[name].default is inspect.Parameter.empty
