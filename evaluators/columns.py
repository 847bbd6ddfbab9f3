"""Columns out of rows, for batches that run at the speed of C."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from evaluators.base import Row


def plain_columns(rows: Sequence[Row], *names: str) -> list[tuple[Any, ...]] | None:
    """The columns if every row has just these keys and no None, else None."""
    if not rows or sum(map(len, rows)) != len(names) * len(rows):
        return None
    try:
        columns = [tuple(map(itemgetter(name), rows)) for name in names]
    except (KeyError, TypeError):
        return None
    return None if any(_has_none(column) for column in columns) else columns


def all_text(*columns: Sequence[Any]) -> bool:
    """Whether all values of all columns are texts."""
    return all(set(map(type, column)) <= {str} for column in columns)


def _has_none(column: tuple[Any, ...]) -> bool:
    return type(None) in set(map(type, column))
