"""Chats inside outputs: the messages of the shapes that chat APIs and frameworks give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.rawjson import NotJsonError, dumps, dumps_pretty, loads_exact

# Names that frameworks give to the same speaker.
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool"}
_SPOKEN = ("text", "input_text", "output_text")


@dataclass(frozen=True)
class Call:
    """A tool that an assistant wants called."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """Who says what; texts as they were sent."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    name: str = ""


def conversation_in(text: str | None) -> list[Message] | None:
    """The messages in an output that is JSON; None where it is no conversation."""
    try:
        value = loads_exact(text or "")
    except NotJsonError:
        return None
    found = _messages(value)
    return [_message(item) for item in found] if found else None


def _messages(value: Any) -> list[dict[str, Any]] | None:
    """The list of messages, wherever the usual shapes keep it."""
    if isinstance(value, list):
        items = [_plain(item) for item in value]
        return items if items and all(map(_is_message, items)) else None
    if not isinstance(value, dict):
        return None
    if _is_message(_plain(value)):
        return [_plain(value)]
    for key in ("messages", "message", "choices", "output", "outputs", "input", "inputs"):
        found = _messages(value[key]) if key in value else None
        if found:
            return found
    return None


def _plain(item: Any) -> Any:
    """A message without the wrapping that choices and serialised objects have."""
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("message"), dict):
        return item["message"]
    for key in ("data", "kwargs"):
        inner = item.get(key)
        if isinstance(inner, dict) and "content" in inner:
            kind = item.get("type") if key == "data" else None
            return {**({"type": kind} if kind else {}), **inner}
    return item


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict) or not ("content" in item or "tool_calls" in item):
        return False
    return isinstance(item.get("role", item.get("type")), str)


def _message(item: dict[str, Any]) -> Message:
    role = str(item.get("role") or item.get("type"))
    calls = item.get("tool_calls")
    named = item.get("name")
    return Message(
        role=_ROLES.get(role, role),
        text=_said(item.get("content")),
        calls=tuple(_call(one) for one in calls) if isinstance(calls, list) else (),
        name=named if isinstance(named, str) else "",
    )


def _said(content: Any) -> str:
    """What is said: a text, or the parts of one; a part that is no text shows its JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(_part, content))
    return dumps(content)


def _part(part: Any) -> str:
    if isinstance(part, dict) and part.get("type") in _SPOKEN and isinstance(part.get("text"), str):
        return str(part["text"])
    return part if isinstance(part, str) else dumps(part)


def _call(one: Any) -> Call:
    if not isinstance(one, dict):
        return Call("?", dumps(one))
    function = one.get("function")
    asked = function if isinstance(function, dict) else one
    arguments = asked.get("arguments", asked.get("args"))
    name = asked.get("name")
    return Call(name if isinstance(name, str) else "?", _laid_out(arguments))


def _laid_out(arguments: Any) -> str:
    if not isinstance(arguments, str):
        return dumps_pretty(arguments)
    try:
        return dumps_pretty(loads_exact(arguments))
    except NotJsonError:
        return arguments
