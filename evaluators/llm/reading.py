"""Reading a judge's reply: the last explicit verdict counts, and nothing is guessed from prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from evaluators.errors import UnreadableReply
from evaluators.llm.cleaning import Clean, clean
from evaluators.llm.scales import Scale, Verdict

FIELDS = ("verdict", "value", "answer", "rating", "score", "preference", "winner", "grade")
_REASONS = ("reasoning", "reason", "explanation", "rationale")

_LABEL = r"(?:verdict|answer|decision|rating|score|grade)"
_ABOUT = r"(?:[\s*_`]{0,8}(?:\([^()\n]{0,40}\)|\[[^\[\]\n]{0,40}\]))?(?:[\s*_`]{1,8}is\b)?"
# What may stand around a verdict: all but letters, digits, and marks that change a number.
_MARK = r"(?:(?![%/+=?−≈≤≥±€£¥【】])[\W_])"
_DRESS = rf"{_MARK}*"
_LABELLED = (
    rf"(?:\b{_LABEL}\b{_ABOUT}[\s*_`]{{0,8}}(?:[:=|]|[–—-]{{1,2}})|<(?:final[\s_-]?)?{_LABEL}>)"
    rf"(?:(?![–—~>.,-]){_MARK}){{0,20}}"
)
_DOUBLE = re.compile(r"\[\[([^\[\]]{0,120})\]\]")
_PLANTED = re.compile(
    rf"{_LABELLED}(?:(?:assistant\s+)?[abcyn]\b(?!\s+\w)|yes\b|no\b|(?:in)?correct\b|tie\b|\d)"
    r"|\{\s*\"(?:verdict|rating|score|preference|grade)\"\s*:|</?verdict>"
    r"|\bassistant [ab] (?:is better|wins)\b",
    re.I,
)
_UNDECIDED = re.compile(
    r"\b(?:cannot|can't|can not|could not|couldn't|(?:unable|not able|impossible|refuse) to)\s+"
    r"(?:really\s+)?(?:choose|decide|pick|tell|say|judge|determine)\b",
    re.I,
)
_REFUSAL = re.compile(
    r"\b(?:i'?m sorry|i am sorry|i apologi[sz]e|i cannot|i can'?t|i can not|i won'?t|unable to)\b",
    re.I,
)
# After "Correct:" this makes the word the name of a field, not its value.
_FIELD_NAME = re.compile(r"\s*(?:yes|no|true|false)\b[\s.!]*(?:\n|\Z)", re.I)
_RANGE = re.compile(r"[\s*_`]{0,4}(?:[–—~-]|to\b|or\b)[\s*_`]{0,4}\d")
# Not the dot of "N.B." or "No. 1", nor the hyphen of "yes-man".
_AFTER_OPENING = r"\.(?!\w|\s?\d)|-(?!\w)|[,:;!(–—]"
# Searching for objects stops after so many opening braces; replies are short.
_MOST_BRACES = 500


@dataclass(frozen=True)
class Found:
    """A verdict in a reply and where it stands in the raw text; `verdict` None is no verdict.

    `reasoning` is what a JSON object says beside its verdict.
    """

    verdict: Verdict | None
    start: int
    end: int
    reasoning: str = ""


def read(reply: str, scale: Scale, finish_reason: str = "") -> Found:
    """The last explicit verdict of a reply; UnreadableReply if there is none."""
    plain = clean(reply)
    found = _last(plain, scale)
    if found is None or found.verdict is None or _undecided(plain.text, found.end):
        raise unreadable(reply, plain.text, finish_reason)
    return replace(found, start=plain.places[found.start], end=plain.places[found.end])


def looks_like_verdict(text: str) -> bool:
    """Whether a judged text holds what could be taken for a verdict: worth a flag on its row."""
    plain = clean(text).text
    return bool(_DOUBLE.search(plain) or _PLANTED.search(plain))


def without_verdict(reply: str, found: Found) -> str:
    """A reply without the verdict that stands at its end, or as one letter at its start."""
    if found.reasoning:
        return found.reasoning
    if re.fullmatch(_DRESS, reply[found.end :]):
        return _bare_end(reply[: found.start])
    if found.end - found.start == 1 and not reply[: found.start].strip():
        return reply[found.end :].strip()
    return reply.strip()


def before_verdict(reply: str, found: Found) -> str:
    """What a reply says before its verdict and the label of that, however often repeated."""
    if found.reasoning:
        return found.reasoning
    word = re.escape(reply[found.start : found.end])
    again = rf"(?:{_LABELLED}{word}{_DRESS})*{_LABELLED}\Z"
    return _bare_end(re.sub(again, "", _bare_end(reply[: found.start]), flags=re.I)).strip()


def _bare_end(text: str) -> str:
    while True:
        shorter = text.rstrip(" \t\r\n\v\f*_`[({<#\"'$-").rstrip()
        before, _, word = shorter.rpartition("\\")
        shorter = before if re.fullmatch(r"boxed|text\w{0,6}|math\w{1,6}", word) else shorter
        if shorter == text:
            return text
        text = shorter


def unreadable(reply: str, text: str = "", finish_reason: str = "") -> UnreadableReply:
    """The error for a reply without a verdict, with its cause as far as it can be told."""
    if finish_reason == "length":
        hint = "The reply was cut off before its verdict: allow the judge more tokens."
        return UnreadableReply(hint, reply, "cut off")
    if finish_reason in ("content_filter", "refusal"):
        return UnreadableReply("A content filter stopped the judge.", reply, "filtered")
    if not text.strip():
        return UnreadableReply("The judge's reply is empty.", reply, "empty")
    if len(text) < 400 and _REFUSAL.search(text):
        return UnreadableReply("The judge refused to judge.", reply, "refused")
    return UnreadableReply("The judge's reply holds no verdict that can be read.", reply)


def _last(plain: Clean, scale: Scale) -> Found | None:
    text = plain.text
    objects = list(_objects(text, scale))
    if re.match(r"\s*(?:```\w*\s*)?\{\s*[\"}]", text) and not _DOUBLE.search(text):
        return objects[-1] if objects else None
    brackets = [_bracketed(match, scale) for match in _DOUBLE.finditer(text)]
    if brackets or objects:
        return _last_shaped([*brackets, *objects])
    strong = [*_labelled(text, scale), *_alone(text, scale), *_rated(text, scale)]
    # Beside an explicit verdict a last word counts only if it is written as one.
    closing = [
        one for one in _closing(text, scale) if not strong or text[one.start : one.end].isupper()
    ]
    found = [*strong, *_opening(text, scale), *closing]
    return max(found, key=lambda one: one.end, default=None)


def _last_shaped(candidates: list[Found | None]) -> Found | None:
    shaped = [one for one in candidates if one]
    return max(shaped, key=lambda one: one.end, default=None)


def _bracketed(match: re.Match[str], scale: Scale) -> Found | None:
    word = re.fullmatch(rf"{_DRESS}?(?:{_LABELLED})?({scale.word}){_DRESS}", match[1], re.I)
    followed = re.match(r"[\s*_`\"']*(?:if|when)\b", match.string[match.end() :], re.I)
    if not word or followed:
        return None
    return Found(scale.meaning(word[1]), match.start(), match.end())


def _objects(text: str, scale: Scale) -> Iterator[Found]:
    decoder = json.JSONDecoder(strict=False)
    end = 0
    for match in list(re.finditer(r"\{", text))[:_MOST_BRACES]:
        if match.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and (held := _held(value, scale)):
            yield Found(held[0], match.start(), end, _reasoning(value))


def _reasoning(value: dict[Any, Any]) -> str:
    fields = {str(name).casefold(): one for name, one in value.items()}
    given = [fields[name] for name in _REASONS if isinstance(fields.get(name), str)]
    return given[0] if given else ""


def _held(value: dict[Any, Any], scale: Scale) -> tuple[Verdict | None] | None:
    fields = {str(name).casefold(): one for name, one in value.items()}
    given = [fields[name] for name in FIELDS if name in fields]
    readable = [verdict for one in given if (verdict := scale.read(one)) is not None]
    return (readable[0] if readable else None,) if given else None


def _labelled(text: str, scale: Scale) -> Iterator[Found]:
    end = r"(?!_*[^\W_]|['’]\w|[.,]\d|\s*[%/])"
    for match in re.finditer(rf"{_LABELLED}({scale.word}){end}", text, re.I):
        rest = text[match.end() :]
        several = _is_one_of_several(rest, scale)
        if several or not _is_article(match[1], rest):
            yield Found(None if several else scale.meaning(match[1]), match.start(1), match.end(1))


def _is_one_of_several(rest: str, scale: Scale) -> bool:
    """Whether another verdict follows as a choice ("Y or N") or the end of a range."""
    joined = rf"{_MARK}{{0,8}}(?:=|&|\b(?:or|and|vs)\b){_MARK}{{0,8}}(?:{scale.word})(?!\w)"
    return bool(re.match(joined, rest, re.I) or (scale.number and _RANGE.match(rest)))


def _is_article(word: str, rest: str) -> bool:
    """Whether an `A` begins a phrase ("a good answer") rather than being a verdict."""
    return word.casefold() == "a" and bool(
        re.match(r"[^\S\n]+(?!is\b|wins\b|because\b|since\b)\w", rest)
    )


def _alone(text: str, scale: Scale) -> list[Found]:
    found = []
    for match in re.finditer(r"[^\n]+", text):
        # A colon at the end makes it the head of what follows.
        word = re.fullmatch(rf"{_DRESS}?({scale.word})(?:(?!:){_MARK})*", match[0], re.I)
        if word:
            start = match.start() + word.start(1)
            found.append(Found(scale.meaning(word[1]), start, match.start() + word.end(1)))
    return [] if scale.names and _are_heads(text, found) else found


def _are_heads(text: str, found: list[Found]) -> bool:
    """Whether names alone on their lines head a part on each side."""
    several = len({one.verdict for one in found}) > 1
    return several and re.search(r"\w", text[found[-1].end :]) is not None


def _rated(text: str, scale: Scale) -> Iterator[Found]:
    if scale.number:
        pattern = r"(?<![\w./,-])-?\d{1,9}(?:[.,]\d{1,9})?\s*(?:/|out\s+of)\s*\d{1,9}(?![\w/])"
        for match in re.finditer(pattern, text, re.I):
            if (verdict := scale.meaning(match[0])) is not None:
                yield Found(verdict, match.start(), match.end())


def _opening(text: str, scale: Scale) -> Iterator[Found]:
    match = re.match(rf"[\s*_`\"'(\[#>]*({scale.word})[\s*_`\"')\]]*({_AFTER_OPENING})", text, re.I)
    if not match or scale.number or match[1].casefold() + match[2] == "a(":
        return
    if not _FIELD_NAME.match(text[match.end() :]) and not _opens_a_list(match, scale):
        yield Found(scale.meaning(match[1]), match.start(1), match.end(1))


def _opens_a_list(opening: re.Match[str], scale: Scale) -> bool:
    """Whether another verdict opens a later part in the same way ("A: good. B: bad.")."""
    before = r"(?<!\w)" if opening[2] == ":" else rf"(?:\n|[.!?]\s){_MARK}{{0,8}}"
    same = rf"{before}({scale.word})[\s*_`\"')\]]*{re.escape(opening[2])}"
    others = re.finditer(same, opening.string[opening.end() :], re.I)
    return any(scale.meaning(one[1]) != scale.meaning(opening[1]) for one in others)


def _closing(text: str, scale: Scale) -> Iterator[Found]:
    if not scale.last_word:
        return
    match = re.search(rf"(?<![\w'’/-])({scale.last_word}){_DRESS}\Z", text, re.I)
    if match and (verdict := _undenied(text[: match.start()], match[1], scale)):
        yield Found(verdict, match.start(1), match.end(1))


def _undenied(before: str, word: str, scale: Scale) -> Verdict | None:
    sentence = re.split(scale.breaks, before.casefold())[-1]
    if re.search(r"(?:\bnot|n['’]t)[\s*_`\"']+(?:(?:factually|entirely)\s+)?\Z", sentence):
        entirely = re.search(r"entirely\s+\Z", sentence)
        return None if entirely else scale.meaning(f"not {word}")
    return None if _DENIAL.search(sentence) else scale.meaning(word)


_DENIAL = re.compile(
    r"\b(?:not|never|no|nothing|hardly|barely|scarcely|neither|nor|without|far from|rather than|"
    r"partially|partly|mostly|largely|somewhat|nearly|almost|half|doubt|unclear|whether|if|unless|"
    r"would be|could be|might be|may be|cannot)\b|n['’]t\b|\bor\s*\Z"
)


def _undecided(text: str, end: int) -> bool:
    return bool(_UNDECIDED.search(text[end:]))
