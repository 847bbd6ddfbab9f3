"""A model judges one answer: by yes or no, or by a rating."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.llm.consistency import marked
from evaluators.llm.criteria import (
    as_lines,
    higher_is_better,
    loose_criteria,
    strict_criteria,
)
from evaluators.llm.each_criterion import REQUEST, scores, with_each
from evaluators.llm.judging import JudgedByPrompt
from evaluators.llm.prompting import prompt_file
from evaluators.llm.reading import read, without_verdict
from evaluators.llm.scales import YES_NO, Scale, rating


@dataclass(kw_only=True)
class JudgedString(JudgedByPrompt, StringEvaluator):
    """A judged evaluator of one answer."""

    def _evaluate_strings(self, **arguments: Any) -> Result:
        return self.ask(**arguments)

    async def _aevaluate_strings(self, **arguments: Any) -> Result:
        return await self.aask(**arguments)


@evaluator("criteria", needs_model=True)
@dataclass(kw_only=True)
class CriteriaEvalChain(JudgedString):
    """A model says whether an answer meets a criterion: 1 for yes, 0 for no."""

    criteria: Annotated[Any, About("What to judge by.", type="criteria")] = None
    descriptions: dict[str, str] = field(init=False, repr=False)

    prompt_name: ClassVar[str] = "criteria"
    shown: ClassVar[Mapping[str, str]] = {"input": "input", "output": "prediction"}
    forgives_unread: ClassVar[bool] = True
    requires_input = True

    def __post_init__(self) -> None:
        self.descriptions = strict_criteria(self.criteria)
        if self.criteria == "correctness" and not self.requires_reference:
            raise ValueError("Correctness needs a reference: use labeled_criteria.")
        super().__post_init__()

    @property
    def evaluation_name(self) -> str:
        """The names of the criteria."""
        return "-".join(self.descriptions)

    @property
    def higher_is_better(self) -> bool | None:
        """False for harmfulness and its like, None if criteria of both directions are mixed."""
        return higher_is_better(self.descriptions, known=not isinstance(self.criteria, Mapping))

    def guidance(self) -> dict[str, str]:
        """The criteria, one a line; of several, what to write on each."""
        lines = as_lines(self.descriptions)
        return {"criteria": lines if len(self.descriptions) == 1 else f"{lines}\n{REQUEST}"}

    def reply_schema(self) -> dict[str, Any]:
        """The JSON schema of a reply, with a verdict on each criterion if there are several."""
        schema = super().reply_schema()
        several = len(self.descriptions) > 1
        return with_each(schema, list(self.descriptions)) if several else schema

    def scale(self) -> Scale:
        """What a verdict may be."""
        return YES_NO

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""
        found = read(text, YES_NO, finish_reason)
        reasoning = without_verdict(text, found)
        each = scores(text, self.descriptions) if len(self.descriptions) > 1 else {}
        return {
            "reasoning": reasoning,
            "value": found.verdict,
            "score": int(found.verdict == "Y"),
            **({"scores": each} if each else {}),
            **marked(reasoning, found.verdict, each),
        }


@evaluator("labeled_criteria", title="Criteria with a reference", needs_model=True)
@dataclass(kw_only=True)
class LabeledCriteriaEvalChain(CriteriaEvalChain):
    """A model says whether an answer meets a criterion in the light of a reference."""

    prompt_name: ClassVar[str] = "labeled_criteria"
    shown: ClassVar[Mapping[str, str]] = {**CriteriaEvalChain.shown, "reference": "reference"}
    requires_reference = True


@evaluator("score_string", title="Rating by a judge", needs_model=True)
@dataclass(kw_only=True)
class ScoreStringEvalChain(JudgedString):
    """A model rates an answer, from 1 to 10 if no other scale is set."""

    criteria: Annotated[Any, About("What to judge by.", type="criteria")] = None
    normalize_by: Annotated[float | None, About("Divide the rating by this.")] = None
    rubric: Annotated[str, About("What each rating stands for.")] = ""
    lowest: Annotated[int, About("The worst rating.")] = 1
    highest: Annotated[int, About("The best rating.")] = 10
    descriptions: dict[str, str] = field(init=False, repr=False)

    prompt_name: ClassVar[str] = "score_string"
    shown: ClassVar[Mapping[str, str]] = {"input": "input", "prediction": "prediction"}
    requires_input = True

    def __post_init__(self) -> None:
        self.descriptions = loose_criteria(self.criteria)
        self._divisor = _divisor(self.normalize_by)
        if not self.lowest < self.highest:
            raise ValueError("The lowest rating must be below the highest.")
        self._scale = rating(self.lowest, self.highest)
        super().__post_init__()

    @property
    def evaluation_name(self) -> str:
        """The names of the criteria after `score_string:`."""
        return f"score_string:{'-'.join(self.descriptions)}"

    @property
    def higher_is_better(self) -> bool:
        """True: a high rating always says that the answer is good by its criteria."""
        return True

    def guidance(self) -> dict[str, str]:
        """The criteria, the scale and the rubric."""
        lines = as_lines(self.descriptions) or prompt_file("general")
        scale = f"The scale: {self.lowest} is the worst rating, {self.highest} the best."
        return {"criteria": "\n".join(filter(None, [lines, scale, self.rubric]))}

    def scale(self) -> Scale:
        """What a verdict may be."""
        return self._scale

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""
        score: Any = read(text, self._scale, finish_reason).verdict
        return {
            "reasoning": text,
            "score": score if self._divisor is None else score / self._divisor,
        }


@evaluator("labeled_score_string", title="Rating with a reference", needs_model=True)
@dataclass(kw_only=True)
class LabeledScoreStringEvalChain(ScoreStringEvalChain):
    """A model rates an answer in the light of a reference."""

    prompt_name: ClassVar[str] = "labeled_score_string"
    shown: ClassVar[Mapping[str, str]] = {**ScoreStringEvalChain.shown, "reference": "reference"}
    requires_reference = True


def _divisor(value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"normalize_by must be a number above 0, not {value!r}.")
    return number
