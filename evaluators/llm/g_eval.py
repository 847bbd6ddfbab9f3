"""G-Eval (Liu and others, 2023): steps from a criterion, and a rating weighted by probability."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from evaluators.base import Result
from evaluators.define import evaluator
from evaluators.errors import UnreadableReply
from evaluators.kinds import About
from evaluators.llm.judge import ScoreStringEvalChain
from evaluators.llm.models import Reply, Token
from evaluators.llm.reading import read
from evaluators.llm.scales import Scale

_OWN_STEPS = (
    "First write down the steps by which such an answer is to be judged, from what to judge by; "
    "then take them one after the other."
)


@evaluator("g_eval", title="G-Eval", needs_model=True)
@dataclass(kw_only=True)
class GEvalEvaluator(ScoreStringEvalChain):
    """A model rates an answer by steps; the ratings it might have given count by likelihood."""

    steps: Annotated[str, About("The steps of judging; empty: the judge writes them first.")] = ""
    highest: Annotated[int, About("The best rating.")] = 5

    prompt_name: ClassVar[str] = "g_eval"

    @property
    def evaluation_name(self) -> str:
        """The names of the criteria after `g_eval:`."""
        return f"g_eval:{'-'.join(self.descriptions)}"

    def guidance(self) -> dict[str, str]:
        """The criteria with their scale, and the steps."""
        steps = f"The steps:\n{self.steps}" if self.steps.strip() else _OWN_STEPS
        return {**super().guidance(), "steps": steps}

    def result_of(self, reply: Reply) -> Result:
        """The result of a reply; where its tokens have probabilities, weighted by them."""
        result = super().result_of(reply)
        try:
            found = read(reply.text, self.scale(), reply.finish_reason)
        except UnreadableReply:
            return result
        digit = re.search(r"\d", reply.text[found.start : found.end])
        place = found.start + (digit.start() if digit else 0)
        weighted = expected_rating(reply.tokens, place, self.scale())
        if weighted is None:
            return result
        divisor = self._divisor or 1
        return {**result, "score": weighted / divisor, "rating": result["score"]}


def expected_rating(tokens: tuple[Token, ...], place: int, scale: Scale) -> float | None:
    """The mean of the ratings that may stand at a place, by probability; None if not known."""
    end = 0
    for token in tokens:
        end += len(token.text)
        if end > place:
            return _mean(token, scale)
    return None


def _mean(token: Token, scale: Scale) -> float | None:
    weights: dict[float, float] = {}
    for text, probability in token.alternatives.items():
        word: Any = text.strip(" [*")
        rating = scale.read(word) if word.isdecimal() else None
        if rating is not None:
            weights[float(rating)] = weights.get(float(rating), 0.0) + probability
    total = sum(weights.values())
    return sum(rating * weight for rating, weight in weights.items()) / total if total else None
