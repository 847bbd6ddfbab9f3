"""Examples as clients send them: JSON objects, or parts of a multipart body."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from experiments import rawjson
from experiments.errors import InvalidError
from experiments.services.attachments import KeptFile, kept_file, store_file
from experiments.services.examples import ExampleChange, NewExample, clean_splits
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.files import incoming_file
from tiebreak.api.multipart import Part
from tiebreak.api.reading import Fields, to_uuid

UUID_LENGTH = 36


@dataclass
class ExampleParts:
    """The parts of one example of a multipart body."""

    uid: UUID
    fields: Fields = field(default_factory=lambda: Fields({}))
    texts: dict[str, str] = field(default_factory=dict)
    files: list[KeptFile] = field(default_factory=list)
    operations: Fields | None = None

    def keeps(self) -> dict[str, str] | None:
        """The attachments that stay, by their old names and their new ones."""
        if self.operations is None:
            return None
        kept = {name: name for name in self.operations.texts("retain")}
        return kept | {
            old: str(new) for old, new in (self.operations.object("rename") or {}).items()
        }


def gathered(workspace: Workspace, parts: Iterable[Part]) -> list[ExampleParts]:
    """Parts by example, in the order in which the examples come up."""
    found: dict[UUID, ExampleParts] = {}
    for part in parts:
        uid = to_uuid("example id", part.name[:UUID_LENGTH])
        example = found.setdefault(uid, ExampleParts(uid))
        with closing(part):
            _add(workspace, example, part.name[UUID_LENGTH + 1 :], part)
    return list(found.values())


def _add(workspace: Workspace, example: ExampleParts, name: str, part: Part) -> None:
    if name.startswith("attachment."):
        file = incoming_file(name.removeprefix("attachment."), part)
        example.files.append(store_file(workspace, file))
        return
    data = part.read()
    if name == "":
        example.fields = Fields.of(_json(example, name, data), str(example.uid))
    elif name in ("inputs", "outputs"):
        _json(example, name, data)
        example.texts[name] = data.decode()
    elif name == "attachments_operations":
        example.operations = Fields.of(_json(example, name, data), name)
    else:
        raise InvalidError(f"{example.uid}.{name}"[:200], "is not a part of an example")


def _json(example: ExampleParts, name: str, data: bytes) -> Any:
    try:
        return rawjson.loads_exact(data)
    except (rawjson.NotJsonError, UnicodeDecodeError) as error:
        raise InvalidError(f"{example.uid}.{name}", f"is not JSON: {error}") from error


def new_example(
    workspace: Workspace, sent: Fields, parts: ExampleParts | None = None
) -> NewExample:
    inputs, outputs = _texts(sent, parts.texts if parts else {})
    files = list(parts.files) if parts else []
    source = sent.uuid("source_run_id")
    if source is not None and sent.flag("use_source_run_io"):
        payload = access.run(workspace, source).payload
        inputs, outputs = inputs or payload.inputs, outputs or payload.outputs
    if source is not None and (names := sent.texts("use_source_run_attachments")):
        rows = access.run(workspace, source).attachments.filter(name__in=names)
        files += [kept_file(row) for row in rows]
    return NewExample(
        inputs=inputs or "{}",
        outputs=outputs,
        metadata=sent.raw_object("metadata"),
        splits=clean_splits(sent.get("split") or []),
        uid=parts.uid if parts else sent.uuid("id"),
        created_at=sent.moment("created_at"),
        source_run_uid=source,
        files=files,
    )


def example_change(uid: UUID, sent: Fields, parts: ExampleParts | None = None) -> ExampleChange:
    inputs, outputs = _texts(sent, parts.texts if parts else {})
    split = sent.get("split")
    return ExampleChange(
        uid=uid,
        inputs=inputs,
        outputs=outputs,
        metadata=sent.raw_object("metadata"),
        splits=None if split is None else clean_splits(split),
        files=parts.files if parts else (),
        keeps=parts.keeps() if parts else None,
    )


def _texts(sent: Fields, texts: dict[str, str]) -> tuple[str | None, str | None]:
    found = {name: texts.get(name) or sent.raw(name) for name in ("inputs", "outputs")}
    for name, text in found.items():
        if text is not None and not text.lstrip().startswith("{"):
            raise InvalidError(name, "must be an object")
    return found["inputs"], found["outputs"]
