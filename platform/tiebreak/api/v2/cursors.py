"""Where a walk through a list of version 2 goes on."""

from collections.abc import Sequence
from typing import Any

from experiments.errors import InvalidError
from tiebreak.api.shapes import Shape


def start_of(cursor: str | None) -> int:
    """How many rows were given before, for lists that have no better key."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
        raise InvalidError("cursor", "is not one that this server gave")
    return int(cursor)


def page(items: Sequence[Any], next_cursor: str | None) -> Shape:
    return {"items": list(items), "next_cursor": next_cursor}
