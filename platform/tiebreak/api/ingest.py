"""Runs and feedback coming in: multipart, JSON batches, and one by one."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson
from rest_framework.decorators import api_view
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from experiments import rawjson
from experiments.errors import InvalidError
from experiments.services.feedback import FeedbackEntry, known_comparisons
from experiments.services.ingest import ingest
from experiments.services.run_pieces import IncomingFile, RunPiece
from tiebreak.accounts.models import Workspace
from tiebreak.api.feedback_reading import read_feedback
from tiebreak.api.files import incoming_file
from tiebreak.api.multipart import Part, request_parts
from tiebreak.api.reading import json_body, object_body, to_uuid, workspace_of
from tiebreak.api.run_reading import PAYLOADS, read_run

OPENINGS = {"post": True, "patch": False}


@dataclass
class Draft:
    """One run's opening or update while its parts come in."""

    kind: str
    uid: str
    index: int
    values: object = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    problems: list[InvalidError] = field(default_factory=list)


@dataclass
class Envelope:
    """Everything in one request; what cannot be read is refused by itself."""

    pieces: list[RunPiece] = field(default_factory=list)
    feedback: list[FeedbackEntry] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)

    def refuse(self, kind: str, index: int, uid: object, error: InvalidError) -> None:
        self.errors.append(
            {
                "kind": kind,
                "index": index,
                "id": None if uid is None else str(uid),
                "field": error.field,
                "reason": error.message,
            }
        )


@api_view(["POST"])
def runs_batch(request: Request) -> Response:
    """`{"post": [...], "patch": [...]}`."""
    body = object_body(request)
    envelope = Envelope()
    for kind, opening in OPENINGS.items():
        runs = body.get(kind) or []
        if not isinstance(runs, list):
            raise InvalidError(kind, "must be a list of runs")
        for index, values in enumerate(runs):
            try:
                envelope.pieces.append(read_run(values, opening=opening))
            except InvalidError as error:
                uid = values.get("id") if isinstance(values, dict) else None
                envelope.refuse(kind, index, uid, error)
    return _store(workspace_of(request), envelope)


@api_view(["POST"])
def runs_multipart(request: Request) -> Response:
    """Runs in parts, attachments and feedback, in the order of events."""
    drafts: dict[tuple[str, str], Draft] = {}
    files: dict[str, dict[str, IncomingFile]] = {}
    envelope = Envelope()
    with ExitStack() as opened:
        for index, part in enumerate(request_parts(request._request)):
            if part.spool is not None:
                opened.callback(part.close)
            kind, _, rest = part.name.partition(".")
            if kind in OPENINGS:
                _add_part(drafts, kind, rest, index, part)
            elif kind == "attachment":
                uid, _, name = rest.partition(".")
                _add_file(files, uid, name, part)
            elif kind == "feedback":
                _add_feedback(envelope, index, rest, part)
            else:
                raise ParseError(f"A part is named {part.name[:100]!r}, which means nothing here.")
        _finish(drafts.values(), files, envelope)
        return _store(workspace_of(request), envelope)


def _add_part(
    drafts: dict[tuple[str, str], Draft], kind: str, rest: str, index: int, part: Part
) -> None:
    uid, _, payload = rest.partition(".")
    draft = drafts.setdefault((kind, uid), Draft(kind, uid, index))
    data = part.read()
    if payload and payload not in PAYLOADS:
        draft.problems.append(InvalidError(payload, "is not a part of a run"))
        return
    if payload:
        if rawjson.is_json(data):
            draft.texts[payload] = data.decode()
        else:
            draft.problems.append(InvalidError(payload, "is not JSON"))
        return
    try:
        draft.values = _value(data)
    except rawjson.NotJsonError as error:
        draft.problems.append(InvalidError("run", f"is not JSON: {error}"))


def _value(data: bytes) -> Any:
    """A small JSON value; the slower reader is for what the quick one refuses."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _value_exactly(data)


def _value_exactly(data: bytes) -> Any:
    try:
        return rawjson.loads_exact(data)
    except UnicodeDecodeError as error:
        raise rawjson.NotJsonError(str(error)) from error


def _add_file(files: dict[str, dict[str, IncomingFile]], uid: str, name: str, part: Part) -> None:
    if not name:
        raise ParseError(f"The part {part.name[:100]!r} does not name its attachment.")
    files.setdefault(uid, {})[name] = incoming_file(name, part)


def _add_feedback(envelope: Envelope, index: int, uid: str, part: Part) -> None:
    try:
        envelope.feedback.append(read_feedback(_value_exactly(part.read()), uid=uid))
    except InvalidError as error:
        envelope.refuse("feedback", index, uid, error)
    except rawjson.NotJsonError as error:
        envelope.refuse("feedback", index, uid, InvalidError("feedback", f"is not JSON: {error}"))


def _finish(
    drafts: Iterable[Draft], files: dict[str, dict[str, IncomingFile]], envelope: Envelope
) -> None:
    """Turn drafts into pieces; files go to the run they name, even if it comes later."""
    for draft in drafts:
        try:
            if draft.problems:
                raise draft.problems[0]
            piece = read_run(
                draft.values, opening=OPENINGS[draft.kind], uid=draft.uid, texts=draft.texts
            )
        except InvalidError as error:
            files.pop(draft.uid, None)
            envelope.refuse(draft.kind, draft.index, draft.uid, error)
            continue
        piece.files = files.pop(draft.uid, {})
        envelope.pieces.append(piece)
    for uid, named in files.items():
        try:
            envelope.pieces.append(RunPiece(to_uuid("id", uid), opening=False, files=named))
        except InvalidError as error:
            envelope.refuse("attachment", 0, uid, error)


def _store(workspace: Workspace, envelope: Envelope) -> Response:
    """Store what is good, and say what was refused: 202 if nothing was, else 422."""
    _without_unknown_comparisons(workspace, envelope)
    ingest(workspace=workspace, pieces=envelope.pieces, feedback=envelope.feedback)
    if not envelope.errors:
        return Response({"message": "Stored"}, status=202)
    first = envelope.errors[0]
    detail = (
        f"{len(envelope.errors)} refused, the others are stored. "
        f"First: {first['kind']} {first['id']}: {first['field']}: {first['reason']}"
    )
    return Response({"detail": detail, "errors": envelope.errors}, status=422)


def _without_unknown_comparisons(workspace: Workspace, envelope: Envelope) -> None:
    wanted = {f.comparison_uid for f in envelope.feedback if f.comparison_uid}
    missing = wanted - known_comparisons(workspace, wanted) if wanted else set[UUID]()
    kept: list[FeedbackEntry] = []
    for index, entry in enumerate(envelope.feedback):
        if entry.comparison_uid in missing:
            error = InvalidError("comparative_experiment_id", "names no pairwise experiment")
            envelope.refuse("feedback", index, entry.uid, error)
        else:
            kept.append(entry)
    envelope.feedback = kept


def create_run(request: Request) -> Response:
    _ingest_one(request, read_run(json_body(request), opening=True))
    return Response({"message": "Stored"}, status=202)


def update_run(request: Request, uid: str) -> Response:
    _ingest_one(request, read_run(json_body(request), opening=False, uid=uid))
    return Response({"message": "Stored"}, status=202)


def _ingest_one(request: Request, *pieces: RunPiece) -> None:
    ingest(workspace=workspace_of(request), pieces=pieces)
