"""Files that came with runs and examples: kept in the files folder under their digest."""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import UUID

from experiments.models import Attachment
from experiments.rawjson import storable
from experiments.services.file_store import keep, local
from experiments.services.run_pieces import IncomingFile, RunPiece
from tiebreak.accounts.models import Workspace

BLOCK = 1024 * 1024


@dataclass(frozen=True)
class KeptFile:
    """A stored file and its name; `path` is relative to the files folder."""

    name: str
    mime_type: str
    path: str
    size: int


def store_file(workspace: Workspace, file: IncomingFile) -> KeptFile:
    """Write a file; the same content is kept once per workspace."""
    place = f"attachments/{workspace.uid}"
    folder = local(place)
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".incoming-")
    try:
        with os.fdopen(handle, "wb") as target:
            digest, size = _copy(file, target)
        path = f"{place}/{digest[:2]}/{digest}"
        keep(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return KeptFile(storable(file.name), storable(file.mime_type), path, size)


def _copy(file: IncomingFile, target: IO[bytes]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    for block in _blocks(file):
        digest.update(block)
        size += len(block)
        target.write(block)
    return digest.hexdigest(), size


def _blocks(file: IncomingFile) -> Iterable[bytes]:
    if isinstance(file.data, bytes):
        return [file.data]
    source = file.data
    source.seek(0)
    return iter(lambda: source.read(BLOCK), b"")


def attach_to_runs(
    workspace: Workspace, pieces: Iterable[RunPiece], ids: Mapping[UUID, int]
) -> None:
    """Keep the files of runs; a file sent again replaces the one of its name."""
    rows = [
        _row(workspace.pk, store_file(workspace, file), run_id=ids[piece.uid])
        for piece in pieces
        for file in piece.files.values()
    ]
    if rows:
        Attachment.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["run", "name"],
            update_fields=["mime_type", "path", "size"],
        )


def attach_to_revisions(workspace_id: int, files: Mapping[int, Sequence[KeptFile]]) -> None:
    """Note which files belong to which revisions."""
    Attachment.objects.bulk_create(
        _row(workspace_id, file, revision_id=revision)
        for revision, kept in files.items()
        for file in kept
    )


def _row(workspace_id: int, file: KeptFile, **owner: int) -> Attachment:
    return Attachment(
        workspace_id=workspace_id,
        name=file.name,
        mime_type=file.mime_type,
        path=file.path,
        size=file.size,
        **owner,
    )


def files_of_revisions(ids: Sequence[int]) -> dict[int, list[KeptFile]]:
    found: dict[int, list[KeptFile]] = {}
    for row in Attachment.objects.filter(revision__in=ids).order_by("pk"):
        if row.revision_id is not None:
            found.setdefault(row.revision_id, []).append(kept_file(row))
    return found


def kept_file(row: Attachment) -> KeptFile:
    return KeptFile(row.name, row.mime_type, row.path, row.size)
