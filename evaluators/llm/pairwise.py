"""A model decides which of two answers is better."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from evaluators.base import PairwiseStringEvaluator, Result
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.llm.consistency import marked
from evaluators.llm.criteria import as_lines, loose_criteria
from evaluators.llm.judging import JudgedByPrompt, parsed
from evaluators.llm.prompting import prompt_file
from evaluators.llm.reading import read
from evaluators.llm.scales import PAIR, Scale

_SCORES = {"A": 1, "B": 0, "C": 0.5}


@evaluator("pairwise_string", title="Pairwise judge", needs_model=True, order_matters=True)
@dataclass(kw_only=True)
class PairwiseStringEvalChain(JudgedByPrompt, PairwiseStringEvaluator):
    """A model says which of two answers is better, or that neither is."""

    criteria: Annotated[Any, About("What to judge by.", type="criteria")] = None
    output_parser: Annotated[
        Any, About("A function from the reply to the result.", type="python")
    ] = None
    descriptions: dict[str, str] = field(init=False, repr=False)

    prompt_name: ClassVar[str] = "pairwise_string"
    shown: ClassVar[dict[str, str]] = {
        name: name for name in ("input", "prediction", "prediction_b")
    }
    requires_input = True

    def __post_init__(self) -> None:
        self.descriptions = loose_criteria(self.criteria)
        super().__post_init__()

    def guidance(self) -> dict[str, str]:
        """The criteria, one a line."""
        return {"criteria": as_lines(self.descriptions) or prompt_file("general")}

    def scale(self) -> Scale:
        """What a verdict may be."""
        return PAIR

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""
        if self.output_parser is not None:
            return parsed(self.output_parser, text)
        verdict = str(read(text, PAIR, finish_reason).verdict)
        return {
            "reasoning": text,
            "value": None if verdict == "C" else verdict,
            "score": _SCORES[verdict],
            "tie": verdict == "C",
            **marked(text, verdict),
        }

    def _evaluate_string_pairs(self, **arguments: Any) -> Result:
        return self.ask(**arguments)

    async def _aevaluate_string_pairs(self, **arguments: Any) -> Result:
        return await self.aask(**arguments)


@evaluator("pairwise_summary", title="Two summaries", needs_model=True, order_matters=True)
@dataclass(kw_only=True)
class PairwiseSummaryEvaluator(PairwiseStringEvalChain):
    """A model says which of two summaries of a text, the input, is better, or that neither is."""

    prompt_name: ClassVar[str] = "pairwise_summary"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.criteria is None:
            lines = prompt_file("summary_criteria").splitlines()
            self.descriptions = dict(line.split(": ", 1) for line in lines)


@evaluator(
    "labeled_pairwise_string",
    title="Pairwise judge with a reference",
    needs_model=True,
    order_matters=True,
)
@dataclass(kw_only=True)
class LabeledPairwiseStringEvalChain(PairwiseStringEvalChain):
    """A model says which of two answers is better in the light of a reference."""

    prompt_name: ClassVar[str] = "labeled_pairwise_string"
    shown: ClassVar[dict[str, str]] = {**PairwiseStringEvalChain.shown, "reference": "reference"}
    requires_reference = True
