"""The three bases of all evaluators, and what a call, its async twin and its batch share."""

from __future__ import annotations

import asyncio
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from evaluators.kinds import Family, Kind

Result = dict[str, Any]
Row = Mapping[str, Any]


def row_error(error: Exception) -> Result:
    """The result of a row that failed: score None, `error`, `error_type`, and `reply` if any."""
    result: Result = {
        "score": None,
        "error": str(error) or type(error).__name__,
        "error_type": type(error).__name__,
    }
    reply = getattr(error, "reply", None)
    return result if reply is None else {**result, "reply": reply}


class Evaluator(ABC):
    """What string, pairwise and trajectory evaluators have in common."""

    family: ClassVar[Family]
    kind: ClassVar[Kind | None] = None

    @property
    def evaluation_name(self) -> str:
        """What a score column of this evaluator is called."""
        return self.kind.name if self.kind else type(self).__name__

    @property
    def requires_input(self) -> bool:
        """Whether a call without `input` is refused."""
        return False

    @property
    def requires_reference(self) -> bool:
        """Whether a call without `reference` is refused."""
        return False

    @property
    def uses_input(self) -> bool:
        """Whether an input is of use, so that giving one is worth no warning."""
        return self.requires_input

    @property
    def uses_reference(self) -> bool:
        """Whether a reference is of use, so that giving one is worth no warning."""
        return self.requires_reference

    @property
    def higher_is_better(self) -> bool | None:
        """True or False by the direction of the score, None if neither end is better."""
        return self.kind.higher_is_better if self.kind else True

    def check_arguments(self, reference: object = None, input: object = None) -> None:
        """Refuse what is missing with ValueError, warn of what is not expected."""
        name = type(self).__name__
        if self.requires_input and input is None:
            raise ValueError(f"{name} requires an input string.")
        if input is not None and not self.uses_input:
            warnings.warn(f"Ignoring input in {name}, as it is not expected.", stacklevel=3)
        if self.requires_reference and reference is None:
            raise ValueError(f"{name} requires a reference string.")
        if reference is not None and not self.uses_reference:
            warnings.warn(f"Ignoring reference in {name}, as it is not expected.", stacklevel=3)

    @abstractmethod
    def evaluate_row(self, row: Row) -> Result:
        """One row: a mapping of the call's keyword arguments."""

    @abstractmethod
    async def aevaluate_row(self, row: Row) -> Result:
        """The async twin of `evaluate_row`."""

    def evaluate_batch(self, rows: Sequence[Row]) -> list[Result]:
        """One result per row, in order; a row that fails gives its `row_error`."""
        return self._evaluate_rows(rows)

    async def aevaluate_batch(self, rows: Sequence[Row], concurrency: int = 8) -> list[Result]:
        """The async twin of `evaluate_batch`, with at most `concurrency` rows at a time."""
        if type(self)._evaluate_rows is not Evaluator._evaluate_rows:
            return await asyncio.to_thread(self.evaluate_batch, rows)
        return await self._gather(rows, concurrency)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        return [self._safe_row(row) for row in rows]

    async def _gather(self, rows: Sequence[Row], concurrency: int) -> list[Result]:
        gate = asyncio.Semaphore(concurrency)

        async def one(row: Row) -> Result:
            async with gate:
                try:
                    return await self.aevaluate_row(row)
                except Exception as error:
                    return row_error(error)

        return list(await asyncio.gather(*map(one, rows)))

    def _safe_row(self, row: Row) -> Result:
        try:
            return self.evaluate_row(row)
        except Exception as error:
            return row_error(error)


class StringEvaluator(Evaluator):
    """Scores one prediction: subclass it and write `_evaluate_strings`."""

    family = "string"

    @abstractmethod
    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result: ...

    async def _aevaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        return await asyncio.to_thread(
            self._evaluate_strings,
            prediction=prediction,
            reference=reference,
            input=input,
            **kwargs,
        )

    def evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        """The score of a prediction, as a dict with at least `score`."""
        self.check_arguments(reference=reference, input=input)
        return self._evaluate_strings(
            prediction=prediction, reference=reference, input=input, **kwargs
        )

    async def aevaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        """The async twin of `evaluate_strings`."""
        self.check_arguments(reference=reference, input=input)
        return await self._aevaluate_strings(
            prediction=prediction, reference=reference, input=input, **kwargs
        )

    def evaluate_row(self, row: Row) -> Result:
        """One row: a mapping of `evaluate_strings`' keyword arguments."""
        return self.evaluate_strings(**row)

    async def aevaluate_row(self, row: Row) -> Result:
        """The async twin of `evaluate_row`."""
        return await self.aevaluate_strings(**row)


class PairwiseStringEvaluator(Evaluator):
    """Compares two predictions: subclass it and write `_evaluate_string_pairs`."""

    family = "pairwise"

    @abstractmethod
    def _evaluate_string_pairs(
        self,
        *,
        prediction: Any,
        prediction_b: Any,
        reference: Any = None,
        input: Any = None,
        **kwargs: Any,
    ) -> Result: ...

    async def _aevaluate_string_pairs(
        self,
        *,
        prediction: Any,
        prediction_b: Any,
        reference: Any = None,
        input: Any = None,
        **kwargs: Any,
    ) -> Result:
        return await asyncio.to_thread(
            self._evaluate_string_pairs,
            prediction=prediction,
            prediction_b=prediction_b,
            reference=reference,
            input=input,
            **kwargs,
        )

    def evaluate_string_pairs(
        self,
        *,
        prediction: Any,
        prediction_b: Any,
        reference: Any = None,
        input: Any = None,
        **kwargs: Any,
    ) -> Result:
        """The verdict on two predictions, as a dict with at least `score`."""
        self.check_arguments(reference=reference, input=input)
        return self._evaluate_string_pairs(
            prediction=prediction,
            prediction_b=prediction_b,
            reference=reference,
            input=input,
            **kwargs,
        )

    async def aevaluate_string_pairs(
        self,
        *,
        prediction: Any,
        prediction_b: Any,
        reference: Any = None,
        input: Any = None,
        **kwargs: Any,
    ) -> Result:
        """The async twin of `evaluate_string_pairs`."""
        self.check_arguments(reference=reference, input=input)
        return await self._aevaluate_string_pairs(
            prediction=prediction,
            prediction_b=prediction_b,
            reference=reference,
            input=input,
            **kwargs,
        )

    def evaluate_row(self, row: Row) -> Result:
        """One row: a mapping of `evaluate_string_pairs`' keyword arguments."""
        return self.evaluate_string_pairs(**row)

    async def aevaluate_row(self, row: Row) -> Result:
        """The async twin of `evaluate_row`."""
        return await self.aevaluate_string_pairs(**row)
