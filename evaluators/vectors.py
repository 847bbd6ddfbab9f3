"""Turning texts into vectors, and the distances between those."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evaluators.llm.providers.failures import known_failure
from evaluators.llm.retries import may_pass
from evaluators.running import run_to_end

METRICS = ("cosine", "euclidean", "manhattan", "chebyshev", "hamming")
_TEXTS_AT_ONCE = 512
_MOST_REMEMBERED = 20_000


class Embedder:
    """Vectors of texts from anything that embeds: each distinct text is asked for once.

    `source` has `embed_documents`, or is a function from texts to vectors (sync or async).
    """

    def __init__(self, source: Any) -> None:
        if source is None:
            raise ValueError("This evaluator needs embeddings: give embeddings=, no default.")
        embed = getattr(source, "embed_documents", source)
        if not callable(embed):
            raise TypeError(f"{type(source).__name__} has no embed_documents.")
        self._embed: Callable[[list[str]], Any] = embed
        self._known: dict[str, Any] = {}

    def __call__(self, texts: Iterable[str]) -> dict[str, Any]:
        """A vector for each text, or the exception of a text that has none."""
        wanted = list(dict.fromkeys(texts))
        missing = [text for text in wanted if text not in self._known]
        if len(self._known) + len(missing) > _MOST_REMEMBERED:
            self._known.clear()
            missing = wanted
        refused: dict[str, Exception] = {}
        for start in range(0, len(missing), _TEXTS_AT_ONCE):
            refused |= self._ask(missing[start : start + _TEXTS_AT_ONCE])
        return {text: refused[text] if text in refused else self._known[text] for text in wanted}

    def _ask(self, texts: list[str]) -> dict[str, Exception]:
        """Ask, by halves if a request is refused: one text shall not spoil the others."""
        try:
            vectors = self._vectors(texts)
        except Exception as error:
            if len(texts) == 1 or may_pass(known_failure(error) or error):
                return dict.fromkeys(texts, error)
            half = len(texts) // 2
            return self._ask(texts[:half]) | self._ask(texts[half:])
        if len(vectors) != len(texts):
            told = f"{len(texts)} texts gave {len(vectors)} vectors."
            return dict.fromkeys(texts, ValueError(told))
        self._known.update(zip(texts, vectors, strict=True))
        return {}

    def _vectors(self, texts: list[str]) -> Any:
        vectors = self._embed(texts)
        return run_to_end(vectors) if hasattr(vectors, "__await__") else vectors


def vector(values: Any) -> Any:
    """A vector in 64 bits; ValueError if it is not one row of finite numbers."""
    import numpy

    array = numpy.asarray(values, dtype=numpy.float64)
    if array.ndim != 1:
        raise ValueError("An embedding must be one row of numbers.")
    if not numpy.isfinite(array).all():
        raise ValueError("An embedding holds NaN or an infinity.")
    return array


def distances(ones: Sequence[Any], others: Sequence[Any], metric: str) -> list[float]:
    """The distances of vectors pair by pair, all of one length."""
    import numpy

    a, b = numpy.stack(ones), numpy.stack(others)
    with numpy.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scores: list[float] = _METRICS[metric](a, b).tolist()
    return scores


def _cosine(a: Any, b: Any) -> Any:
    import numpy

    if not a.shape[1]:
        raise ValueError("An embedding without numbers has no direction.")
    a, b = (one / _scale(one) for one in (a, b))
    norms = numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1)
    similarity = (a * b).sum(axis=1) / numpy.where(norms == 0, 1.0, norms)
    return numpy.clip(1.0 - similarity, 0.0, 2.0)


def _scale(rows: Any) -> Any:
    """The greatest component of each row, so that no square over- or underflows."""
    import numpy

    greatest = numpy.abs(rows).max(axis=1, keepdims=True)
    return numpy.where(greatest == 0, 1.0, greatest)


def _euclidean(a: Any, b: Any) -> Any:
    import numpy

    return numpy.sqrt(((a - b) ** 2).sum(axis=1))


def _manhattan(a: Any, b: Any) -> Any:
    return abs(a - b).sum(axis=1)


def _chebyshev(a: Any, b: Any) -> Any:
    return abs(a - b).max(axis=1)


def _hamming(a: Any, b: Any) -> Any:
    return (a != b).mean(axis=1)


_METRICS: dict[str, Callable[[Any, Any], Any]] = {
    "cosine": _cosine,
    "euclidean": _euclidean,
    "manhattan": _manhattan,
    "chebyshev": _chebyshev,
    "hamming": _hamming,
}
