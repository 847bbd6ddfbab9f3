"""Preference pairs as preference-tuning libraries load them: texts, or messages of a chat."""

from __future__ import annotations

from typing import Any

from experiments.exports.records import Record
from experiments.rawjson import dumps, loads_exact
from experiments.texts import shown


def preference(inputs: str, chosen: str | None, rejected: str | None) -> Record:
    """One pair. Inputs with a list of messages make all three columns lists of messages."""
    prompt = loads_exact(inputs)
    answers = [loads_exact(text) if text else None for text in (chosen, rejected)]
    messages = _messages(prompt)
    if messages is None:
        cells: list[Any] = [shown(prompt) or "", *(shown(answer) or "" for answer in answers)]
    else:
        cells = [messages, *(_answer(answer) for answer in answers)]
    return dict(zip(("prompt", "chosen", "rejected"), map(dumps, cells), strict=True))


def _messages(value: Any) -> list[Any] | None:
    found = value.get("messages") if isinstance(value, dict) else None
    fits = isinstance(found, list) and found and all(_is_message(item) for item in found)
    return found if fits else None


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and "role" in item and "content" in item


def _answer(value: Any) -> list[Any]:
    if _is_message(value):
        return [value]
    single = value.get("message") if isinstance(value, dict) else None
    if _is_message(single):
        return [single]
    return _messages(value) or [{"role": "assistant", "content": shown(value) or ""}]
