"""What differs between two moments of a dataset, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from experiments.models import Comparison, Dataset, ExampleRevision

# Only examples that a write between the two moments touched are looked at.
_CHANGED = """
WITH touched AS (
    SELECT example_id FROM experiments_examplerevision
    WHERE dataset_id = %(dataset)s AND valid_from > %(early)s AND valid_from <= %(late)s
    UNION
    SELECT example_id FROM experiments_examplerevision
    WHERE dataset_id = %(dataset)s AND valid_to > %(early)s AND valid_to <= %(late)s
), states AS (
    SELECT touched.example_id, a.id AS before_id, b.id AS after_id
    FROM touched
    LEFT JOIN experiments_examplerevision a ON a.example_id = touched.example_id
        AND a.valid_from <= %(early)s AND (a.valid_to IS NULL OR a.valid_to > %(early)s)
    LEFT JOIN experiments_examplerevision b ON b.example_id = touched.example_id
        AND b.valid_from <= %(late)s AND (b.valid_to IS NULL OR b.valid_to > %(late)s)
    WHERE touched.example_id > %(behind)s
), changed AS (
    SELECT states.* FROM states
    LEFT JOIN experiments_examplerevision a ON a.id = before_id
    LEFT JOIN experiments_examplerevision b ON b.id = after_id
    LEFT JOIN experiments_examplepayload p ON p.revision_id = before_id
    LEFT JOIN experiments_examplepayload q ON q.revision_id = after_id
    WHERE (before_id IS NULL) <> (after_id IS NULL)
       OR (before_id <> after_id AND (p.inputs::text, p.outputs::text, p.metadata::text, a.splits)
           IS DISTINCT FROM (q.inputs::text, q.outputs::text, q.metadata::text, b.splits))
)
"""
_PAGE = f"{_CHANGED}SELECT * FROM changed ORDER BY example_id LIMIT %(size)s"  # noqa: S608
_COUNT = (
    _CHANGED
    + """
SELECT count(*) FILTER (WHERE before_id IS NULL), count(*) FILTER (WHERE after_id IS NULL),
       count(*) FILTER (WHERE before_id IS NOT NULL AND after_id IS NOT NULL)
FROM changed
"""
)
ROWS_NAMED = 20


@dataclass(frozen=True)
class ChangedRow:
    """An example that says something else; None on the side where it does not stand."""

    uid: UUID
    before: ExampleRevision | None
    after: ExampleRevision | None

    @property
    def sides(self) -> tuple[ExampleRevision | None, ExampleRevision | None]:
        return self.before, self.after

    @property
    def kind(self) -> str:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


@dataclass(frozen=True)
class Changes:
    """A page of changed rows in the dataset's order; an empty cursor: there are no more."""

    rows: Sequence[ChangedRow]
    older: str


@dataclass(frozen=True)
class ChangeCounts:
    """How many examples differ between two moments."""

    added: int
    removed: int
    changed: int

    @property
    def total(self) -> int:
        return self.added + self.removed + self.changed


def changes_between(
    dataset: Dataset,
    before: datetime | None,
    after: datetime | None,
    *,
    size: int,
    cursor: str = "",
) -> Changes:
    """The examples that differ, from the earlier moment to the later; None is now."""
    place = int(cursor) if cursor.isdecimal() and len(cursor) < 19 else 0
    found = _run(_PAGE, dataset, before, after, behind=place, size=size + 1)
    keys = [key for row in found for key in row[1:] if key]
    rows = ExampleRevision.objects.filter(pk__in=keys).select_related("example", "payload")
    known = {row.pk: row for row in rows}
    shown = [_row(known.get(was), known.get(now)) for _, was, now in found[:size]]
    return Changes(shown, str(found[size - 1][0]) if len(found) > size else "")


def count_changes(
    dataset: Dataset, before: datetime | None, after: datetime | None
) -> ChangeCounts:
    return ChangeCounts(*_run(_COUNT, dataset, before, after, behind=0)[0])


def _run(
    statement: str,
    dataset: Dataset,
    before: datetime | None,
    after: datetime | None,
    **more: int,
) -> list[tuple[int, ...]]:
    now = dataset.modified_at
    values: dict[str, datetime | int] = {
        "dataset": dataset.pk,
        "early": before or now,
        "late": after or now,
        **more,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _row(before: ExampleRevision | None, after: ExampleRevision | None) -> ChangedRow:
    present = before or after
    assert present is not None
    return ChangedRow(present.example.uid, before, after)


@dataclass(frozen=True)
class VersionNote:
    """Two sides of a comparison saw the dataset at different moments."""

    earlier: datetime
    later: datetime
    counts: ChangeCounts
    changed: Sequence[UUID]


def version_note(comparison: Comparison) -> VersionNote | None:
    """What lies between the versions that the experiments ran on; None when they saw the same.

    `changed` names the first rows.
    """
    sides = comparison.sides.select_related("experiment")
    seen = {side.experiment.dataset_version for side in sides if side.experiment}
    moments = sorted(moment for moment in seen if moment is not None)
    if len(moments) < 2:
        return None
    earlier, later = moments[0], moments[-1]
    counts = count_changes(comparison.dataset, earlier, later)
    if not counts.total:
        return None
    rows = changes_between(comparison.dataset, earlier, later, size=ROWS_NAMED).rows
    return VersionNote(earlier, later, counts, [row.uid for row in rows])
