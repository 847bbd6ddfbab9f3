"""A run as a client sends it, checked field by field."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from experiments.errors import InvalidError
from experiments.rawjson import dumps
from experiments.services.datasets import clean_name
from experiments.services.run_pieces import RunPiece
from tiebreak.api.reading import Fields, to_uuid

RUN_TYPES = ("tool", "chain", "llm", "retriever", "embedding", "prompt", "parser")
PAYLOADS = ("inputs", "outputs", "error", "events", "extra", "serialized")
_STEP = re.compile(r"^\d{8}T\d{6}\d{3,6}Z([0-9a-fA-F-]{36})$")
_SHAPES = {"error": '"', "events": "["}
_SHAPE_NAMES = {"{": "an object", "[": "a list", '"': "a text"}
MAX_NAME = 10_000


def read_run(
    values: object, *, opening: bool, uid: object = None, texts: Mapping[str, str] | None = None
) -> RunPiece:
    """One opening or update; `texts` are payloads that came as parts of their own."""
    sent = Fields.of(values, "run")
    run_uid = to_uuid("id", sent.get("id") if uid is None else uid)
    order = sent.text("dotted_order") or None
    trace, parent = sent.uuid("trace_id"), sent.uuid("parent_run_id")
    if parent == run_uid:
        raise InvalidError("parent_run_id", "must not be the run's own id")
    steps = _steps(order) if order else []
    if steps:
        trace, parent = _checked(run_uid, trace, parent, steps, opening)
    name = sent.text("session_name", lossy=True)
    return RunPiece(
        uid=run_uid,
        opening=opening,
        trace_uid=trace,
        parent_uid=parent,
        dotted_order=order,
        name=_short(sent.text("name", lossy=True)),
        run_type=_run_type(sent),
        start_time=sent.moment("start_time"),
        end_time=sent.moment("end_time"),
        experiment_uid=sent.uuid("session_id"),
        experiment_name=clean_name("session_name", name) if name else None,
        example_uid=sent.uuid("reference_example_id"),
        tags=sent.texts("tags"),
        **_payloads(sent, texts or {}),
    )


def _short(name: str | None) -> str | None:
    if name is not None and len(name) > MAX_NAME:
        raise InvalidError("name", f"must have at most {MAX_NAME} characters, not {len(name)}")
    return name


def _run_type(sent: Fields) -> str | None:
    run_type = sent.text("run_type")
    if run_type is not None and run_type not in RUN_TYPES:
        raise InvalidError("run_type", f"must be one of {', '.join(RUN_TYPES)}")
    return run_type


def _steps(order: str) -> list[UUID]:
    steps = []
    for step in order.split("."):
        match = _STEP.match(step)
        if match is None:
            raise InvalidError("dotted_order", f"{step[:80]!r} is not a time and a run id")
        steps.append(to_uuid("dotted_order", match[1]))
    return steps


def _checked(
    uid: UUID, trace: UUID | None, parent: UUID | None, steps: list[UUID], opening: bool
) -> tuple[UUID, UUID | None]:
    """Trace and parent as the dotted order tells them; contradictions are refused."""
    if steps[-1] != uid:
        raise InvalidError("dotted_order", f"ends in {steps[-1]}, not in the run's own id")
    if trace is not None and steps[0] != trace:
        raise InvalidError("trace_id", f"is not the first run of dotted_order, {steps[0]}")
    above = steps[-2] if len(steps) > 1 else None
    if opening and (parent is None) != (above is None):
        count = len(steps)
        raise InvalidError("parent_run_id", f"is {parent}, but dotted_order has {count} step(s)")
    return steps[0], parent or above


def _payloads(sent: Fields, texts: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for field in PAYLOADS:
        text = texts.get(field)
        if text is None and sent.get(field) is not None:
            text = dumps(sent.get(field))
        if text is not None and text.strip() != "null":
            found[field] = _shaped(field, text)
    return found


def _shaped(field: str, text: str) -> str:
    """Payloads have the shape that the SDK can read back."""
    shape = _SHAPES.get(field, "{")
    if not text.lstrip().startswith(shape):
        raise InvalidError(field, f"must be {_SHAPE_NAMES[shape]} or null")
    return text
