"""Score columns of a file of results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.formats.rows import Row
from experiments.models import Upload
from experiments.rawjson import dumps, loads
from experiments.services.uploading.columns import Column, Role

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?")
_BOOLEANS = {"true": "1", "false": "0"}


def is_results(upload: Upload) -> bool:
    """Whether the file holds outputs of a system, not examples."""
    return bool(upload.options.get("experiment"))


@dataclass(frozen=True)
class Mark:
    """A score, or the text that stands in its place."""

    key: str
    score: str | None
    value: str | None


def marks_of(columns: Sequence[Column], row: Row, *, is_json: bool) -> list[Mark]:
    """The cells of the score columns: numbers, true and false are scores, other texts values."""
    found = []
    for column in columns:
        text = row.cells.get(column.name)
        if text is None or text in ("null", "", '""'):
            continue
        if is_json and text.startswith('"'):
            text = str(loads(text))
        plain = _BOOLEANS.get(text.strip().lower(), text.strip())
        if _NUMBER.fullmatch(plain):
            found.append(Mark(column.key, plain, None))
        else:
            given = is_json and text.startswith(("{", "["))
            found.append(Mark(column.key, None, text if given else dumps(text)))
    return found


def score_columns(columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if column.role == Role.SCORE]


def guess_scores(columns: Sequence[Column]) -> list[Column]:
    """Columns called score or score_quality hold scores; splits mean nothing here."""
    return [_as_score(column) for column in columns]


def _as_score(column: Column) -> Column:
    match = re.fullmatch(r"scores?|(?:scores?|feedback)[._ ](.+)", column.name.strip().casefold())
    if column.role == Role.METADATA and match:
        return Column(column.name, Role.SCORE, match[1] or column.name.strip())
    if column.role == Role.SPLIT:
        return Column(column.name, Role.IGNORE, column.key)
    return column
