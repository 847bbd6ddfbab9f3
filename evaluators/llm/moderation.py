"""A moderation service as an evaluator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluators.base import Evaluator, Result, Row, StringEvaluator
from evaluators.columns import text_columns
from evaluators.define import evaluator
from evaluators.texts import as_text

_TEXTS_AT_ONCE = 32


@evaluator("moderation", needs_model=True, higher_is_better=False)
@dataclass(kw_only=True)
class ModerationEvaluator(StringEvaluator):
    """1 if an OpenAI-compatible moderation service flags the prediction, 0 if not."""

    llm: Any = None

    def __post_init__(self) -> None:
        if not hasattr(self.llm, "moderate"):
            raise ValueError("Moderation needs a provider with `moderate`: give llm=.")

    def _evaluate_strings(self, *, prediction: Any, **arguments: Any) -> Result:
        return _result(self.llm.moderate([as_text(prediction)])[0])

    async def _aevaluate_strings(self, *, prediction: Any, **arguments: Any) -> Result:
        return await asyncio.to_thread(self._evaluate_strings, prediction=prediction)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        columns = text_columns(rows, "prediction")
        if columns is None:
            return Evaluator._evaluate_rows(self, rows)
        texts = list(columns[0])
        found: list[Result] = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            found += self._some(texts[start : start + _TEXTS_AT_ONCE])
        return found

    def _some(self, texts: list[str]) -> list[Result]:
        try:
            return [_result(answer) for answer in self.llm.moderate(texts)]
        except Exception:
            # One text may be what the service refuses: each by itself then.
            return Evaluator._evaluate_rows(self, [{"prediction": text} for text in texts])


def _result(answer: dict[str, Any]) -> Result:
    flagged = sorted(name for name, on in answer["categories"].items() if on)
    return {
        "score": int(answer["flagged"]),
        "reasoning": ", ".join(flagged),
        "category_scores": answer["category_scores"],
    }
