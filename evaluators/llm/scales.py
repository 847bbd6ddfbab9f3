"""What a verdict may look like: of two answers, yes or no, correct or not, a rating."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Verdict = str | float | int

_SIDE = r"(?:the\s+)?(?:(?:assistant|answer|response|model|option|candidate|output)[\s_]*)?"


@dataclass(frozen=True)
class Scale:
    """The verdicts of one kind: the pattern of a word for one, and what the word means.

    `last_word` is a pattern that also counts as the last word of a reply, unless it is denied;
    `breaks` is what a denial does not reach across. `meaning` gives None for a word that looks
    like a verdict but is none, such as a rating out of range. `names` says that the words also
    name what is judged.
    """

    word: str
    meaning: Callable[[str], Verdict | None]
    number: bool = False
    last_word: str = ""
    breaks: str = r"[.!?\n]"
    names: bool = False
    values: Mapping[Any, Verdict] | None = None
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The JSON schema of a reply, for models that keep to one."""
        verdict = {"type": "number"} if self.number else {"enum": list(self.choices)}
        return {
            "type": "object",
            "properties": {"reasoning": {"type": "string"}, "verdict": verdict},
            "required": ["reasoning", "verdict"],
            "additionalProperties": False,
        }

    def read(self, value: Any) -> Verdict | None:
        """The verdict that a field of a JSON object holds."""
        if isinstance(value, bool):
            return (self.values or {}).get(value)
        if isinstance(value, (int, float)):
            return self.meaning(repr(value)) if self.number else None
        found = re.fullmatch(rf"\W*?({self.word})\W*", str(value).strip(), re.I)
        return self.meaning(found[1]) if found else None


_PARTLY = ("partially", "partly", "mostly", "largely", "somewhat")


def _side(word: str) -> str:
    return "C" if word.casefold().split()[-1] in ("tie", "tied", "draw") else word[-1].upper()


def _yes_no(word: str) -> str | None:
    return None if word.casefold().startswith("not ") else word[0].upper()


def _correctness(word: str) -> str | None:
    words = re.sub(r"n['’]t\b", " not", word.casefold()).split()
    if words[0] in _PARTLY:
        return "PARTIALLY CORRECT" if words[-1] == "correct" else None
    denied = "not" in words
    if words[-1] == "incorrect":
        return None if denied else "INCORRECT"
    return "INCORRECT" if denied else "CORRECT"


def rating(low: int, high: int) -> Scale:
    """Numbers from `low` to `high`, also as `n/high` and `n out of high`."""

    def meaning(word: str) -> float | int | None:
        number, _, limit = re.sub(r"\s*(?:/|out of|of)\s*", "/", word.casefold()).partition("/")
        value = float(number.replace(",", "."))
        if (limit and float(limit) != high) or not low <= value <= high:
            return None
        return int(value) if value.is_integer() else value

    word = r"[-−+]?\d{1,9}(?:\.\d{1,9}|,\d{1,2}(?!\d))?(?:\s*(?:/|out\s+of)\s*\d{1,9}(?:\.0+)?)?"
    return Scale(word=word, meaning=meaning, number=True)


PAIR = Scale(
    word=rf"(?:an?\s+)?(?:tied?|draw)|{_SIDE}[abc]",
    meaning=_side,
    names=True,
    choices=("A", "B", "C"),
)
YES_NO = Scale(
    word="yes|no|y|n",
    meaning=_yes_no,
    last_word="[yn]",
    breaks=r"[.!?\n,;:–—]|\b(?:so|thus|therefore|hence|and|but)\b",
    values={True: "Y", False: "N"},
    choices=("Y", "N"),
)
CORRECTNESS = Scale(
    word=r"(?:(?:is|was)?n['’]t\s+|not\s+)?(?:correct|incorrect)",
    meaning=_correctness,
    last_word=r"(?:correct|incorrect)",
    values={True: "CORRECT", False: "INCORRECT"},
    choices=("CORRECT", "INCORRECT"),
)
PARTIAL_CORRECTNESS = replace(
    CORRECTNESS,
    word=rf"(?:{'|'.join(_PARTLY)})\s+correct|{CORRECTNESS.word}",
    last_word=rf"(?:{'|'.join(_PARTLY)})\s+correct|{CORRECTNESS.last_word}",
    choices=("CORRECT", "PARTIALLY CORRECT", "INCORRECT"),
)
