"""Examples as clients send them: JSON objects, or parts of a multipart body."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from experiments import rawjson
from experiments.errors import InvalidError
from experiments.services.examples import ExampleChange, NewExample, clean_splits
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.multipart import Part
from tiebreak.api.reading import Fields, to_uuid

UUID_LENGTH = 36


@dataclass
class ExampleParts:
    """The parts of one example of a multipart body."""

    uid: UUID
    fields: Fields = field(default_factory=lambda: Fields({}))
    texts: dict[str, str] = field(default_factory=dict)


def gathered(parts: Iterable[Part]) -> list[ExampleParts]:
    """Parts by example, in the order in which the examples come up."""
    found: dict[UUID, ExampleParts] = {}
    for part in parts:
        uid = to_uuid("example id", part.name[:UUID_LENGTH])
        example = found.setdefault(uid, ExampleParts(uid))
        _add(example, part.name[UUID_LENGTH + 1 :], part)
    return list(found.values())


def _add(example: ExampleParts, name: str, part: Part) -> None:
    data = part.read()
    if name == "":
        example.fields = Fields.of(_json(example, name, data), str(example.uid))
    elif name in ("inputs", "outputs"):
        _json(example, name, data)
        example.texts[name] = data.decode()


def _json(example: ExampleParts, name: str, data: bytes) -> Any:
    try:
        return rawjson.loads_exact(data)
    except (rawjson.NotJsonError, UnicodeDecodeError) as error:
        raise InvalidError(f"{example.uid}.{name}", f"is not JSON: {error}") from error


def new_example(
    workspace: Workspace, sent: Fields, texts: dict[str, str] | None = None, uid: UUID | None = None
) -> NewExample:
    inputs, outputs = _texts(sent, texts or {})
    source = sent.uuid("source_run_id")
    if source is not None and sent.flag("use_source_run_io"):
        payload = access.run(workspace, source).payload
        inputs, outputs = inputs or payload.inputs, outputs or payload.outputs
    return NewExample(
        inputs=inputs or "{}",
        outputs=outputs,
        metadata=sent.raw_object("metadata"),
        splits=clean_splits(sent.get("split") or []),
        uid=uid or sent.uuid("id"),
        created_at=sent.moment("created_at"),
        source_run_uid=source,
    )


def example_change(uid: UUID, sent: Fields, texts: dict[str, str] | None = None) -> ExampleChange:
    inputs, outputs = _texts(sent, texts or {})
    split = sent.get("split")
    return ExampleChange(
        uid=uid,
        inputs=inputs,
        outputs=outputs,
        metadata=sent.raw_object("metadata"),
        splits=None if split is None else clean_splits(split),
    )


def _texts(sent: Fields, texts: dict[str, str]) -> tuple[str | None, str | None]:
    found = {name: texts.get(name) or sent.raw(name) for name in ("inputs", "outputs")}
    for name, text in found.items():
        if text is not None and not text.lstrip().startswith("{"):
            raise InvalidError(name, "must be an object")
    return found["inputs"], found["outputs"]
