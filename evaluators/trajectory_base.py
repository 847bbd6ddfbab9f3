"""The base of evaluators that look at an agent's steps."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Any

from evaluators.base import Evaluator, Result, Row


class AgentTrajectoryEvaluator(Evaluator):
    """Scores an agent's steps: subclass it and write `_evaluate_agent_trajectory`."""

    family = "trajectory"

    @property
    def requires_input(self) -> bool:
        """True: steps can only be judged against the question."""
        return True

    @abstractmethod
    def _evaluate_agent_trajectory(
        self,
        *,
        prediction: Any,
        agent_trajectory: Any,
        input: Any,
        reference: Any = None,
        **kwargs: Any,
    ) -> Result: ...

    async def _aevaluate_agent_trajectory(
        self,
        *,
        prediction: Any,
        agent_trajectory: Any,
        input: Any,
        reference: Any = None,
        **kwargs: Any,
    ) -> Result:
        return await asyncio.to_thread(
            self._evaluate_agent_trajectory,
            prediction=prediction,
            agent_trajectory=agent_trajectory,
            input=input,
            reference=reference,
            **kwargs,
        )

    def evaluate_agent_trajectory(
        self,
        *,
        prediction: Any,
        agent_trajectory: Any,
        input: Any,
        reference: Any = None,
        **kwargs: Any,
    ) -> Result:
        """The score of an agent's steps, as a dict with at least `score`."""
        self.check_arguments(reference=reference, input=input)
        return self._evaluate_agent_trajectory(
            prediction=prediction,
            agent_trajectory=agent_trajectory,
            input=input,
            reference=reference,
            **kwargs,
        )

    async def aevaluate_agent_trajectory(
        self,
        *,
        prediction: Any,
        agent_trajectory: Any,
        input: Any,
        reference: Any = None,
        **kwargs: Any,
    ) -> Result:
        """The async twin of `evaluate_agent_trajectory`."""
        self.check_arguments(reference=reference, input=input)
        return await self._aevaluate_agent_trajectory(
            prediction=prediction,
            agent_trajectory=agent_trajectory,
            input=input,
            reference=reference,
            **kwargs,
        )

    def evaluate_row(self, row: Row) -> Result:
        """One row: a mapping of `evaluate_agent_trajectory`'s keyword arguments."""
        return self.evaluate_agent_trajectory(**row)

    async def aevaluate_row(self, row: Row) -> Result:
        """The async twin of `evaluate_row`."""
        return await self.aevaluate_agent_trajectory(**row)
