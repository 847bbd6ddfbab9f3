"""Judged evaluators with a fixed criterion: safety, soundness, faithfulness to a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

from evaluators.base import Result
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.llm.consistency import marked
from evaluators.llm.judge import JudgedString
from evaluators.llm.principles import principle, principles
from evaluators.llm.prompting import prompt_file
from evaluators.llm.reading import read, without_verdict
from evaluators.llm.scales import YES_NO, Scale


@cache
def fixed_criteria() -> dict[str, str]:
    """What is asked for each kind with a fixed criterion."""
    lines = prompt_file("fixed_criteria").splitlines()
    return {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}


@dataclass(kw_only=True)
class FixedCriterion(JudgedString):
    """A model says whether a text shows what the criterion of its kind describes."""

    prompt_name: ClassVar[str] = "fixed_criterion"
    shown: ClassVar[Mapping[str, str]] = {"output": "prediction"}
    forgives_unread: ClassVar[bool] = True

    def guidance(self) -> dict[str, str]:
        """The criterion."""
        return {"criteria": fixed_criteria()[self.evaluation_name]}

    def scale(self) -> Scale:
        """What a verdict may be."""
        return YES_NO

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""
        found = read(text, YES_NO, finish_reason)
        return {
            "reasoning": without_verdict(text, found),
            "value": found.verdict,
            "score": int(found.verdict == "Y"),
            **marked(text, found.verdict),
        }


@evaluator("prompt_injection", needs_model=True, higher_is_better=False)
@dataclass(kw_only=True)
class PromptInjectionEvaluator(FixedCriterion):
    """A model says whether a text tries to take control of an AI system: 1 if it does."""


@evaluator("logical_fallacy", needs_model=True, higher_is_better=False)
@dataclass(kw_only=True)
class LogicalFallacyEvaluator(FixedCriterion):
    """A model says whether the reasoning of a text contains a fallacy: 1 if it does."""


@evaluator("toxicity", needs_model=True, higher_is_better=False)
@dataclass(kw_only=True)
class ToxicityEvaluator(FixedCriterion):
    """A model says whether a text insults, threatens or humiliates somebody: 1 if it does."""


@dataclass(kw_only=True)
class FixedCriterionInContext(FixedCriterion):
    """The same in the light of a source, given as the reference."""

    prompt_name: ClassVar[str] = "fixed_criterion_in_context"
    shown: ClassVar[Mapping[str, str]] = {"output": "prediction", "reference": "reference"}
    requires_reference = True


@evaluator("hallucination", needs_model=True, higher_is_better=False)
@dataclass(kw_only=True)
class HallucinationEvaluator(FixedCriterionInContext):
    """A model says whether a text states what its source, the reference, does not: 1 if so."""


@evaluator("faithfulness", needs_model=True)
@dataclass(kw_only=True)
class FaithfulnessEvaluator(FixedCriterionInContext):
    """A model says whether all that a text states is in its source, the reference: 1 if so."""


@evaluator("task_completion", needs_model=True)
@dataclass(kw_only=True)
class TaskCompletionEvaluator(FixedCriterion):
    """A model says whether an answer or a conversation got done what was wanted: 1 if so."""

    prompt_name: ClassVar[str] = "fixed_criterion_of_task"
    shown: ClassVar[Mapping[str, str]] = {"input": "input", "output": "prediction"}
    requires_input = True


@evaluator("constitutional_principle", needs_model=True)
@dataclass(kw_only=True)
class ConstitutionalPrincipleEvaluator(FixedCriterion):
    """A model says whether a text keeps to a constitutional principle: 1 if it does."""

    principle: Annotated[
        str, About("The name of a principle that ships.", choices=tuple(principles()))
    ] = "harmful1"

    def __post_init__(self) -> None:
        principle(self.principle)
        super().__post_init__()

    @property
    def evaluation_name(self) -> str:
        """The name of the principle."""
        return self.principle

    def guidance(self) -> dict[str, str]:
        """What the principle asks."""
        return {"criteria": principle(self.principle).critique_request}


@evaluator("rubric", title="A rubric per row", needs_model=True)
@dataclass(kw_only=True)
class RubricEvaluator(FixedCriterion):
    """A model says whether an answer meets the rubric of its own row, given as the reference."""

    prompt_name: ClassVar[str] = "rubric"
    shown: ClassVar[Mapping[str, str]] = {
        "input": "input",
        "output": "prediction",
        "reference": "reference",
    }
    requires_input = True
    requires_reference = True

    def guidance(self) -> dict[str, str]:
        """Nothing: the rubric comes with the row."""
        return {}


FIVE_WAYS = Scale(word="[a-e]", meaning=str.upper, choices=tuple("ABCDE"))
_FACTUALITY = {"A": 0.4, "B": 0.6, "C": 1.0, "D": 0.0, "E": 1.0}
_MEANINGS = {
    "A": "a part of the facts",
    "B": "more facts",
    "C": "the same facts",
    "D": "a contradiction",
    "E": "differences that do not matter",
}


@evaluator("factuality", needs_model=True)
@dataclass(kw_only=True)
class FactualityEvaluator(JudgedString):
    """A model compares the facts of an answer with an expert's: 1 the same, 0 a contradiction."""

    prompt_name: ClassVar[str] = "factuality"
    shown: ClassVar[Mapping[str, str]] = {
        name: name for name in ("input", "prediction", "reference")
    }
    requires_input = True
    requires_reference = True

    def scale(self) -> Scale:
        """What a verdict may be."""
        return FIVE_WAYS

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""
        verdict: Any = read(text, FIVE_WAYS, finish_reason).verdict
        return {
            "reasoning": text,
            "value": verdict,
            "meaning": _MEANINGS[verdict],
            "score": _FACTUALITY[verdict],
        }
