"""Uploaded files in the files folder; a path is never made of anything that a person sent."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from django.conf import settings

from experiments.errors import InvalidError
from experiments.formats.encodings import Utf8Check
from experiments.models import Upload

FOLDER = "uploads"
ORPHAN_SECONDS = 3600


@dataclass(frozen=True)
class ReceivedFile:
    """A file that has arrived; `path` is relative to the files folder."""

    path: str
    size: int
    is_utf8: bool


def path_of(kept: Upload | ReceivedFile) -> Path:
    return Path(settings.FILES_PATH) / kept.path


def remove_file(kept: Upload | ReceivedFile) -> None:
    """Delete the file, if it is still there."""
    if kept.path:
        path_of(kept).unlink(missing_ok=True)


class Receiver:
    """Takes a file block by block; nothing is kept in memory, and nothing above the limit."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = settings.MAX_UPLOAD_BYTES if limit is None else limit
        self.size = 0
        self.path = f"{FOLDER}/{uuid4().hex}"
        self._utf8 = Utf8Check()
        target = Path(settings.FILES_PATH) / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        self._file = target.open("xb")

    def write(self, block: bytes) -> None:
        self.size += len(block)
        if self.size > self.limit:
            self.drop()
            raise InvalidError("file", too_large(self.limit))
        self._utf8.feed(block)
        self._file.write(block)

    def finish(self) -> ReceivedFile:
        self._file.close()
        self._utf8.feed(b"", last=True)
        return ReceivedFile(self.path, self.size, self._utf8.holds)

    def drop(self) -> None:
        """Delete what has arrived so far."""
        self._file.close()
        (Path(settings.FILES_PATH) / self.path).unlink(missing_ok=True)


def too_large(limit: int) -> str:
    return f"The file is larger than {megabytes(limit)}, which is the limit here."


def megabytes(size: int) -> str:
    """A size in words: 512 bytes, 34 kB, 2,048 MB."""
    if size < 1024:
        return f"{size} bytes"
    if size < 1024 * 1024:
        return f"{size / 1024:,.0f} kB"
    return f"{size / (1024 * 1024):,.{0 if size > 10 * 1024 * 1024 else 1}f} MB"


def remove_orphans() -> None:
    """Delete files whose upload is gone, such as those a crash left behind."""
    folder = Path(settings.FILES_PATH) / FOLDER
    late = time.time() - ORPHAN_SECONDS
    if not folder.is_dir():
        return
    old = {f"{FOLDER}/{file.name}": file for file in folder.iterdir() if _changed(file) < late}
    if old:
        known = set(Upload.objects.filter(path__in=old).values_list("path", flat=True))
        for path in old.keys() - known:
            old[path].unlink(missing_ok=True)


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return time.time()
