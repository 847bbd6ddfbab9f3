"""Judged evaluators of what a search found for a question, given as the prediction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from evaluators.base import Result
from evaluators.define import evaluator
from evaluators.errors import UnreadableReply
from evaluators.llm.judge import JudgedString
from evaluators.llm.prompting import prompt_file
from evaluators.llm.reading import read, without_verdict
from evaluators.llm.scales import Scale

_NOTHING = "none"


@cache
def shares() -> dict[str, str]:
    """What is counted for each kind."""
    lines = prompt_file("shares").splitlines()
    return {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}


def _share(word: str) -> str | None:
    if word.casefold() == _NOTHING:
        return _NOTHING
    part, whole = map(int, re.findall(r"\d+", word))
    return f"{part}/{whole}" if part <= whole and whole else None


SHARE = Scale(word=r"\d{1,4}\s*(?:/|out\s+of|of)\s*\d{1,4}|none", meaning=_share)


@dataclass(kw_only=True)
class _CountedShare(JudgedString):
    prompt_name: ClassVar[str] = "share_with_answer"
    shown: ClassVar[Mapping[str, str]] = {
        "input": "input",
        "output": "prediction",
        "reference": "reference",
    }
    requires_input = True
    requires_reference = True

    def guidance(self) -> dict[str, str]:
        """What is counted."""
        return {"criteria": shares()[self.evaluation_name]}

    def scale(self) -> Scale:
        """What a verdict may be."""
        return SHARE

    def reply_schema(self) -> dict[str, Any]:
        """The JSON schema of a reply; the verdict is a text such as 3/4."""
        schema = super().reply_schema()
        properties = {**schema["properties"], "verdict": {"type": "string"}}
        return {**schema, "properties": properties}

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The share that a reply counts, and its numbers; UnreadableReply if it counts none."""
        found = read(text, SHARE, finish_reason)
        if found.verdict == _NOTHING:
            raise UnreadableReply("The judge found nothing to count.", text)
        part, whole = map(int, str(found.verdict).split("/"))
        return {
            "reasoning": without_verdict(text, found),
            "score": part / whole,
            "part": part,
            "whole": whole,
        }


@evaluator("context_relevance", needs_model=True)
@dataclass(kw_only=True)
class ContextRelevanceEvaluator(_CountedShare):
    """The share of the sentences found for a question that help to answer it."""

    prompt_name: ClassVar[str] = "share"
    shown: ClassVar[Mapping[str, str]] = {"input": "input", "output": "prediction"}
    requires_reference = False


@evaluator("context_precision", needs_model=True)
@dataclass(kw_only=True)
class ContextPrecisionEvaluator(_CountedShare):
    """The share of the texts found for a question that are of use for its true answer."""


@evaluator("context_recall", needs_model=True)
@dataclass(kw_only=True)
class ContextRecallEvaluator(_CountedShare):
    """The share of the true answer's statements that the texts found bear out."""


@evaluator("context_entity_recall", needs_model=True)
@dataclass(kw_only=True)
class ContextEntityRecallEvaluator(_CountedShare):
    """The share of the names and figures of the true answer that the texts found hold."""
