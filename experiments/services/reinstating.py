"""Earlier revisions that stand again: what restoring a version and undoing an upload share."""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction

from experiments.errors import ConflictError, InvalidError
from experiments.models import (
    Comparison,
    Dataset,
    DatasetVersion,
    Example,
    ExampleRevision,
)
from experiments.queries.changes import count_changes
from experiments.services.overrides import take_out_examples
from experiments.services.versions import Change, new_version
from tiebreak.accounts.models import User

# Revisions called `earlier`, each with a `fresh` key, written again as what stands from `now` on.
# What searches look at is made again by a worker, as after an upload: that is most of the work.
STAND_AGAIN = """
revisions AS (
    INSERT INTO experiments_examplerevision
        (id, example_id, dataset_id, valid_from, splits, metadata, search)
    SELECT fresh, example_id, dataset_id, %(now)s, splits, metadata, NULL FROM earlier
), payloads AS (
    INSERT INTO experiments_examplepayload (revision_id, inputs, outputs, metadata)
    SELECT earlier.fresh, payload.inputs, payload.outputs, payload.metadata
    FROM earlier JOIN experiments_examplepayload payload ON payload.revision_id = earlier.id
), files AS (
    INSERT INTO experiments_attachment
        (workspace_id, revision_id, name, mime_type, path, size)
    SELECT file.workspace_id, earlier.fresh, file.name, file.mime_type, file.path, file.size
    FROM earlier JOIN experiments_attachment file ON file.revision_id = earlier.id
)
SELECT count(*) FROM earlier
"""
# The revisions that stood at a moment, of examples of which nothing stands now.
_REINSTATE = f"""
WITH earlier AS MATERIALIZED (
    SELECT revision.*,
           nextval(pg_get_serial_sequence('experiments_examplerevision', 'id')) AS fresh
    FROM experiments_examplerevision revision
    WHERE revision.dataset_id = %(dataset)s
      AND revision.valid_from <= %(moment)s AND revision.valid_to > %(moment)s
      AND (%(closed)s::timestamptz IS NULL OR (
        revision.valid_to = %(closed)s AND NOT EXISTS (
          SELECT FROM experiments_examplerevision later
          WHERE later.example_id = revision.example_id AND later.valid_from >= %(closed)s
            AND later.valid_to IS DISTINCT FROM %(now)s)))
      AND NOT EXISTS (
        SELECT FROM experiments_examplerevision standing
        WHERE standing.example_id = revision.example_id AND standing.valid_to IS NULL)
    ORDER BY revision.example_id
), {STAND_AGAIN}
"""  # noqa: S608


def reinstate(
    dataset: Dataset, change: Change, *, at: datetime, closed: datetime | None = None
) -> int:
    """Let stand again what stood at a moment and has nothing standing now; says how many.

    `closed` narrows it to what was ended at that moment and was nobody's concern since.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _REINSTATE,
            {"dataset": dataset.pk, "moment": at, "closed": closed, "now": change.moment},
        )
        return int(cursor.fetchone()[0])


@transaction.atomic
def restore_version(
    dataset: Dataset, *, as_of: datetime, author: User | None = None
) -> DatasetVersion:
    """Make what stood at a moment stand again, as a new version; all between stays readable."""
    if as_of < dataset.created_at:
        raise InvalidError("as_of", "lies before the dataset was made")
    dataset.refresh_from_db(fields=["modified_at"])
    if not count_changes(dataset, as_of, None).total:
        raise ConflictError("The dataset stands as it stood then; there is nothing to restore.")
    note = f"Restored what stood at {as_of.isoformat()}"
    with new_version(dataset, author=author, note=note) as change:
        later = ExampleRevision.objects.filter(dataset=dataset, valid_to=None, valid_from__gt=as_of)
        closed = later.update(valid_to=change.moment)
        back = reinstate(dataset, change, at=as_of)
        change.removed = settle_removed(dataset, change)
        change.changed = closed - change.removed
        change.added = back - change.changed
    return dataset.versions.get(as_of=change.moment)


def settle_removed(dataset: Dataset, change: Change) -> int:
    """Let comparisons no longer count the examples that this very change took out; how many."""
    ended = ExampleRevision.objects.filter(dataset=dataset, valid_to=change.moment)
    standing = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
    rows = Example.objects.filter(dataset=dataset, pk__in=ended.values("example"))
    gone = rows.exclude(pk__in=standing.values("example"))
    if Comparison.objects.filter(dataset=dataset).exists():
        take_out_examples(dataset, list(gone.values_list("uid", flat=True)))
    return gone.count()
