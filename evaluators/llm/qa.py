"""A model marks an answer as correct or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from evaluators.base import Result
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.llm.consistency import marked
from evaluators.llm.judge import JudgedString
from evaluators.llm.reading import read
from evaluators.llm.scales import CORRECTNESS, PARTIAL_CORRECTNESS, Scale


@evaluator("qa", title="Correct by the true answer", needs_model=True)
@dataclass(kw_only=True)
class QAEvalChain(JudgedString):
    """A model marks an answer against the true one: 1 for correct, 0 for incorrect."""

    partial_score: Annotated[
        float | None, About("The score of a partially correct answer, such as 0.5; else unread.")
    ] = None

    prompt_name: ClassVar[str] = "qa"
    shown: ClassVar[Mapping[str, str]] = {
        "query": "input",
        "result": "prediction",
        "answer": "reference",
    }
    forgives_unread: ClassVar[bool] = True
    requires_input = True
    requires_reference = True

    def __post_init__(self) -> None:
        if self.partial_score is not None and not 0 <= self.partial_score <= 1:
            raise ValueError("partial_score must be between 0 and 1.")
        super().__post_init__()

    @property
    def evaluation_name(self) -> str:
        """The name LangChain gives its column."""
        return "correctness"

    def scale(self) -> Scale:
        """What a verdict may be."""
        return CORRECTNESS if self.partial_score is None else PARTIAL_CORRECTNESS

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""
        verdict = str(read(text, self.scale(), finish_reason).verdict)
        scores = {"CORRECT": 1, "INCORRECT": 0}
        return {
            "reasoning": text.strip(),
            "value": verdict,
            "score": scores.get(verdict, self.partial_score),
            **marked(text, verdict),
        }

    def evaluate(
        self,
        examples: Sequence[Mapping[str, Any]],
        predictions: Sequence[Mapping[str, Any]],
        question_key: str = "query",
        answer_key: str = "answer",
        prediction_key: str = "result",
    ) -> list[Result]:
        """One result per example: the same as `evaluate_batch`, from LangChain's rows."""
        return self.evaluate_batch(
            [
                {
                    "input": example[question_key],
                    "reference": example[answer_key],
                    "prediction": prediction[prediction_key],
                }
                for example, prediction in zip(examples, predictions, strict=True)
            ]
        )


@evaluator("context_qa", title="Correct by a context", needs_model=True)
@dataclass(kw_only=True)
class ContextQAEvalChain(QAEvalChain):
    """A model marks an answer against a context: 1 for correct, 0 for incorrect."""

    prompt_name: ClassVar[str] = "context_qa"
    shown: ClassVar[Mapping[str, str]] = {
        "query": "input",
        "result": "prediction",
        "context": "reference",
    }

    @property
    def evaluation_name(self) -> str:
        """The name LangChain gives its column."""
        return "Contextual Accuracy"

    def evaluate(
        self,
        examples: Sequence[Mapping[str, Any]],
        predictions: Sequence[Mapping[str, Any]],
        question_key: str = "query",
        context_key: str = "context",
        prediction_key: str = "result",
    ) -> list[Result]:
        """One result per example: the same as `evaluate_batch`, from LangChain's rows."""
        return super().evaluate(examples, predictions, question_key, context_key, prediction_key)


@evaluator("cot_qa", title="Correct by a context, step by step", needs_model=True)
@dataclass(kw_only=True)
class CotQAEvalChain(ContextQAEvalChain):
    """A model works out the answer from a context step by step, then marks the one given."""

    prompt_name: ClassVar[str] = "cot_qa"

    @property
    def evaluation_name(self) -> str:
        """The name LangChain gives its column."""
        return "COT Contextual Accuracy"
