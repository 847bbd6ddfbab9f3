"""Overlap with a reference as machine translation and summaries are scored: BLEU, chrF, ROUGE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, Literal

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.errors import MissingExtra
from evaluators.kinds import About
from evaluators.texts import as_text, words


def _references(reference: Any) -> list[str]:
    several = isinstance(reference, (list, tuple))
    if several and not reference:
        raise ValueError("The list of references is empty.")
    return [as_text(one) for one in (reference if several else [reference])]


def extra(module: str, name: str) -> Any:
    """An optional package; MissingExtra if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(module, name) from None


_TOKENIZERS = ("13a", "intl", "zh", "char", "none")


@evaluator("bleu", title="BLEU", requires=("sacrebleu",), extra="metrics")
@dataclass(kw_only=True)
class BleuEvaluator(StringEvaluator):
    """Sentence BLEU against one or several references, 0 to 1 (by sacrebleu)."""

    tokenize: Annotated[
        Literal["13a", "intl", "zh", "char", "none"],
        About("How words are found; zh or char for Chinese and Japanese."),
    ] = "13a"
    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = False

    requires_reference = True

    def __post_init__(self) -> None:
        if self.tokenize not in _TOKENIZERS:
            raise ValueError(f"tokenize must be one of {', '.join(_TOKENIZERS)}.")
        metrics = extra("sacrebleu.metrics", "metrics")
        self._bleu = metrics.BLEU(
            effective_order=True, tokenize=self.tokenize, lowercase=self.ignore_case
        )

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        found = self._bleu.sentence_score(as_text(prediction), _references(reference))
        return {"score": found.score / 100}


@evaluator("chrf", title="chrF", requires=("sacrebleu",), extra="metrics")
@dataclass(kw_only=True)
class ChrfEvaluator(StringEvaluator):
    """Sentence chrF against one or several references, 0 to 1 (by sacrebleu); fits all scripts."""

    word_order: Annotated[int, About("2 for chrF++, which counts words too.")] = 0
    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = False

    requires_reference = True

    def __post_init__(self) -> None:
        if self.word_order < 0:
            raise ValueError("word_order must be 0 or more.")
        metrics = extra("sacrebleu.metrics", "metrics")
        self._chrf = metrics.CHRF(word_order=self.word_order, lowercase=self.ignore_case)

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        found = self._chrf.sentence_score(as_text(prediction), _references(reference))
        return {"score": found.score / 100}


@evaluator("ter", title="TER", higher_is_better=False, requires=("sacrebleu",), extra="metrics")
@dataclass(kw_only=True)
class TerEvaluator(StringEvaluator):
    """Edits, a moved phrase as one, per word of the references on average; 0 is best."""

    ignore_case: Annotated[bool, About("Capital and small letters are the same.")] = True
    asian: Annotated[bool, About("Take Chinese and Japanese by character.")] = False

    requires_reference = True

    def __post_init__(self) -> None:
        metrics = extra("sacrebleu.metrics", "metrics")
        self._ter = metrics.TER(
            case_sensitive=not self.ignore_case, normalized=self.asian, asian_support=self.asian
        )

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        references = _references(reference)
        if not any(one.strip() for one in references):
            raise ValueError("An empty reference has no error rate.")
        found = self._ter.sentence_score(as_text(prediction), references)
        return {"score": found.score / 100}


@evaluator("word_error_rate", higher_is_better=False, requires=("jiwer",), extra="metrics")
@dataclass(kw_only=True)
class WordErrorRateEvaluator(StringEvaluator):
    """Wrong, missing and superfluous words per word of the reference (by jiwer); 0 is best."""

    unit: Annotated[
        Literal["words", "characters"], About("Count words, or characters instead.")
    ] = "words"

    requires_reference = True

    def __post_init__(self) -> None:
        if self.unit not in ("words", "characters"):
            raise ValueError("unit must be words or characters.")
        jiwer = extra("jiwer", "metrics")
        self._rate = jiwer.wer if self.unit == "words" else jiwer.cer

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        wanted = as_text(reference)
        if not wanted.strip():
            raise ValueError("An empty reference has no error rate.")
        return {"score": float(self._rate(wanted, as_text(prediction)))}


@evaluator("rouge", title="ROUGE")
@dataclass(kw_only=True)
class RougeEvaluator(StringEvaluator):
    """ROUGE F1 against the reference, 0 to 1, in all scripts; Chinese counts by character."""

    variant: Annotated[
        Literal["1", "2", "L"], About("Single words, pairs of words, longest common sequence.")
    ] = "L"

    requires_reference = True

    def __post_init__(self) -> None:
        if self.variant not in ("1", "2", "L"):
            raise ValueError("variant must be 1, 2 or L.")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        found, wanted = (self._units(text) for text in (prediction, reference))
        if not found or not wanted:
            return {"score": float(found == wanted)}
        shared = _longest(found, wanted) if self.variant == "L" else _common(found, wanted)
        return {"score": 2 * shared / (len(found) + len(wanted))}

    def _units(self, text: Any) -> list[Any]:
        found = [word.casefold() for word in words(as_text(text))]
        return list(pairwise(found)) if self.variant == "2" else found


def _longest(found: Sequence[Any], wanted: Sequence[Any]) -> int:
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity(found, wanted)


def _common(found: Sequence[Any], wanted: Sequence[Any]) -> int:
    return (Counter(found) & Counter(wanted)).total()
