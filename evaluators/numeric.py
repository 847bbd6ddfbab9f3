"""Numbers in replies, and lengths."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from unicodedata import normalize

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.texts import UNSPACED, as_text, sentences, words

# Not inside of a word or a version, but right beside Chinese or Japanese; a unit may follow.
_BEFORE = rf"(?<!(?!{UNSPACED})[^\W_])(?<![^\W_]_)"
_AFTER = rf"(?!_*\d|_+[^\W_]|(?:(?!{UNSPACED})[^\W\d_])+\d|(?i:st|nd|rd|th)\b)"
# Thousands marks only between whole groups of three; an exponent, a sign, a decimal point.
_WHOLE = r"(?:\d{1,3}(?:[,'  ]\d{3})+|\d+)(?:\.\d+)?"
_NUMBER = re.compile(
    rf"{_BEFORE}(?:(?<![^\W_]\.)[-+]?{_WHOLE}|(?<!\.)[-+]?\.\d+)(?:[eE][-+]?\d{{1,3}})?{_AFTER}"
)
_MARKS = re.compile("[,'  ]")


def numbers_in(text: Any) -> list[float]:
    """The numbers of a text in order; thousands marks are dropped, a point is decimal."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return [_as_float(text)]
    plain = normalize("NFKC", as_text(text)).replace("−", "-")
    return [float(_MARKS.sub("", found)) for found in _NUMBER.findall(plain)]


def _as_float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


@evaluator("numeric_match")
@dataclass(kw_only=True)
class NumericMatchEvaluator(StringEvaluator):
    """1 if the prediction's number is the reference's, within a tolerance, 0 if not."""

    which: Annotated[
        Literal["last", "first", "only"], About("Which number of the prediction counts.")
    ] = "last"
    tolerance: Annotated[float, About("How far apart they may be.")] = 1e-9
    relative_tolerance: Annotated[float, About("The same as a share of the reference.")] = 1e-9
    closeness: Annotated[
        bool, About("Score 0 to 1 by nearness: 1 - |a - b| / (|a| + |b|), in place of 0 or 1.")
    ] = False

    requires_reference = True

    def __post_init__(self) -> None:
        if self.which not in ("last", "first", "only"):
            raise ValueError("which must be last, first or only.")
        if not (self.tolerance >= 0 and self.relative_tolerance >= 0):
            raise ValueError("tolerance and relative_tolerance must be 0 or more.")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        wanted = numbers_in(reference)
        if len(wanted) != 1 or not math.isfinite(wanted[0]):
            raise ValueError("The reference must hold one number.")
        found = numbers_in(prediction)
        if not found or (self.which == "only" and len(found) > 1):
            return {"score": 0, "reasoning": f"The prediction holds {len(found)} numbers."}
        return {"score": self._score(found[0 if self.which == "first" else -1], wanted[0])}

    def _score(self, found: float, wanted: float) -> float:
        if not math.isfinite(found):
            return 0
        distance = abs(found - wanted)
        if self.closeness:
            size = abs(found) + abs(wanted)
            return 1 - distance / size if size else 1.0
        allowed = max(self.tolerance, self.relative_tolerance * abs(wanted))
        return int(distance <= allowed)


_UNITS: dict[str, Callable[[str], Sequence[str]]] = {
    "words": words,
    "characters": str,
    "sentences": sentences,
}


@evaluator("length")
@dataclass(kw_only=True)
class LengthEvaluator(StringEvaluator):
    """1 if the prediction's length lies within bounds, 0 if not."""

    unit: Annotated[Literal["words", "characters", "sentences"], About("What is counted.")] = (
        "words"
    )
    at_least: Annotated[int, About("The least length.")] = 0
    at_most: Annotated[int | None, About("The greatest length.")] = None

    def __post_init__(self) -> None:
        if self.unit not in _UNITS:
            raise ValueError(f"unit must be one of {', '.join(_UNITS)}.")
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError("at_most must be at_least or more.")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        text = as_text(prediction)
        length = len(_UNITS[self.unit](text))
        fits = self.at_least <= length and (self.at_most is None or length <= self.at_most)
        return {"score": int(fits), "length": length}


@evaluator("readability", higher_is_better=False)
@dataclass(kw_only=True)
class ReadabilityEvaluator(StringEvaluator):
    """The school grade that an English text asks of its reader (automated readability index)."""

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        text = as_text(prediction)
        found = words(text)
        if not found:
            raise ValueError("A text without words has no grade.")
        letters = sum(map(len, found))
        grade = 4.71 * letters / len(found) + 0.5 * len(found) / len(sentences(text)) - 21.43
        return {"score": grade, "words": len(found), "sentences": len(sentences(text))}
