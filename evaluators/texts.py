"""Turning texts into comparable forms."""

from __future__ import annotations

import json
import re
import string
import unicodedata
from functools import lru_cache
from typing import Any

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ASCII_DIGITS = str.maketrans("", "", string.digits)
_ZERO_WIDTH = dict.fromkeys((0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF))


def as_text(value: Any) -> str:
    """A value as a reader should see it: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def nfc(value: Any) -> Any:
    """A text in canonical composed form; anything else as it is."""
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def squeeze(text: str) -> str:
    """A text without outer and zero-width blanks, inner runs of blanks made one."""
    return " ".join(text.translate(_ZERO_WIDTH).split())


def drop_ascii_punctuation(text: str) -> str:
    """A text without ASCII punctuation marks."""
    return text.translate(_ASCII_PUNCTUATION)


def drop_ascii_digits(text: str) -> str:
    """A text without the digits 0 to 9."""
    return text.translate(_ASCII_DIGITS)


def drop_punctuation(text: str) -> str:
    """A text without the punctuation marks and symbols of all scripts."""
    return "".join(one for one in text if _category(one)[0] not in "PS")


def drop_digits(text: str) -> str:
    """A text without the digits of all scripts."""
    return "".join(one for one in text if _category(one) not in ("Nd", "No"))


@lru_cache(maxsize=4096)
def _category(character: str) -> str:
    return unicodedata.category(character)


_SENTENCE_END = re.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s|\Z)|[。！？]+[”’」』）]*|\n\s*\n)\s*")


def sentences(text: str) -> list[str]:
    """The sentences of a text, those that hold a word."""
    return [part for part in _SENTENCE_END.split(text) if _WORD.search(part)]


# Scripts written without blanks: a character is the nearest thing to a word.
UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\U00020000-\U0003ffff]"
)
_WORD = re.compile(rf"{UNSPACED}|(?:(?!{UNSPACED})[\w\u0300-\u036f])+")


def words(text: str) -> list[str]:
    """The words of a text in NFKC; Chinese, Japanese, Thai and the like by character."""
    return _WORD.findall(unicodedata.normalize("NFKC", text))
