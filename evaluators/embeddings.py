"""Distances between the meanings of texts, by embeddings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from evaluators.base import (
    Evaluator,
    PairwiseStringEvaluator,
    Result,
    Row,
    StringEvaluator,
    row_error,
)
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.run_info import with_run_info
from evaluators.texts import as_text
from evaluators.vectors import METRICS, Embedder, distances, vector


class EmbeddingDistance(StrEnum):
    """The metrics that the embedding distances know."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"
    CHEBYSHEV = "chebyshev"
    HAMMING = "hamming"


@dataclass(kw_only=True)
class _EmbeddingDistance(Evaluator):
    embeddings: Any = None
    distance_metric: Annotated[
        str, About("How to measure; hamming suits whole numbers only.", choices=METRICS)
    ] = "cosine"

    sides = ("prediction", "reference")

    def __post_init__(self) -> None:
        if self.distance_metric not in METRICS:
            choices = ", ".join(METRICS)
            raise ValueError(f"Unknown metric {self.distance_metric!r}: choose from {choices}.")
        self._embedder = Embedder(self.embeddings)

    def measure(self, row: Row) -> Result:
        """The result for one row."""
        result = self._measure_rows([row])[0]
        if isinstance(result, Exception):
            raise result
        return with_run_info(result, row)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        checked = [self._refusal(row) for row in rows]
        sound = [row for row, error in zip(rows, checked, strict=True) if error is None]
        try:
            measured = iter(self._measure_rows(sound))
        except Exception as error:
            measured = iter([error] * len(sound))
        results = [next(measured) if error is None else error for error in checked]
        return [
            row_error(one) if isinstance(one, Exception) else with_run_info(one, row)
            for one, row in zip(results, rows, strict=True)
        ]

    def _refusal(self, row: Row) -> Exception | None:
        try:
            self.check_arguments(reference=row.get("reference"), input=row.get("input"))
        except ValueError as error:
            return error
        missing = [side for side in self.sides if side not in row]
        return TypeError(f"{missing[0]} is missing.") if missing else None

    def _measure_rows(self, rows: Sequence[Row]) -> list[Result | Exception]:
        pairs = [[as_text(row[side]) for side in self.sides] for row in rows]
        vectors = {
            text: _safe_vector(values)
            for text, values in self._embedder(text for pair in pairs for text in pair).items()
        }
        results: list[Any] = [_problem(vectors[one], vectors[other]) for one, other in pairs]
        for places in _by_length(pairs, vectors, results).values():
            ones, others = ([vectors[pairs[at][side]] for at in places] for side in (0, 1))
            for at, result in zip(places, self._scores(ones, others), strict=True):
                results[at] = result
        return results

    def _scores(self, ones: list[Any], others: list[Any]) -> list[Result | Exception]:
        try:
            scores = distances(ones, others, self.distance_metric)
        except ValueError as error:
            return [error] * len(ones)
        if self.distance_metric != "cosine":
            return [{"score": score} for score in scores]
        return [
            {"score": score} if one.any() and other.any() else _undirected()
            for score, one, other in zip(scores, ones, others, strict=True)
        ]


def _undirected() -> Result:
    return {"score": 1.0, "reasoning": "An embedding of zeros has no direction: distance 1."}


def _safe_vector(values: Any) -> Any:
    if isinstance(values, Exception):
        return values
    try:
        return vector(values)
    except (ValueError, TypeError) as error:
        return ValueError(str(error))


def _problem(one: Any, other: Any) -> Exception | None:
    for side in (one, other):
        if isinstance(side, Exception):
            return side
    if one.shape != other.shape:
        return ValueError(f"Embeddings of {one.size} and of {other.size} numbers.")
    return None


def _by_length(
    pairs: list[list[str]], vectors: dict[str, Any], results: list[Any]
) -> dict[int, list[int]]:
    """The places of the pairs that can be measured, by the length of their vectors."""
    places: dict[int, list[int]] = {}
    for at, (one, _) in enumerate(pairs):
        if results[at] is None:
            places.setdefault(vectors[one].size, []).append(at)
    return places


@evaluator("embedding_distance", higher_is_better=False, needs_embeddings=True)
@dataclass(kw_only=True)
class EmbeddingDistanceEvalChain(_EmbeddingDistance, StringEvaluator):
    """How far the prediction's meaning is from the reference's, by embeddings: 0 is equal."""

    requires_reference = True

    @property
    def evaluation_name(self) -> str:
        """The metric, as in `embedding_cosine_distance`."""
        return f"embedding_{self.distance_metric}_distance"

    def _evaluate_strings(self, **arguments: Any) -> Result:
        return self.measure(arguments)

    async def _aevaluate_strings(self, **arguments: Any) -> Result:
        return await asyncio.to_thread(self.measure, arguments)


@evaluator("pairwise_embedding_distance", higher_is_better=None, needs_embeddings=True)
@dataclass(kw_only=True)
class PairwiseEmbeddingDistanceEvalChain(_EmbeddingDistance, PairwiseStringEvaluator):
    """How far the meanings of two predictions are apart: 0 is equal, neither side wins."""

    sides = ("prediction", "prediction_b")

    @property
    def evaluation_name(self) -> str:
        """The metric, as in `pairwise_embedding_cosine_distance`."""
        return f"pairwise_embedding_{self.distance_metric}_distance"

    def _evaluate_string_pairs(self, **arguments: Any) -> Result:
        return self.measure(arguments)

    async def _aevaluate_string_pairs(self, **arguments: Any) -> Result:
        return await asyncio.to_thread(self.measure, arguments)
