"""Single-run evaluators as pairwise ones: the better score wins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Annotated, Any

from evaluators.base import PairwiseStringEvaluator, Result, Row, StringEvaluator, row_error
from evaluators.define import evaluator
from evaluators.distances import METRICS, StringDistanceEvalChain
from evaluators.kinds import About
from evaluators.text import TokenOverlapEvaluator

# Scores that are equal but for rounding are equal.
_ROUNDING = 1e-12
_SIDES = ("prediction", "prediction_b")
_WHY = ("error", "error_type", "reply")


def verdict(score_a: Any, score_b: Any, higher_is_better: bool, tolerance: float) -> Result:
    """Who wins by two scores; ValueError if one of them is no finite number."""
    for side, score in (("A", score_a), ("B", score_b)):
        if not isinstance(score, Real) or not math.isfinite(score):
            raise ValueError(f"There is no score for {side}.")
    tie = abs(score_a - score_b) <= tolerance + _ROUNDING
    value = None if tie else "A" if (score_a > score_b) == higher_is_better else "B"
    return {
        "value": value,
        "score": {"A": 1, "B": 0, None: 0.5}[value],
        "tie": tie,
        "score_a": score_a,
        "score_b": score_b,
        "reasoning": _reasoning(value, score_a, score_b, higher_is_better, tolerance),
    }


def _reasoning(
    value: str | None, score_a: float, score_b: float, higher_is_better: bool, tolerance: float
) -> str:
    scores = f"A {score_a:.6g}, B {score_b:.6g}"
    if value is None:
        return f"{scores}: equal{f' within {tolerance:g}' if tolerance else ''}."
    return f"{scores}: {value} is better, {'higher' if higher_is_better else 'lower'} wins."


def as_pairwise(single: StringEvaluator, tolerance: float = 0.0) -> BetterScoreWins:
    """A pairwise evaluator that scores each side with `single` and lets the better score win.

    Scores that differ by `tolerance` or less tie. ValueError if `single` has no direction.
    """
    return BetterScoreWins(single, tolerance)


class BetterScoreWins(PairwiseStringEvaluator):
    """Scores both sides with a single-run evaluator; the better score wins."""

    def __init__(self, single: StringEvaluator, tolerance: float = 0.0) -> None:
        if getattr(single, "family", None) != "string":
            raise TypeError("Only an evaluator of one answer can score each of two.")
        if single.higher_is_better is None:
            raise ValueError(f"{single.evaluation_name} does not say which score is better.")
        if not tolerance >= 0:
            raise ValueError("The tolerance must be 0 or more.")
        self.single = single
        self.tolerance = tolerance

    @property
    def evaluation_name(self) -> str:
        """The score by which the sides are compared."""
        return f"better_{self.single.evaluation_name}"

    @property
    def requires_input(self) -> bool:
        """As the single-run evaluator says."""
        return self.single.requires_input

    @property
    def requires_reference(self) -> bool:
        """As the single-run evaluator says."""
        return self.single.requires_reference

    @property
    def uses_reference(self) -> bool:
        """As the single-run evaluator says."""
        return self.single.uses_reference

    def _evaluate_string_pairs(
        self, *, prediction: Any, prediction_b: Any, **arguments: Any
    ) -> Result:
        arguments = self._expected(arguments)
        return self._decide(
            self.single.evaluate_strings(prediction=prediction, **arguments),
            self.single.evaluate_strings(prediction=prediction_b, **arguments),
        )

    async def _aevaluate_string_pairs(
        self, *, prediction: Any, prediction_b: Any, **arguments: Any
    ) -> Result:
        arguments = self._expected(arguments)
        return self._decide(
            await self.single.aevaluate_strings(prediction=prediction, **arguments),
            await self.single.aevaluate_strings(prediction=prediction_b, **arguments),
        )

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        refused, side_a, side_b = self._sides(rows)
        single = self.single
        return self._join(refused, single.evaluate_batch(side_a), single.evaluate_batch(side_b))

    async def aevaluate_batch(self, rows: Sequence[Row], concurrency: int = 8) -> list[Result]:
        """The async twin of `evaluate_batch`, with at most `concurrency` rows at a time."""
        refused, side_a, side_b = self._sides(rows)
        results_a = await self.single.aevaluate_batch(side_a, concurrency)
        results_b = await self.single.aevaluate_batch(side_b, concurrency)
        return self._join(refused, results_a, results_b)

    def _sides(self, rows: Sequence[Row]) -> tuple[list[Result | None], list[Row], list[Row]]:
        refused = [self._refusal(row) for row in rows]
        sound = [row for row, error in zip(rows, refused, strict=True) if error is None]
        side_a, side_b = ([self._side(row, side) for row in sound] for side in _SIDES)
        return refused, side_a, side_b

    def _join(
        self, refused: list[Result | None], side_a: list[Result], side_b: list[Result]
    ) -> list[Result]:
        decided = iter(map(self._safe_decide, side_a, side_b))
        return [next(decided) if error is None else error for error in refused]

    def _refusal(self, row: Row) -> Result | None:
        try:
            self.check_arguments(reference=row.get("reference"), input=row.get("input"))
            _ = [row[side] for side in _SIDES]
        except KeyError as error:
            return row_error(TypeError(f"{error.args[0]} is missing."))
        except ValueError as error:
            return row_error(error)
        return None

    def _side(self, row: Row, side: str) -> Row:
        rest = {name: value for name, value in row.items() if name not in _SIDES}
        return {"prediction": row[side], **self._expected(rest)}

    def _expected(self, arguments: dict[str, Any]) -> dict[str, Any]:
        unexpected = set()
        if not self.single.requires_input:
            unexpected.add("input")
        if not self.single.uses_reference:
            unexpected.add("reference")
        return {name: value for name, value in arguments.items() if name not in unexpected}

    def _decide(self, result_a: Result, result_b: Result) -> Result:
        for result in (result_a, result_b):
            if result.get("error"):
                # A side without a score leaves the pair without one, for the same reason.
                return {"score": None, **{name: result[name] for name in _WHY if name in result}}
        better = bool(self.single.higher_is_better)
        return verdict(result_a.get("score"), result_b.get("score"), better, self.tolerance)

    def _safe_decide(self, result_a: Result, result_b: Result) -> Result:
        try:
            return self._decide(result_a, result_b)
        except ValueError as error:
            return row_error(error)


TOLERANCE = "Scores that differ by this much or less are a tie."


@dataclass(kw_only=True)
class _Nearer(BetterScoreWins):
    tolerance: Annotated[float, About(TOLERANCE)] = 0.0
    single: StringEvaluator = field(init=False)

    requires_reference = True

    @property
    def evaluation_name(self) -> str:
        """Its own name."""
        return self.kind.name if self.kind else type(self).__name__


@evaluator("nearer_by_string_distance", title="Nearer to the reference by string distance")
@dataclass(kw_only=True)
class NearerByStringDistance(_Nearer):
    """The answer that is nearer to the reference by string distance wins."""

    distance: Annotated[str, About("How to measure.", choices=METRICS)] = "levenshtein"
    normalize_unicode: Annotated[bool, About("Count é in one or two code points as the same.")] = (
        False
    )

    def __post_init__(self) -> None:
        single = StringDistanceEvalChain(
            distance=self.distance, normalize_unicode=self.normalize_unicode
        )
        BetterScoreWins.__init__(self, single, self.tolerance)


@evaluator("nearer_by_token_overlap", title="Nearer to the reference by token overlap")
@dataclass(kw_only=True)
class NearerByTokenOverlap(_Nearer):
    """The answer that shares more words with the reference wins."""

    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = True
    ignore_articles: Annotated[bool, About("Leave out a, an and the.")] = False

    def __post_init__(self) -> None:
        single = TokenOverlapEvaluator(
            ignore_case=self.ignore_case, ignore_articles=self.ignore_articles
        )
        BetterScoreWins.__init__(self, single, self.tolerance)
