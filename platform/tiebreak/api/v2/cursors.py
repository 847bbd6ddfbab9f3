"""Where a walk through a list of version 2 goes on."""

from collections.abc import Callable, Sequence
from typing import Any

from experiments.errors import InvalidError
from tiebreak.api.shapes import Shape


def after(cursor: str | None, is_known: Callable[[str], bool]) -> str:
    """The cursor of an earlier page; what this server never gave is refused, not ignored."""
    if cursor and not is_known(cursor):
        raise InvalidError("cursor", "is not one that this server gave")
    return cursor or ""


def start_of(cursor: str | None) -> int:
    """How many rows were given before, for lists that have no better key."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
        raise InvalidError("cursor", "is not one that this server gave")
    return int(cursor)


def page(items: Sequence[Any], next_cursor: str | None) -> Shape:
    return {"items": list(items), "next_cursor": next_cursor}
