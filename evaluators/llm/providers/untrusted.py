"""What a server sent, taken for no more than it is: any field may hold anything."""

from __future__ import annotations

import json
from typing import Any

# More than any model reads or writes in a call; a greater count is a slip, and would be charged.
MOST_TOKENS = 1_000_000_000


def count_of(usage: Any, name: str) -> int | None:
    """The tokens that a usage report counts; None if it tells no plausible number."""
    count = getattr(usage, name, None)
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    return count if 0 <= count <= MOST_TOKENS else None


def word_of(value: Any) -> str:
    """A text, or nothing."""
    return value if isinstance(value, str) else ""


def text_of(content: Any) -> str:
    """The text of a message; what is no text is shown as JSON, for a reader to judge.

    A list of parts, as some servers send it, is the text of its parts.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        if parts and all(isinstance(part, str) for part in parts):
            return "".join(map(word_of, parts))
    return raw_text(content)


def raw_text(value: Any) -> str:
    """Anything that came from a server, as text."""
    dump = getattr(value, "model_dump", None)
    try:
        return json.dumps(dump(warnings=False) if dump else value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
