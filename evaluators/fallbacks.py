"""Evaluators and models with others to fall back on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluators.base import (
    Evaluator,
    PairwiseStringEvaluator,
    Result,
    Row,
    StringEvaluator,
)
from evaluators.errors import (
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ProviderError,
    RateLimited,
    UnreadableReply,
)
from evaluators.kinds import Family
from evaluators.llm.fallback import FallbackModel
from evaluators.llm.retries import may_be_answered_elsewhere
from evaluators.trajectory_base import AgentTrajectoryEvaluator

_PASSED_ON = {
    one.__name__
    for one in (
        ModelError,
        RateLimited,
        ModelTimeout,
        ContextOverflow,
        ProviderError,
        UnreadableReply,
    )
}


def with_fallbacks(choices: Sequence[Any]) -> Any:
    """The first of these models, or of these evaluators, that answers.

    The next one is asked on a rate limit, a time-out, a prompt too long for the model, a server
    that fails and a reply that the evaluator cannot read. Each evaluator uses its own prompt. The
    result has `answered_by`, the position of the one that answered.
    """
    evaluators = [isinstance(one, Evaluator) for one in choices]
    if not any(evaluators):
        return FallbackModel(choices)
    families = {one.family for one in choices if isinstance(one, Evaluator)}
    if not all(evaluators) or len(families) > 1:
        raise TypeError("Fallbacks must be all models, or all evaluators of one family.")
    return FALLBACKS[choices[0].family](choices)


class _Fallback(Evaluator):
    def __init__(self, choices: Sequence[Any]) -> None:
        self.choices = list(choices)

    @property
    def evaluation_name(self) -> str:
        """That of the first choice."""
        return str(self.choices[0].evaluation_name)

    @property
    def requires_input(self) -> bool:
        """As the first choice says."""
        return bool(self.choices[0].requires_input)

    @property
    def requires_reference(self) -> bool:
        """As the first choice says."""
        return bool(self.choices[0].requires_reference)

    @property
    def uses_reference(self) -> bool:
        """As the first choice says."""
        return bool(self.choices[0].uses_reference)

    @property
    def higher_is_better(self) -> bool | None:
        """As the first choice says."""
        return self.choices[0].higher_is_better  # type: ignore[no-any-return]

    def check_arguments(self, reference: object = None, input: object = None) -> None:
        """Left to the choices: each looks at what it is asked."""

    def first(self, **row: Any) -> Result:
        """The result of the first choice that answers."""
        for position, choice in enumerate(self.choices[:-1]):
            try:
                result = choice.evaluate_row(row)
            except (ModelError, UnreadableReply) as error:
                _pass_on(error)
            else:
                if result.get("error_type") not in _PASSED_ON:
                    return {**result, "answered_by": position}
        return _answered(self.choices[-1].evaluate_row(row), len(self.choices) - 1)

    async def afirst(self, **row: Any) -> Result:
        """The async twin of `first`."""
        for position, choice in enumerate(self.choices[:-1]):
            try:
                result = await choice.aevaluate_row(row)
            except (ModelError, UnreadableReply) as error:
                _pass_on(error)
            else:
                if result.get("error_type") not in _PASSED_ON:
                    return {**result, "answered_by": position}
        return _answered(await self.choices[-1].aevaluate_row(row), len(self.choices) - 1)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        results: list[Result] = [{} for _ in rows]
        waiting = list(range(len(rows)))
        for position, choice in enumerate(self.choices):
            for at, result in zip(
                waiting, choice.evaluate_batch([rows[at] for at in waiting]), strict=True
            ):
                results[at] = _answered(result, position)
            waiting = [at for at in waiting if results[at].get("error_type") in _PASSED_ON]
        return results

    async def aevaluate_batch(self, rows: Sequence[Row], concurrency: int = 8) -> list[Result]:
        """The async twin of `evaluate_batch`, with at most `concurrency` rows at a time."""
        return await self._gather(rows, concurrency)


def _answered(result: Result, position: int) -> Result:
    return result if "error_type" in result else {**result, "answered_by": position}


def _pass_on(error: Exception) -> None:
    if not (isinstance(error, UnreadableReply) or may_be_answered_elsewhere(error)):
        raise error


class FallbackString(_Fallback, StringEvaluator):
    """The first of several evaluators of one answer that gives a score."""

    def _evaluate_strings(self, **row: Any) -> Result:
        return self.first(**row)

    async def _aevaluate_strings(self, **row: Any) -> Result:
        return await self.afirst(**row)


class FallbackPairwise(_Fallback, PairwiseStringEvaluator):
    """The first of several evaluators of two answers that gives a verdict."""

    def _evaluate_string_pairs(self, **row: Any) -> Result:
        return self.first(**row)

    async def _aevaluate_string_pairs(self, **row: Any) -> Result:
        return await self.afirst(**row)


class FallbackTrajectory(_Fallback, AgentTrajectoryEvaluator):
    """The first of several evaluators of an agent's steps that gives a score."""

    def _evaluate_agent_trajectory(self, **row: Any) -> Result:
        return self.first(**row)

    async def _aevaluate_agent_trajectory(self, **row: Any) -> Result:
        return await self.afirst(**row)


FALLBACKS: dict[Family, Any] = {
    "string": FallbackString,
    "pairwise": FallbackPairwise,
    "trajectory": FallbackTrajectory,
}
