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
        match = getattr(compiled(pattern, self.flags), self.mode)
        return {"score": int(within_time(match, prediction, self.time_limit))}


def within_time(match: Any, text: str, seconds: float) -> bool:
    """Whether a method of a compiled pattern finds something; OutOfTime after so many seconds."""
    try:
        return match(text, timeout=seconds) is not None
    except TimeoutError:
        raise OutOfTime(f"The pattern took longer than {seconds:g} seconds.") from None


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
            return regex.compile(plain, sum(by_name) | regex.VERSION0)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"Bad pattern {pattern!r}: {error}") from None
