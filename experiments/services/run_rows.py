"""How pieces of runs become rows: two statements for a whole batch, in any order of arrival."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from experiments.columns import array, fetch, write_rows
from experiments.rawjson import dumps, search_text, storable, storable_value
from experiments.services.run_pieces import RunPiece, usage_of
from tiebreak.accounts.models import Workspace

MAX_SEARCH = 40_000

# Columns with their types in PostgreSQL.
_IDENTITY = {
    "experiment_id": "bigint",
    "trace_uid": "uuid",
    "parent_uid": "uuid",
    "is_root": "boolean",
    "dotted_order": "text",
    "name": "text",
    "run_type": "text",
    "start_time": "timestamptz",
}
_REPORTED = {
    "thread_id": "text",
    "first_token_time": "timestamptz",
    "prompt_tokens": "bigint",
    "completion_tokens": "bigint",
    "total_tokens": "bigint",
    "prompt_cost": "numeric",
    "completion_cost": "numeric",
    "total_cost": "numeric",
}
_COLUMNS = {
    "workspace_id": "bigint",
    "uid": "uuid",
    "created_at": "timestamptz",
    "modified_at": "timestamptz",
    "opened": "boolean",
    **_IDENTITY,
    "end_time": "timestamptz",
    "status": "text",
    "example_uid": "uuid",
    "tags": "jsonb",
    "metadata": "jsonb",
    **_REPORTED,
}

# The opening decides who a run is; after it, an update may only name what was left empty.
_OPENS = "(EXCLUDED.opened AND NOT run.opened)"
_PREVAILS = "(NOT EXCLUDED.opened OR EXCLUDED.end_time IS NOT NULL)"


def _set_clauses() -> list[str]:
    clauses = [
        f"{column} = CASE WHEN {_OPENS} THEN EXCLUDED.{column} ELSE run.{column} END"
        for column in _IDENTITY
        if column not in ("name", "run_type")
    ]
    clauses += [
        f"{column} = CASE WHEN EXCLUDED.{column} <> '' AND "
        f"({_OPENS} OR {_PREVAILS} OR run.{column} = '') "
        f"THEN EXCLUDED.{column} ELSE run.{column} END"
        for column in ("name", "run_type")
    ]
    clauses += [
        f"{column} = CASE WHEN {_PREVAILS} THEN COALESCE(EXCLUDED.{column}, run.{column}) "
        f"ELSE COALESCE(run.{column}, EXCLUDED.{column}) END"
        for column in _REPORTED
    ]
    clauses += [
        f"{column} = CASE WHEN EXCLUDED.{column} <> '{{}}' AND "
        f"({_PREVAILS} OR run.{column} = '{{}}') THEN EXCLUDED.{column} ELSE run.{column} END"
        for column in ("tags", "metadata")
    ]
    return [
        *clauses,
        "example_uid = COALESCE(EXCLUDED.example_uid, run.example_uid)",
        "end_time = COALESCE(EXCLUDED.end_time, run.end_time)",
        "status = CASE WHEN 'error' IN (EXCLUDED.status, run.status) THEN 'error' "
        "WHEN 'success' IN (EXCLUDED.status, run.status) THEN 'success' ELSE 'pending' END",
        "opened = run.opened OR EXCLUDED.opened",
        "modified_at = EXCLUDED.modified_at",
    ]


def _source(columns: Mapping[str, str]) -> str:
    """Rows out of one array per column: few parameters, and PostgreSQL takes them in order."""
    texts = "ARRAY(SELECT jsonb_array_elements_text(given.tags))"
    given = ", ".join(texts if name == "tags" else f"given.{name}" for name in columns)
    arrays = ", ".join(f"${n}::{kind}[]" for n, kind in enumerate(columns.values(), 1))
    return f"SELECT {given} FROM unnest({arrays}) AS given({', '.join(columns)})"  # noqa: S608


_UPSERT_RUNS = (
    f"INSERT INTO experiments_run AS run ({', '.join(_COLUMNS)}) {_source(_COLUMNS)} "
    f"ON CONFLICT (workspace_id, uid) DO UPDATE SET {', '.join(_set_clauses())} "
    "RETURNING uid, id, experiment_id"
)

_TEXTS = ["inputs", "outputs", "error", "events", "extra", "serialized"]
_PAYLOAD = {"run_id": "bigint", **dict.fromkeys(_TEXTS, "json"), "search": "text"}


def _payload_statement(*, prevails: bool) -> str:
    clauses = []
    for column in _TEXTS:
        new, old = f"EXCLUDED.{column}", f"payload.{column}"
        strong, weak = (new, old) if prevails else (old, new)
        clauses.append(
            f"{column} = CASE WHEN {strong} IS NULL OR "
            f"({strong}::text IN ('{{}}', '[]') AND {weak} IS NOT NULL) "
            f"THEN {weak} ELSE {strong} END"
        )
    clauses.append(
        "search = CASE WHEN strpos(payload.search, EXCLUDED.search) > 0 THEN payload.search "
        f"ELSE left(concat_ws(E'\\n', NULLIF(payload.search, ''), EXCLUDED.search), {MAX_SEARCH}) "
        "END"
    )
    return (
        f"INSERT INTO experiments_runpayload AS payload ({', '.join(_PAYLOAD)}) "
        f"{_source(_PAYLOAD)} ON CONFLICT (run_id) DO UPDATE SET {', '.join(clauses)}"
    )


_UPSERT_PAYLOADS = {flag: _payload_statement(prevails=flag) for flag in (True, False)}


# From the placed ones among some runs down to the runs that came without a place.
_PLACE_CHILDREN = """
WITH RECURSIVE placed AS (
    SELECT uid, trace_uid, dotted_order FROM experiments_run
    WHERE workspace_id = $1 AND uid = ANY($2::uuid[]) AND dotted_order <> ''
    UNION ALL
    SELECT run.uid, placed.trace_uid, placed.dotted_order || '.' || to_char(
        run.start_time AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISSUS"Z"'
    ) || run.uid
    FROM experiments_run run JOIN placed ON run.parent_uid = placed.uid
    WHERE run.workspace_id = $1 AND run.dotted_order = '' AND run.opened
), locked AS (
    SELECT run.id, placed.trace_uid, placed.dotted_order
    FROM experiments_run run JOIN placed ON run.uid = placed.uid
    WHERE run.workspace_id = $1 AND run.dotted_order = ''
    ORDER BY run.uid FOR UPDATE OF run
)
UPDATE experiments_run run SET trace_uid = locked.trace_uid, dotted_order = locked.dotted_order
FROM locked WHERE run.id = locked.id
"""


def upsert_runs(
    workspace: Workspace,
    pieces: Sequence[RunPiece],
    experiments: Mapping[UUID, int],
) -> tuple[dict[UUID, int], set[int]]:
    """Write pieces, one per run and in the order of ids.

    Gives the primary keys by id, and the experiments that the runs belong to.
    """
    moment = timezone.now()
    rows = [_run_row(workspace, piece, experiments[piece.uid], moment) for piece in pieces]
    written = list(write_rows(_UPSERT_RUNS, rows))
    return {uid: pk for uid, pk, _ in written}, {experiment for *_, experiment in written}


def place_children(workspace: Workspace, pieces: Sequence[RunPiece]) -> None:
    """Hang runs that came without their place below their parents, whichever came first.

    After the commit of the runs: of two requests at once, the later one sees both.
    """
    bare = [piece for piece in pieces if piece.opening and not piece.dotted_order]
    if bare:
        near = {piece.uid for piece in bare} | {p.parent_uid for p in bare if p.parent_uid}
        fetch(_PLACE_CHILDREN, [workspace.pk, array(near)])


def upsert_payloads(pieces: Sequence[RunPiece], ids: Mapping[UUID, int]) -> None:
    for prevails, statement in _UPSERT_PAYLOADS.items():
        rows = (_payload_row(p, ids[p.uid]) for p in pieces if p.prevails is prevails)
        write_rows(statement, rows)


def _run_row(
    workspace: Workspace,
    piece: RunPiece,
    experiment_id: int,
    moment: datetime,
) -> list[Any]:
    start = piece.start_time or _start_of(piece.dotted_order) or piece.end_time or moment
    dotted = piece.dotted_order or _own_order(piece, start)
    usage = usage_of(piece)
    return [
        workspace.pk,
        piece.uid,
        moment,
        moment,
        piece.opening,
        experiment_id,
        piece.trace_uid or piece.parent_uid or piece.uid,
        piece.parent_uid,
        piece.parent_uid is None,
        dotted,
        storable(piece.name or ""),
        piece.run_type or "",
        start,
        piece.end_time,
        piece.status,
        piece.example_uid,
        dumps(piece.tags),
        _filterable(piece.metadata),
        piece.thread_id,
        piece.first_token_time,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
        usage.prompt_cost,
        usage.completion_cost,
        usage.total_cost,
    ]


def _own_order(piece: RunPiece, start: datetime) -> str:
    """The place in the trace of a root that was sent without one; children are placed below."""
    if not piece.opening or piece.parent_uid is not None:
        return ""
    return f"{start.astimezone(UTC):%Y%m%dT%H%M%S%fZ}{piece.uid}"


def _start_of(dotted_order: str | None) -> datetime | None:
    """The start that the last step of a dotted order tells, with three to six digits."""
    if not dotted_order:
        return None
    text = dotted_order.rpartition(".")[2].partition("Z")[0]
    try:
        return datetime.strptime(text.ljust(21, "0")[:21], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return None


def _payload_row(piece: RunPiece, run_id: int) -> list[Any]:
    return [run_id, *(getattr(piece, column) for column in _TEXTS), _search(piece)]


def _search(piece: RunPiece) -> str:
    try:
        return search_text(piece.inputs, piece.outputs, piece.error)
    except RecursionError:
        return ""


def _filterable(metadata: dict[str, Any]) -> str:
    """Metadata for the column of the filters, without what `jsonb` cannot hold."""
    try:
        return dumps(storable_value(metadata))
    except (ValueError, RecursionError):
        return dumps({key: value for key, value in metadata.items() if isinstance(value, str)})
