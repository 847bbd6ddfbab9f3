"""Equality and overlap of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any
from unicodedata import normalize

import evaluators.texts as forms
from evaluators.base import Evaluator, Result, Row, StringEvaluator
from evaluators.define import evaluator
from evaluators.kinds import About


@evaluator("exact_match")
@dataclass(kw_only=True)
class ExactMatchStringEvaluator(StringEvaluator):
    """1 if the prediction equals the reference, 0 if not."""

    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = False
    ignore_punctuation: Annotated[bool, About("Drop the ASCII punctuation marks.")] = False
    ignore_numbers: Annotated[bool, About("Drop the digits 0 to 9.")] = False
    ignore_whitespace: Annotated[bool, About("Trim, and count runs of blanks as one blank.")] = (
        False
    )
    normalize_unicode: Annotated[bool, About("Compare compatibility forms (NFKC).")] = False
    unicode_aware: Annotated[bool, About("Drop the punctuation and digits of all scripts.")] = False
    coerce: Annotated[bool, About("Compare values that are not text by their JSON form.")] = False

    requires_reference = True

    @cached_property
    def _steps(self) -> list[Any]:
        wide = self.unicode_aware
        fold = str.casefold if self.normalize_unicode or wide else str.lower
        steps = [
            (self.coerce, forms.as_text),
            (self.normalize_unicode, lambda text: normalize("NFKC", text)),
            (self.ignore_case, fold),
            (
                self.ignore_punctuation,
                forms.drop_punctuation if wide else forms.drop_ascii_punctuation,
            ),
            (self.ignore_numbers, forms.drop_digits if wide else forms.drop_ascii_digits),
            (self.ignore_whitespace, forms.squeeze),
        ]
        return [step for wanted, step in steps if wanted]

    def _form(self, value: Any) -> Any:
        for step in self._steps:
            if not isinstance(value, str) and step is not forms.as_text:
                raise TypeError(f"Options of exact_match need texts, not {type(value).__name__}.")
            value = step(value)
        return value

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        return {"score": int(self._form(prediction) == self._form(reference))}

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        # Rows of a batch are alike: whether an input is worth its warning, the first tells.
        if self._steps or not rows or "input" in rows[0]:
            return Evaluator._evaluate_rows(self, rows)
        try:
            return _equalities(rows)
        except Exception:
            # A row lacks a side, or its values refuse to be compared: each row by itself.
            return Evaluator._evaluate_rows(self, rows)


class _Missing(Exception):
    pass


def _equalities(rows: Sequence[Row]) -> list[Result]:
    """The results of rows that have a reference."""
    # No call of ours per row: most of the time then goes into making the results.
    equal, unequal = _EQUAL.copy, _UNEQUAL.copy
    return [
        equal()
        if (wanted := row["reference"]) == row["prediction"] and wanted is not None
        else unequal()
        if wanted is not None
        else _no_reference()
        for row in rows
    ]


def _no_reference() -> Result:
    raise _Missing


_EQUAL: Result = {"score": 1}
_UNEQUAL: Result = {"score": 0}


@evaluator("token_overlap")
@dataclass(kw_only=True)
class TokenOverlapEvaluator(StringEvaluator):
    """The F1 of the words that prediction and reference share, 0 to 1 (as SQuAD counts it)."""

    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = True
    ignore_articles: Annotated[bool, About("Leave out a, an and the.")] = False

    requires_reference = True

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        said, wanted = (Counter(self._words(text)) for text in (prediction, reference))
        shared = (said & wanted).total()
        total = said.total() + wanted.total()
        return {"score": 2 * shared / total if total else 1.0}

    def _words(self, text: Any) -> list[str]:
        words = forms.words(forms.as_text(text))
        if self.ignore_case:
            words = [word.casefold() for word in words]
        if self.ignore_articles:
            words = [word for word in words if word.casefold() not in ("a", "an", "the")]
        return words
