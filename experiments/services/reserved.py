"""Questions that are being asked right now: nobody else pays for them too, but waits for the reply.

A reservation lives as long as its lane's token: whoever ends or loses a turn lets go of all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import connection

from experiments.models import OpenQuestion

Key = tuple[bytes, int]

RESERVE = """
INSERT INTO experiments_openquestion AS held (workspace_id, digest, sample, lane_token)
SELECT %(workspace)s, new.digest, new.sample, %(token)s
FROM unnest(%(digests)s::bytea[], %(samples)s::int[]) AS new(digest, sample)
ON CONFLICT (workspace_id, digest, sample) DO UPDATE SET lane_token = excluded.lane_token
WHERE NOT EXISTS (SELECT FROM experiments_lane lane WHERE lane.token = held.lane_token)
RETURNING digest, sample
"""
RELEASE = """
DELETE FROM experiments_openquestion held
USING unnest(%(digests)s::bytea[], %(samples)s::int[]) AS one(digest, sample)
WHERE held.workspace_id = %(workspace)s AND held.lane_token = %(token)s
  AND held.digest = one.digest AND held.sample = one.sample
"""
FORGET = """
DELETE FROM experiments_openquestion held
WHERE NOT EXISTS (SELECT FROM experiments_lane lane WHERE lane.token = held.lane_token)
"""


def reserve_questions(workspace_id: int, token: UUID, keys: Iterable[Key]) -> set[Key]:
    """Reserve questions for a lane; those that it may ask. The rest is being asked already."""
    with connection.cursor() as cursor:
        cursor.execute(RESERVE, _values(workspace_id, token, set(keys)))
        return {(bytes(digest), sample) for digest, sample in cursor.fetchall()}


def release_questions(workspace_id: int, token: UUID, keys: Collection[Key]) -> None:
    """Let go of questions; call it once their replies are committed."""
    with connection.cursor() as cursor:
        cursor.execute(RELEASE, _values(workspace_id, token, keys))


def release_all(token: UUID) -> None:
    """Let go of all that a lane reserved."""
    OpenQuestion.objects.filter(lane_token=token).delete()


def forget_lost() -> None:
    """Remove what lanes reserved that are gone."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET)


def _values(workspace_id: int, token: UUID, keys: Collection[Key]) -> dict[str, Any]:
    # In one order, so that two lanes cannot wait for each other.
    ordered = sorted(keys)
    return {
        "workspace": workspace_id,
        "token": token,
        "digests": [digest for digest, _ in ordered],
        "samples": [sample for _, sample in ordered],
    }
