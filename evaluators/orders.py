"""Pairwise judges that favour a place: both orders, or an order by lot."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from evaluators.base import PairwiseStringEvaluator, Result, Row
from evaluators.texts import as_text

_MIRRORED = {"A": "B", "B": "A"}


def in_both_orders(pairwise: PairwiseStringEvaluator) -> BothOrders:
    """A pairwise evaluator that asks `pairwise` twice, with the sides exchanged.

    A verdict stands if both agree; else it is a tie with `consistent` False.
    """
    return BothOrders(pairwise)


def in_random_order(pairwise: PairwiseStringEvaluator, seed: int = 0) -> RandomOrder:
    """A pairwise evaluator that shows the sides in an order by lot, and says who was first.

    The same seed and texts give the same order.
    """
    return RandomOrder(pairwise, seed)


def swapped(row: Row) -> dict[str, Any]:
    """A row with its predictions exchanged."""
    return {**row, "prediction": row["prediction_b"], "prediction_b": row["prediction"]}


def mirrored(result: Result) -> Result:
    """A result as if the sides had not been exchanged; an error stays what it is."""
    if result.get("score") is None:
        return result
    value = result.get("value")
    return {**result, "value": _MIRRORED.get(str(value), value), "score": 1 - result["score"]}


class _Ordered(PairwiseStringEvaluator):
    def __init__(self, pairwise: PairwiseStringEvaluator) -> None:
        if getattr(pairwise, "family", None) != "pairwise":
            raise TypeError("Only a pairwise evaluator has an order.")
        self.pairwise = pairwise

    @property
    def evaluation_name(self) -> str:
        """As the evaluator says."""
        return self.pairwise.evaluation_name

    @property
    def requires_input(self) -> bool:
        """As the evaluator says."""
        return self.pairwise.requires_input

    @property
    def requires_reference(self) -> bool:
        """As the evaluator says."""
        return self.pairwise.requires_reference

    @property
    def uses_reference(self) -> bool:
        """As the evaluator says."""
        return self.pairwise.uses_reference

    def shown(self, row: Row) -> list[dict[str, Any]]:
        """The rows to ask the evaluator about, instead of this one."""
        raise NotImplementedError

    def concluded(self, row: Row, results: Sequence[Result]) -> Result:
        """What the results of those rows come to."""
        raise NotImplementedError

    def _evaluate_string_pairs(self, **row: Any) -> Result:
        row = self._expected(row)
        return self.concluded(row, [self.pairwise.evaluate_row(one) for one in self.shown(row)])

    async def _aevaluate_string_pairs(self, **row: Any) -> Result:
        row = self._expected(row)
        results = [await self.pairwise.aevaluate_row(one) for one in self.shown(row)]
        return self.concluded(row, results)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        refused = [self._refusal(row) for row in rows]
        sound = [row for row, error in zip(rows, refused, strict=True) if error is None]
        asked = [self.shown(self._expected(row)) for row in sound]
        answers = iter(self.pairwise.evaluate_batch([one for several in asked for one in several]))
        concluded = iter(
            self.concluded(row, [next(answers) for _ in several])
            for row, several in zip(sound, asked, strict=True)
        )
        return [next(concluded) if error is None else error for error in refused]

    async def aevaluate_batch(self, rows: Sequence[Row], concurrency: int = 8) -> list[Result]:
        """The async twin of `evaluate_batch`, with at most `concurrency` rows at a time."""
        return await self._gather(rows, concurrency)

    def _refusal(self, row: Row) -> Result | None:
        complete = {"prediction", "prediction_b"} <= set(row)
        needs = [("input", self.requires_input), ("reference", self.requires_reference)]
        if complete and all(row.get(name) is not None for name, needed in needs if needed):
            return None
        return self._safe_row(row)

    def _expected(self, row: Row) -> dict[str, Any]:
        """The row without what the evaluator would only warn of."""
        taken = {"input": self.requires_input, "reference": self.uses_reference}
        return {name: value for name, value in row.items() if taken.get(name, True)}


class BothOrders(_Ordered):
    """A pairwise evaluator asked in both orders; a verdict stands if both agree."""

    def shown(self, row: Row) -> list[dict[str, Any]]:
        """The row, and the row with its sides exchanged."""
        return [dict(row), swapped(row)]

    def concluded(self, row: Row, results: Sequence[Result]) -> Result:
        """The verdict both agree on, else a tie; an error if one of them is an error."""
        first, second = results[0], mirrored(results[1])
        failed = next((one for one in (first, second) if one.get("score") is None), None)
        if failed is not None:
            return failed
        consistent = first["score"] == second["score"]
        verdict = first if consistent else {**first, "value": None, "score": 0.5, "tie": True}
        return {**verdict, "consistent": consistent, "other_order": second}


class RandomOrder(_Ordered):
    """A pairwise evaluator asked in an order by lot."""

    def __init__(self, pairwise: PairwiseStringEvaluator, seed: int = 0) -> None:
        super().__init__(pairwise)
        self.seed = seed

    def shown(self, row: Row) -> list[dict[str, Any]]:
        """The row as it is, or with its sides exchanged."""
        return [swapped(row) if self._exchanges(row) else dict(row)]

    def concluded(self, row: Row, results: Sequence[Result]) -> Result:
        """The verdict for the sides as they were given."""
        if self._exchanges(row):
            return {**mirrored(results[0]), "shown_first": "B"}
        return {**results[0], "shown_first": "A"}

    def _exchanges(self, row: Row) -> bool:
        texts = [as_text(row.get(name)) for name in ("prediction", "prediction_b", "input")]
        told = "\0".join([str(self.seed), *texts]).encode("utf-8", "surrogatepass")
        return bool(hashlib.sha256(told).digest()[0] & 1)
