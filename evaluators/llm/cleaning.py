"""A judge's reply made plain before it is read, without losing where its parts came from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

# A template may have opened the first thought already.
_THOUGHT = re.compile(
    r"<(think|thinking)>.*?(?:</\1>|\Z)|\A(?:(?!<think(?:ing)?>).)*</think(?:ing)?>", re.S | re.I
)
_BOXED = re.compile(r"\\(?:boxed|text\w{0,6}|math\w{1,6})\s{0,8}\{([^{}]*)\}")
# A box around bold letters of a text.
_DEEPEST_BOX = 3
_ESCAPED = re.compile(r"\\([\[\]()*_])")


@dataclass(frozen=True)
class Clean:
    """A text, and for each of its characters (and its end) the place in the raw reply."""

    text: str
    places: tuple[int, ...]

    def replace(self, pattern: re.Pattern[str], keep: Callable[[re.Match[str]], int]) -> Clean:
        """With each match replaced by its group number `keep(match)`; 0 drops it."""
        text, places, end = [], [], 0
        for match in pattern.finditer(self.text):
            group = keep(match)
            start, stop = match.span(group) if group else (match.end(), match.end())
            text += [self.text[end : match.start()], self.text[start:stop]]
            places += [*self.places[end : match.start()], *self.places[start:stop]]
            end = match.end()
        return Clean("".join([*text, self.text[end:]]), (*places, *self.places[end:]))


def clean(reply: str) -> Clean:
    """A reply in NFKC, without thoughts, `\\boxed{}` and backslashes before brackets."""
    plain = _compatible(reply)
    plain = plain.replace(_THOUGHT, lambda match: 0)
    for _ in range(_DEEPEST_BOX):
        plain = plain.replace(_BOXED, lambda match: 1)
    return plain.replace(_ESCAPED, lambda match: 1)


def _compatible(reply: str) -> Clean:
    if reply.isascii():
        return Clean(reply, tuple(range(len(reply) + 1)))
    forms = [unicodedata.normalize("NFKC", character) for character in reply]
    places = [place for place, form in enumerate(forms) for _ in form]
    return Clean("".join(forms), (*places, len(reply)))
