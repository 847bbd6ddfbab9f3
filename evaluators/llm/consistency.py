"""Whether a judge's verdict fits what it wrote before: the verdict stands, the row is marked."""

from __future__ import annotations

import re
from typing import Any

_CRITERION = r"(?:criteri(?:on|a)|requirements?|conditions?|standard)"
_ANSWER = (
    r"(?<!true )(?<!correct )(?<!expected )(?<!reference )"
    r"\b(?:answer|response|submission|prediction|result)\b[^.!?\n]{0,30}?\bis\s+"
    r"(?:therefore\s+|thus\s+|clearly\s+|indeed\s+)?"
)
# What a judge claims in words, by the verdict that would say the same.
_CLAIMS = {
    "N": rf"\b(?:does|do|did)(?:\s+not|n['’]t)\s+(?:\w+ly\s+)?(?:meet|satisfy|fulfil+|pass)\b"
    rf"[^.!?\n]{{0,30}}?\b{_CRITERION}|\bfails?\s+(?:to\s+(?:meet|satisfy|fulfil+)\s+)?"
    rf"(?:the|this|all|any)[^.!?\n]{{0,20}}?\b{_CRITERION}",
    "Y": rf"\b(?:meets?|satisf(?:y|ies)|fulfil+s?|passes)\s+[^.!?\n]{{0,25}}?\b{_CRITERION}",
    "INCORRECT": rf"{_ANSWER}(?:incorrect|wrong|not\s+correct)\b",
    "CORRECT": rf"{_ANSWER}correct\b",
    "A": r"\b(?:assistant|answer|response|model)\s+A\s+is\s+[^.!?\n]{0,20}?"
    r"(?<!not )(?:better|superior|stronger|preferable)\b",
    "B": r"\b(?:assistant|answer|response|model)\s+B\s+is\s+[^.!?\n]{0,20}?"
    r"(?<!not )(?:better|superior|stronger|preferable)\b",
}
_FAMILIES = ({"Y", "N"}, {"CORRECT", "INCORRECT"}, {"A", "B", "C"})
_SUPPOSED = re.compile(
    r"\b(?:whether|if|to|must|should|would|could|might|may|can(?:not)?|neither|not)\b"
    r"[^.!?\n]{0,60}\Z",
    re.I,
)


def contradicts(reasoning: str, verdict: Any) -> bool:
    """Whether all that a reasoning claims in plain words speaks against the verdict."""
    family = next((one for one in _FAMILIES if verdict in one), None)
    if family is None:
        return False
    claimed = [one for one in family & set(_CLAIMS) if _is_claimed(one, reasoning, family)]
    return len(claimed) == 1 and verdict not in claimed


def _is_claimed(claim: str, reasoning: str, family: set[str]) -> bool:
    text = reasoning
    if claim in ("Y", "CORRECT"):
        # A denial holds the words of the claim.
        [denial] = family - {claim}
        text = re.sub(_CLAIMS[denial], " ", reasoning, flags=re.I)
    matches = re.finditer(_CLAIMS[claim], text, re.I)
    return any(not _SUPPOSED.search(text[: match.start()]) for match in matches)


def marked(reasoning: str, verdict: Any, scores: dict[str, int] | None = None) -> dict[str, Any]:
    """`inconsistent`, if the reasoning or the scores of single criteria contradict the verdict."""
    scores = scores or {}
    torn = bool(scores) and (verdict == "Y") != all(scores.values())
    return {"inconsistent": True} if torn or contradicts(reasoning, verdict) else {}
