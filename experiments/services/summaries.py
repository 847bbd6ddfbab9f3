"""Summaries of experiments, added up once and kept until another run or score comes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from experiments.columns import array, fetch
from experiments.models import Experiment, ExperimentSummary
from experiments.queries.experiment_pages import ExperimentRow
from experiments.queries.experiment_summaries import (
    Summary,
    counted_summaries,
    stored_summaries,
)

SUMMARY_LOCK = 0x73756D6D
# While runs come in, a large summary is not added up more often than this.
PATIENCE = timedelta(seconds=20)
# So many runs are added up in less time than anybody notices; more is work for a worker.
ADDED_UP_AT_ONCE = 5_000

_LARGE = """
SELECT wanted.id FROM unnest(%s::int8[]) AS wanted(id) WHERE EXISTS (
    SELECT FROM experiments_run WHERE experiment_id = wanted.id OFFSET %s LIMIT 1
)
"""
_BEGIN = """
INSERT INTO experiments_experimentsummary (experiment_id, body, stale, begun_at)
SELECT id, '{}', true, %s FROM experiments_experiment
WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE
ON CONFLICT (experiment_id) DO UPDATE SET begun_at = EXCLUDED.begun_at
"""
_NO_WRITER = (
    "SELECT id FROM unnest(%s::int8[]) id WHERE pg_try_advisory_xact_lock(%s, hashint8(id))"
)
_KEEP = """
UPDATE experiments_experimentsummary kept SET body = counted.body, added_up_at = $3
FROM unnest($1::int8[], $2::json[]) AS counted(id, body)
WHERE kept.experiment_id = counted.id
  AND (kept.added_up_at IS NULL OR kept.added_up_at < $3)
RETURNING kept.experiment_id
"""
_WRITING = """
SELECT count(pg_advisory_xact_lock_shared($1, hashint8(id))) FROM unnest($2::int8[]) id
"""
_MARK = """
UPDATE experiments_experimentsummary SET stale = true WHERE experiment_id IN (
    SELECT experiment_id FROM experiments_experimentsummary
    WHERE experiment_id = ANY($1::int8[]) AND NOT stale
    ORDER BY experiment_id FOR NO KEY UPDATE
) RETURNING experiment_id
"""


def outdate(experiment_ids: Iterable[int | None]) -> None:
    """Note, at the end of a transaction that changes runs or scores, that more has come.

    The shared lock lets writers pass each other, and tells `add_up` of those under way.
    """
    ids = sorted({pk for pk in experiment_ids if pk is not None})
    if not ids:
        return
    fetch(_WRITING, [SUMMARY_LOCK, array(ids)])
    fetch(_MARK, [array(ids)])


def add_up(ids: Collection[int]) -> dict[int, Summary]:
    """Add up experiments and keep what they come to.

    One that somebody is writing to stays stale; of two countings at once the later one is kept.
    """
    if not ids:
        return {}
    begun, wanted = timezone.now(), sorted(ids)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_BEGIN, [begun, wanted])
        cursor.execute(_NO_WRITER, [wanted, SUMMARY_LOCK])
        quiet = [pk for (pk,) in cursor.fetchall()]
        ExperimentSummary.objects.filter(pk__in=quiet).update(stale=False)
    counted = {
        pk: replace(summary, added_up_at=begun, fresh=True)
        for pk, summary in counted_summaries(wanted).items()
    }
    bodies = array(summary.body() for summary in counted.values())
    fetch(_KEEP, [array(counted), bodies, begun])
    return counted


def refresh(experiment_id: int) -> None:
    """Add up an experiment that is behind, unless that was begun a moment ago."""
    moment = timezone.now() - PATIENCE
    recent = ExperimentSummary.objects.filter(pk=experiment_id, begun_at__gt=moment)
    found = stored_summaries([experiment_id]).get(experiment_id)
    if not recent.exists() and not (found and found.fresh):
        add_up([experiment_id])


def quick_rows(experiments: Sequence[Experiment]) -> list[ExperimentRow]:
    """What can be shown of them at once; a worker must add up those that are not fresh."""
    ids = [row.pk for row in experiments]
    found = stored_summaries(ids)
    behind = [pk for pk in ids if pk not in found or not found[pk].fresh]
    if behind:
        found |= add_up(set(behind) - _large(behind))
    return [ExperimentRow(row, found.get(row.pk, Summary())) for row in experiments]


def _large(ids: Sequence[int]) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(_LARGE, [list(ids), ADDED_UP_AT_ONCE])
        return {pk for (pk,) in cursor.fetchall()}
