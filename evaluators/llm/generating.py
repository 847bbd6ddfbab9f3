"""Questions with answers out of documents, to make a dataset from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evaluators.base import Result, row_error
from evaluators.errors import UnreadableReply
from evaluators.llm.adapters import as_model
from evaluators.llm.prompting import fenced, fill, prompt_file

_PAIR = re.compile(
    r"(?:\A|\n)[\s*#]*QUESTION[\s*]*:[\s*]*(?P<query>\S.*?)\s*\n[\s*#]*ANSWER[\s*]*:[\s*]*"
    r"(?P<answer>\S.*?)\s*\Z",
    re.S | re.I,
)


@dataclass(kw_only=True)
class QAGenerateChain:
    """A model writes a question and its answer from a document."""

    llm: Any

    def __post_init__(self) -> None:
        self.model = as_model(self.llm)

    @classmethod
    def from_llm(cls, llm: Any) -> QAGenerateChain:
        """The same, as LangChain's users write it."""
        return cls(llm=llm)

    def generate(self, document: Any) -> dict[str, str]:
        """`query` and `answer`; UnreadableReply (a ValueError) if the reply holds no pair."""
        mark, shown = fenced({"document": document})
        prompt = fill(prompt_file("generate_qa"), {**shown, "mark": mark})
        return question_and_answer(self.model.complete(prompt).text)

    def generate_all(self, documents: Iterable[Any]) -> list[Result]:
        """One pair per document, in order; a document without one gives its `row_error`."""
        return [self._safely(document) for document in documents]

    def _safely(self, document: Any) -> Result:
        try:
            return dict(self.generate(document))
        except Exception as error:
            return row_error(error)


def question_and_answer(reply: str) -> dict[str, str]:
    """The pair of a reply of the form `QUESTION: ...`, `ANSWER: ...`."""
    found = _PAIR.search(reply)
    if found is None:
        raise UnreadableReply("The reply holds no question with an answer.", reply)
    return found.groupdict()
