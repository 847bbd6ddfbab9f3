"""Distances between texts, by rapidfuzz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from evaluators.base import (
    Evaluator,
    PairwiseStringEvaluator,
    Result,
    Row,
    StringEvaluator,
)
from evaluators.columns import text_columns
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.run_info import with_run_info
from evaluators.texts import nfc


class StringDistance(StrEnum):
    """The metrics that the string distances know."""

    DAMERAU_LEVENSHTEIN = "damerau_levenshtein"
    LEVENSHTEIN = "levenshtein"
    JARO = "jaro"
    JARO_WINKLER = "jaro_winkler"
    HAMMING = "hamming"
    INDEL = "indel"


METRICS = tuple(metric.value for metric in StringDistance)
_MODULES = {
    "damerau_levenshtein": "DamerauLevenshtein",
    "levenshtein": "Levenshtein",
    "jaro": "Jaro",
    "jaro_winkler": "JaroWinkler",
    "hamming": "Hamming",
    "indel": "Indel",
}


def metric_function(distance: str, normalised: bool = True) -> Callable[[Any, Any], float]:
    """The distance of a name, from 0 to 1 if normalised; ValueError for an unknown name."""
    if distance not in METRICS:
        raise ValueError(f"Unknown distance {distance!r}: choose from {', '.join(METRICS)}.")
    import rapidfuzz.distance

    module = getattr(rapidfuzz.distance, _MODULES[distance])
    function: Callable[[Any, Any], float] = (
        module.normalized_distance if normalised else module.distance
    )
    return function


@dataclass(kw_only=True)
class _Distance(Evaluator):
    distance: Annotated[
        str, About("How to measure; jaro_winkler hardly separates long texts.", choices=METRICS)
    ] = "jaro_winkler"
    normalize_score: Annotated[bool, About("Divide by the greatest distance possible: 0 to 1.")] = (
        True
    )
    normalize_unicode: Annotated[bool, About("Count é in one or two code points as the same.")] = (
        False
    )
    as_similarity: Annotated[bool, About("Give 1 minus the distance: higher is then nearer.")] = (
        False
    )

    def __post_init__(self) -> None:
        if self.as_similarity and not self.normalize_score:
            raise ValueError("as_similarity needs normalize_score.")
        self._metric: Any = metric_function(self.distance, self.normalize_score)

    def measure(self, one: Any, other: Any) -> Result:
        """The result for two texts."""
        if self.normalize_unicode:
            one, other = nfc(one), nfc(other)
        try:
            distance = self._metric(one, other)
        except LookupError:
            raise TypeError("A mapping cannot be compared letter by letter.") from None
        return {"score": 1.0 - distance if self.as_similarity else distance}

    def _measure_rows(self, rows: Sequence[Row], *names: str) -> list[Result]:
        columns = text_columns(rows, *names)
        if columns is None:
            return Evaluator._evaluate_rows(self, rows)
        return [{"score": score} for score in self._measure_columns(*columns)]

    def _measure_columns(self, ones: Sequence[str], others: Sequence[str]) -> list[float]:
        import numpy
        from rapidfuzz.process import cpdist

        if self.normalize_unicode:
            ones, others = [nfc(text) for text in ones], [nfc(text) for text in others]
        whole = not self.normalize_score and self.distance not in ("jaro", "jaro_winkler")
        dtype = numpy.int64 if whole else numpy.float64
        distances = cpdist(ones, others, scorer=self._metric, dtype=dtype)
        scores: list[float] = (1.0 - distances if self.as_similarity else distances).tolist()
        return scores


@evaluator("string_distance", higher_is_better=False)
@dataclass(kw_only=True)
class StringDistanceEvalChain(_Distance, StringEvaluator):
    """How far the prediction is from the reference: 0 is equal."""

    requires_reference = True

    @property
    def evaluation_name(self) -> str:
        """The metric, as in `jaro_winkler_distance`."""
        return f"{self.distance}_distance"

    @property
    def higher_is_better(self) -> bool:
        """False, unless it gives a similarity."""
        return self.as_similarity

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        return with_run_info(self.measure(prediction, reference), kwargs)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        return self._measure_rows(rows, "prediction", "reference")


@evaluator("pairwise_string_distance", higher_is_better=None)
@dataclass(kw_only=True)
class PairwiseStringDistanceEvalChain(_Distance, PairwiseStringEvaluator):
    """How far two predictions are from each other: 0 is equal, neither side wins."""

    @property
    def evaluation_name(self) -> str:
        """The metric, as in `pairwise_hamming_distance`."""
        return f"pairwise_{self.distance}_distance"

    def _evaluate_string_pairs(
        self,
        *,
        prediction: Any,
        prediction_b: Any,
        reference: Any = None,
        input: Any = None,
        **kwargs: Any,
    ) -> Result:
        return with_run_info(self.measure(prediction, prediction_b), kwargs)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        return self._measure_rows(rows, "prediction", "prediction_b")
