"""The text that searches look at, made after a large upload, a batch at a time."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.db import connection, transaction

SEARCH_LOCK = 0x73656172
BATCH_ROWS = 2_000
TURN_SECONDS = 20.0
_FILL = """
WITH waiting AS (
    SELECT id FROM experiments_examplerevision WHERE search IS NULL
    ORDER BY dataset_id, id LIMIT %s FOR UPDATE SKIP LOCKED
)
UPDATE experiments_examplerevision AS revision
SET search = tiebreak_search_text(payload.inputs, payload.outputs)
FROM waiting JOIN experiments_examplepayload AS payload ON payload.revision_id = waiting.id
WHERE revision.id = waiting.id
"""


def search_waits() -> bool:
    """Whether rows wait for their text and nobody is making it at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM experiments_examplerevision WHERE search IS NULL)"
        )
        return bool(cursor.fetchone()[0]) and not _somebody_at_it(cursor)


def _somebody_at_it(cursor: Any) -> bool:
    cursor.execute(
        "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = %s"
        " AND classid = 0 AND objsubid = 1)",
        [SEARCH_LOCK],
    )
    return bool(cursor.fetchone()[0])


def fill_search(stopping: threading.Event) -> bool:
    """Work for one turn; says whether more is waiting. Only one worker does it at a time."""
    until = time.monotonic() + TURN_SECONDS
    while time.monotonic() < until and not stopping.is_set():
        if _fill() == 0:
            return False
    return not stopping.is_set()


@transaction.atomic
def _fill() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [SEARCH_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_FILL, [BATCH_ROWS])
        return int(cursor.rowcount)
