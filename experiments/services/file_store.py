"""Where attachments lie: the files folder, or a bucket that speaks S3.

A path is made of a workspace's id and a digest, never of anything that a person sent.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def local(path: str) -> Path:
    """Where a file lies, or is made, on this machine."""
    return Path(settings.FILES_PATH) / path


def keep(finished: Path, path: str) -> None:
    """Give a finished local file its place; what is there already has the same content."""
    bucket = _bucket()
    if bucket is None:
        target = local(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        finished.replace(target)
        return
    if not bucket.exists(path):
        with finished.open("rb") as source:
            bucket.save(path, source)
    finished.unlink()


def open_kept(path: str) -> IO[bytes] | None:
    """The file to be read; None when there is none."""
    bucket = _bucket()
    if bucket is not None:
        return bucket.open(path) if bucket.exists(path) else None
    location = local(path)
    return location.open("rb") if location.is_file() else None


def _bucket() -> Any:
    name, endpoint = settings.ATTACHMENTS_BUCKET, settings.ATTACHMENTS_ENDPOINT
    return _connected(name, endpoint) if name else None


@lru_cache(maxsize=4)
def _connected(name: str, endpoint: str) -> Any:
    try:
        from storages.backends.s3 import S3Storage
    except ImportError as error:
        raise ImproperlyConfigured(
            "TIEBREAK_ATTACHMENTS_BUCKET needs: pip install 'tiebreak[s3]'"
        ) from error
    return S3Storage(
        bucket_name=name,
        endpoint_url=endpoint or None,
        addressing_style="path" if endpoint else "auto",
        default_acl=None,
        file_overwrite=True,
    )
