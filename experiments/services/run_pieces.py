"""What a client says about a run: its opening, an update of it, or both at once."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import IO, Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from experiments import rawjson

EMPTY = ("{}", "[]")
MAX_BIGINT = 2**63 - 1


@dataclass
class IncomingFile:
    """An attachment on its way in."""

    name: str
    mime_type: str
    data: bytes | IO[bytes]


@dataclass
class RunPiece:
    """One message about a run. None means "not said"; payloads are JSON texts."""

    uid: UUID
    opening: bool
    trace_uid: UUID | None = None
    parent_uid: UUID | None = None
    dotted_order: str | None = None
    name: str | None = None
    run_type: str | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    experiment_uid: UUID | None = None
    experiment_name: str | None = None
    example_uid: UUID | None = None
    tags: list[str] = field(default_factory=list)
    inputs: str | None = None
    outputs: str | None = None
    error: str | None = None
    events: str | None = None
    extra: str | None = None
    serialized: str | None = None
    files: dict[str, IncomingFile] = field(default_factory=dict)

    @property
    def prevails(self) -> bool:
        """Whether it overrules what is stored: updates do, and openings that tell the end."""
        return not self.opening or self.end_time is not None

    @property
    def status(self) -> str:
        if self.error is not None:
            return "error"
        return "success" if self.end_time is not None else "pending"

    @cached_property
    def metadata(self) -> dict[str, Any]:
        extra = rawjson.loads_quickly(self.extra) if self.extra else None
        metadata = extra.get("metadata") if isinstance(extra, dict) else None
        return metadata if isinstance(metadata, dict) else {}

    @property
    def thread_id(self) -> str | None:
        for key in ("session_id", "thread_id", "conversation_id"):
            value = self.metadata.get(key)
            if value is not None and value != "":
                return rawjson.storable(str(value))
        return None

    @property
    def first_token_time(self) -> datetime | None:
        if self.events is None or '"new_token"' not in self.events:
            return None
        for event in rawjson.loads_quickly(self.events):
            if isinstance(event, dict) and event.get("name") == "new_token":
                return _time(event.get("time"))
        return None


def _time(value: object) -> datetime | None:
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


def fold(pieces: Iterable[RunPiece]) -> list[RunPiece]:
    """One piece per run, in the order of their ids, so that two batches never wait in a ring."""
    by_uid: dict[UUID, RunPiece] = {}
    for piece in pieces:
        known = by_uid.get(piece.uid)
        by_uid[piece.uid] = piece if known is None else _merged(known, piece)
    return [by_uid[uid] for uid in sorted(by_uid)]


def _merged(earlier: RunPiece, later: RunPiece) -> RunPiece:
    """What two messages say together; an update overrules an opening, else the later one wins."""
    weak, strong = earlier, later
    if later.opening and not earlier.opening:
        weak, strong = later, earlier
    values = {
        f.name: _said(getattr(weak, f.name), getattr(strong, f.name)) for f in fields(RunPiece)
    }
    values["opening"] = earlier.opening or later.opening
    values["files"] = weak.files | strong.files
    return RunPiece(**values)


def _said(weak: Any, strong: Any) -> Any:
    return weak if strong is None or strong == [] or (strong in EMPTY and weak) else strong


@dataclass(frozen=True)
class Usage:
    """Tokens and their cost, as a model reported them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_cost: Decimal | None = None
    completion_cost: Decimal | None = None
    total_cost: Decimal | None = None


def reported_usage(metadata: dict[str, Any], outputs: str | None) -> dict[str, Any] | None:
    """The usage a run reports, in its metadata or its outputs."""
    usage = metadata.get("usage_metadata")
    if not isinstance(usage, dict) and outputs is not None and '"usage_metadata"' in outputs:
        value = rawjson.loads_exact(outputs)
        usage = value.get("usage_metadata") if isinstance(value, dict) else None
    return usage if isinstance(usage, dict) else None


def usage_of(piece: RunPiece) -> Usage:
    usage = reported_usage(piece.metadata, piece.outputs)
    if usage is None:
        return Usage()
    prompt, completion = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    paid, earned = _cost(usage, "input_cost"), _cost(usage, "output_cost")
    total, cost = _count(usage, "total_tokens"), _cost(usage, "total_cost")
    return Usage(
        prompt,
        completion,
        _sum(prompt, completion) if total is None else total,
        paid,
        earned,
        _sum(paid, earned) if cost is None else cost,
    )


def _sum(first: Any, second: Any) -> Any:
    return None if first is None and second is None else (first or 0) + (second or 0)


def _count(usage: dict[str, Any], key: str) -> int | None:
    value = usage.get(key)
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_BIGINT
    return value if known else None


def _cost(usage: dict[str, Any], key: str) -> Decimal | None:
    value = usage.get(key)
    if value is None or isinstance(value, bool):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return round(cost, 15) if cost.is_finite() and cost.adjusted() < 14 else None
