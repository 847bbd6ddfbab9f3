"""How far a running upload has come, visible to others while its transaction is open."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Self

from django.db import DatabaseError, OperationalError, connection
from django.utils import timezone

from experiments.models import Upload

log = logging.getLogger(__name__)
BEAT_SECONDS = 1.0


class Withdrawn(Exception):
    """The upload was stopped or discarded while it ran."""


class Progress:
    """Writes bytes, rows and a heartbeat over a second connection, from a thread of its own."""

    def __init__(self, upload: Upload) -> None:
        self.pk, self.options = upload.pk, upload.options
        self.bytes = self.rows = 0
        self.withdrawn = False
        self._done = threading.Event()
        self._ready = threading.Event()
        self._claimed = False
        self._thread = threading.Thread(target=self._run, name=f"upload-{self.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if not self._claimed:
            self.__exit__()
            raise OperationalError("No second connection for the progress of an upload.")
        return self

    def __exit__(self, *error: Any) -> None:
        self._done.set()
        self._thread.join()

    def advance(self, read: int, rows: int) -> None:
        """Note how far it is; raises Withdrawn when nobody wants it any more."""
        self.bytes, self.rows = read, rows
        if self.withdrawn:
            raise Withdrawn

    def _run(self) -> None:
        try:
            self._claimed = self._write(self._claim)
            self._ready.set()
            while not self._done.wait(BEAT_SECONDS) and not self.withdrawn:
                self._write(self._beat)
        finally:
            self._ready.set()
            connection.close()

    def _write(self, write: Callable[[], int]) -> bool:
        try:
            self.withdrawn = write() == 0
        except DatabaseError as error:
            log.warning("No progress noted for upload %s: %s", self.pk, error)
            return False
        return True

    def _claim(self) -> int:
        waiting = [Upload.State.QUEUED, Upload.State.RUNNING]
        attempts = self.options.get("attempts", 0) + 1
        return Upload.objects.filter(pk=self.pk, state__in=waiting).update(
            state=Upload.State.RUNNING,
            options=self.options | {"attempts": attempts},
            heartbeat_at=timezone.now(),
            bytes_done=0,
            rows_done=0,
        )

    def _beat(self) -> int:
        return Upload.objects.filter(pk=self.pk, state=Upload.State.RUNNING).update(
            heartbeat_at=timezone.now(), bytes_done=self.bytes, rows_done=self.rows
        )
