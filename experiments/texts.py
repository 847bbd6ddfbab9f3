"""What a judge or a reader is shown of a JSON value."""

from typing import Any

from experiments.rawjson import dumps, loads_exact


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
