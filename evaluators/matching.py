"""What a reply must contain, and how lists agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from unicodedata import normalize

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.json_reading import NotJson, as_json
from evaluators.json_values import canonical
from evaluators.kinds import About
from evaluators.texts import as_text


@evaluator("contains")
@dataclass(kw_only=True)
class ContainsEvaluator(StringEvaluator):
    """1 if the prediction contains what the reference names, one text or a list, 0 if not."""

    which: Annotated[
        Literal["any", "all", "none"], About("Any, all or none of the texts of a list.")
    ] = "all"
    where: Annotated[
        Literal["anywhere", "start", "end"], About("Where in the prediction it must stand.")
    ] = "anywhere"
    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = False
    whole_words: Annotated[bool, About("Do not count a text inside of a longer word.")] = False
    normalize_unicode: Annotated[bool, About("Compare compatibility forms (NFKC).")] = False

    requires_reference = True

    def __post_init__(self) -> None:
        if self.which not in ("any", "all", "none"):
            raise ValueError("which must be any, all or none.")
        if self.where not in ("anywhere", "start", "end"):
            raise ValueError("where must be anywhere, start or end.")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        wanted = reference if isinstance(reference, (list, tuple)) else [reference]
        text = self._form(prediction)
        missing = [one for one in wanted if not self._holds(text, self._form(one))]
        found = len(wanted) - len(missing)
        score = {"all": not missing, "any": found > 0, "none": found == 0}[self.which]
        return {"score": int(score), "missing": missing}

    def _form(self, value: Any) -> str:
        text = as_text(value)
        text = normalize("NFKC", text) if self.normalize_unicode else text
        return text.casefold() if self.ignore_case else text

    def _holds(self, text: str, wanted: str) -> bool:
        if self.whole_words:
            return self._pattern(wanted).search(text) is not None
        if self.where == "anywhere":
            return wanted in text
        return text.startswith(wanted) if self.where == "start" else text.endswith(wanted)

    def _pattern(self, wanted: str) -> re.Pattern[str]:
        start = r"\A" if self.where == "start" else r"(?<!\w)"
        end = r"\Z" if self.where == "end" else r"(?!\w)"
        return re.compile(f"{start}{re.escape(wanted)}{end}")


@evaluator("list_match")
@dataclass(kw_only=True)
class ListMatchEvaluator(StringEvaluator):
    """How far two lists agree, 0 to 1: F1 of the items, precision and recall beside it."""

    mode: Annotated[
        Literal["items", "ordered", "nearest"],
        About("Equal items in any order, in the same place, or the best pairing by likeness."),
    ] = "items"
    score_by: Annotated[
        Literal["f1", "precision", "recall"], About("Which of the three is the score.")
    ] = "f1"
    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = False

    requires_reference = True

    def __post_init__(self) -> None:
        if self.mode not in ("items", "ordered", "nearest"):
            raise ValueError("mode must be items, ordered or nearest.")
        if self.score_by not in ("f1", "precision", "recall"):
            raise ValueError("score_by must be f1, precision or recall.")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        wanted = self._items(reference, "reference")
        try:
            found = self._items(prediction, "prediction")
        except ValueError as error:
            return {"score": 0.0, "reasoning": str(error)}
        shared = {"items": _shared, "ordered": _in_place, "nearest": _nearest}[self.mode]
        figures = agreement(shared(found, wanted), len(found), len(wanted))
        return {"score": figures[self.score_by], **figures}

    def _items(self, value: Any, name: str) -> list[str]:
        try:
            items = as_json(value)
        except NotJson:
            items = [line for line in value.splitlines() if line.strip()]
        if not isinstance(items, (list, tuple)):
            raise ValueError(f"The {name} is no list.")
        texts = [item.strip() if isinstance(item, str) else canonical(item) for item in items]
        return [text.casefold() for text in texts] if self.ignore_case else texts


def agreement(shared: float, found: int, wanted: int) -> dict[str, float]:
    """Precision, recall and F1 of so many shared items; two empty lists agree."""
    if not found and not wanted:
        return {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    return {
        "precision": shared / found if found else 0.0,
        "recall": shared / wanted if wanted else 0.0,
        "f1": 2 * shared / (found + wanted),
    }


def _shared(found: Sequence[str], wanted: Sequence[str]) -> float:
    return (Counter(found) & Counter(wanted)).total()


def _in_place(found: Sequence[str], wanted: Sequence[str]) -> float:
    return sum(map(str.__eq__, found, wanted))


def _nearest(found: Sequence[str], wanted: Sequence[str]) -> float:
    if not found or not wanted:
        return 0.0
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist
    from scipy.optimize import linear_sum_assignment

    likeness = cdist(found, wanted, scorer=Levenshtein.normalized_similarity, dtype="float64")
    rows, columns = linear_sum_assignment(likeness, maximize=True)
    return float(likeness[rows, columns].sum())
