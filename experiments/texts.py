"""What a judge or a reader is shown of a JSON value."""

import re
from collections.abc import Mapping
from typing import Any

from experiments.rawjson import NotJsonError, dumps, loads, loads_exact

CONTRADICTS = "The verdict contradicts the reasoning."
_VERDICT_LINE = re.compile(r"\s*\**\[\[[^\]\n]{1,20}\]\]\**\s*$")


def text_of(payload: str | None) -> str | None:
    """The text in a payload: an object with one key shows that key's value, the rest shows JSON.

    None for no payload and for JSON null.
    """
    return None if payload is None else shown(loads_exact(payload))


def shown(value: Any) -> str | None:
    """The same for a value that was read already."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 1:
        return shown(next(iter(value.values())))
    return dumps(value)


def reason_in(reply: str) -> str:
    """The reason in a judge's reply: without the verdict at its end, or out of its JSON shape."""
    text = reply.strip()
    if text.startswith("{"):
        try:
            value = loads(text)
        except NotJsonError:
            return text
        reasons = (value.get(key) for key in ("reasoning", "reason", "explanation"))
        return next((one for one in reasons if isinstance(one, str)), text)
    return _VERDICT_LINE.sub("", text)


def reason_of(result: Mapping[str, Any]) -> str:
    """The reason of an evaluator's result, and before it what is odd about the verdict."""
    reason = reason_in(str(result.get("reasoning") or ""))
    return f"({CONTRADICTS}) {reason}" if result.get("inconsistent") else reason
