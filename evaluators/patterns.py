"""Regular expressions, each match with a time limit."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.errors import OutOfTime
from evaluators.kinds import About
from evaluators.processes import within_process

LONGEST_TIME = 2.0
_FLAGS = ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "VERBOSE", "ASCII", "UNICODE")


@evaluator("regex_match")
@dataclass(kw_only=True)
class RegexMatchStringEvaluator(StringEvaluator):
    """1 if the prediction matches the reference as a regular expression, 0 if not."""

    flags: Annotated[int, About("The sum of flags of Python's re, such as 2 for IGNORECASE.")] = 0
    mode: Annotated[
        Literal["match", "search", "fullmatch"],
        About("At the start, anywhere, or the whole prediction."),
    ] = "match"
    pattern: Annotated[str | None, About("One pattern for all rows, in place of references.")] = (
        None
    )
    time_limit: Annotated[float, About("Seconds for one match, two at most.")] = 1.0

    def __post_init__(self) -> None:
        if self.mode not in ("match", "search", "fullmatch"):
            raise ValueError(f"Unknown mode {self.mode!r}: choose match, search or fullmatch.")
        if not isinstance(self.flags, int):
            raise ValueError("flags must be a whole number, the sum of Python's re flags.")
        if not 0 < self.time_limit <= LONGEST_TIME:
            raise ValueError(f"time_limit must be above 0 and at most {LONGEST_TIME:g} seconds.")
        if self.pattern is not None:
            compiled(self.pattern, self.flags)

    @property
    def requires_reference(self) -> bool:
        """Whether the pattern comes from the reference."""
        return self.pattern is None

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        if not isinstance(prediction, str):
            raise TypeError(f"A pattern needs a text, not {type(prediction).__name__}.")
        pattern = reference if self.pattern is None else self.pattern
        found = matches(pattern, prediction, self.mode, self.flags, self.time_limit)
        return {"score": int(found)}


def matches(pattern: str, text: str, mode: str, flags: int = 0, seconds: float = 1.0) -> bool:
    """Whether a pattern matches (`mode` match, search or fullmatch) as Python's `re` has it.

    OutOfTime after so many seconds; ValueError for a bad pattern.
    """
    ready = compiled(pattern, flags)
    if _differs(pattern, text, flags):
        return bool(within_process(_matches_by_re, (pattern, text, mode, flags), seconds))
    try:
        return getattr(ready, mode)(text, timeout=seconds) is not None
    except TimeoutError:
        raise OutOfTime(f"The pattern took longer than {seconds:g} seconds.") from None


def _matches_by_re(pattern: str, text: str, mode: str, flags: int) -> bool:
    warnings.simplefilter("ignore")
    return getattr(re.compile(pattern, flags & ~re.DEBUG), mode)(text) is not None


def _differs(pattern: str, text: str, flags: int) -> bool:
    """Whether `regex` may match otherwise: it reads words, blanks, digits and case its own way."""
    if _SCOPED_FLAGS.search(pattern) or (not text and "\\B" in pattern):
        return True
    asks = flags & re.IGNORECASE or _CLASSES.search(pattern)
    return bool(asks) and any(map(_is_read_otherwise, {*text, *pattern}))


_CLASSES = re.compile(r"\\[wWbBsSdD]|\(\?[a-zA-Z]*i")
_SCOPED_FLAGS = re.compile(r"\(\?[a-zA-Z]*[au][a-zA-Z]*:")
# Where no number of repeats follows, `re` takes a brace as it is, and `regex` for fuzzy matching.
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{(?!(?:\d+(?:,\d*)?|,\d*)\})", re.S)


@lru_cache(maxsize=4096)
def _is_read_otherwise(character: str) -> bool:
    """Whether `re` and `regex` disagree on a character: on accents of their own, for instance."""
    if character in "\x1c\x1d\x1e\x1f\u0130\u0131":
        return True
    import regex

    return any(
        bool(re.match(one, character)) != bool(regex.match(one, character))
        for one in (r"\w", r"\d")
        for one in (r"\w", r"\d")
    )


@lru_cache(maxsize=1024)
def compiled(pattern: str, flags: int = 0) -> Any:
    """A pattern with Python's syntax and a time limit; ValueError naming it if it is bad."""
    import regex

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # `regex` takes more than `re` does, under other flag numbers.
            known = re.compile(pattern, flags & ~re.DEBUG)
            by_name = [getattr(regex, name) for name in _FLAGS if flags & getattr(re, name)]
            # POSIX classes such as [[:alpha:]] are unknown to `re`.
            plain = known.pattern.replace("[:", "[\\:")
            plain = _BRACE.sub(lambda found: found[0].replace("{", "\\{", found[0] == "{"), plain)
            return regex.compile(plain, sum(by_name) | regex.VERSION0)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"Bad pattern {pattern!r}: {error}") from None
