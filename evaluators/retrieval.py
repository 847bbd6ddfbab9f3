"""Retrieved documents against the relevant ones, and quotations against their sources."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.json_reading import NotJson, as_json
from evaluators.kinds import About
from evaluators.texts import as_text, squeeze

_FIGURES = ("precision", "recall", "hit", "mrr", "ndcg")


@evaluator("retrieval")
@dataclass(kw_only=True)
class RetrievalEvaluator(StringEvaluator):
    """How good a ranked list of ids is, given the relevant ids: precision, recall, MRR, nDCG."""

    k: Annotated[int, About("How many of the first are looked at.")] = 10
    score_by: Annotated[
        Literal["precision", "recall", "hit", "mrr", "ndcg"], About("Which figure is the score.")
    ] = "ndcg"

    requires_reference = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("k must be 1 or more.")
        if self.score_by not in _FIGURES:
            raise ValueError(f"score_by must be one of {', '.join(_FIGURES)}.")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        relevant = set(_ids(reference, "reference"))
        if not relevant:
            raise ValueError("The reference names no relevant document.")
        figures = ranking(_ids(prediction, "prediction"), relevant, self.k)
        return {"score": figures[self.score_by], **figures}


def _ids(value: Any, name: str) -> list[str]:
    try:
        items = as_json(value)
    except NotJson:
        items = None
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"The {name} must be a list of ids, or one as JSON.")
    return list(dict.fromkeys(as_text(item) for item in items))


def ranking(found: Sequence[str], relevant: set[str], k: int) -> dict[str, float]:
    """Precision, recall, hit, reciprocal rank and nDCG (all gains 1) of the first `k`."""
    places = [place for place, one in enumerate(found[:k], start=1) if one in relevant]
    gain = sum(1 / math.log2(place + 1) for place in places)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(relevant)) + 1))
    return {
        "precision": len(places) / k,
        "recall": len(places) / len(relevant),
        "hit": float(bool(places)),
        "mrr": 1 / places[0] if places else 0.0,
        "ndcg": gain / ideal,
    }


@evaluator("quotations")
@dataclass(kw_only=True)
class QuotationsEvaluator(StringEvaluator):
    """The share of the prediction's quotations that stand word for word in the sources."""

    shortest: Annotated[int, About("Quotations of fewer characters are left out.")] = 12

    requires_reference = True

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        sources = squeeze(_source_text(reference)).casefold()
        quoted = [squeeze(one) for one in _QUOTED.findall(as_text(prediction))]
        quoted = [one for one in quoted if len(one) >= self.shortest]
        missing = [one for one in quoted if one.casefold() not in sources]
        score = 1 - len(missing) / len(quoted) if quoted else 1.0
        return {"score": score, "missing": missing, "quotations": len(quoted)}


_QUOTED = re.compile(r"[\"“„«「]([^\"“”„«»「」]{1,2000})[\"”“»」]")


def _source_text(reference: Any) -> str:
    try:
        value = as_json(reference)
    except NotJson:
        return as_text(reference)
    return "\n".join(map(as_text, value)) if isinstance(value, list) else as_text(value)
