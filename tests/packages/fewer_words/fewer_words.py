"""Prefers the answer with fewer words, by the blanks between them."""

from typing import Any

from evaluators import PairwiseStringEvaluator


class FewerWords(PairwiseStringEvaluator):
    """The answer with fewer words is better."""

    def _evaluate_string_pairs(
        self, *, prediction: str, prediction_b: str, **kwargs: Any
    ) -> dict[str, Any]:
        words = len(prediction.split()), len(prediction_b.split())
        score = 0.5 if words[0] == words[1] else float(words[0] < words[1])
        return {"score": score, "reasoning": f"{words[0]} words against {words[1]}"}
