"""Columns out of rows, for batches that run at the speed of C."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from evaluators.base import Row


def text_columns(rows: Sequence[Row], *names: str) -> list[tuple[str, ...]] | None:
    """The columns if every row has just these keys and all values are texts, else None."""
    if not rows or sum(map(len, rows)) != len(names) * len(rows):
        return None
    try:
        columns = [tuple(map(itemgetter(name), rows)) for name in names]
    except (KeyError, TypeError):
        return None
    return columns if all(set(map(type, column)) == {str} for column in columns) else None
