"""Files on their way in: written to the files folder while they arrive, never held in memory."""

from __future__ import annotations

import io
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload

from experiments.errors import InvalidError
from experiments.services.uploading.files import ReceivedFile, Receiver, too_large
from tiebreak.web.http import HtmxHttpRequest

FORM_BYTES = 1024 * 1024


class FilesFolderHandler(FileUploadHandler):
    """Receives the one file of the form; `error` says why it was not taken."""

    def __init__(self, request: HtmxHttpRequest) -> None:
        super().__init__(request)
        self.limit: int = settings.MAX_UPLOAD_BYTES
        self.error = ""
        self.received: ReceivedFile | None = None
        self.filename = ""
        self._receiver: Receiver | None = None

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, str],  # noqa: N803
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        if content_length > self.limit + FORM_BYTES:
            self.error = too_large(self.limit)

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self.error or self.field_name != "file" or self._receiver:
            raise SkipFile
        try:
            self._receiver = Receiver()
        except OSError as error:
            self.error = _not_kept(error)
            raise SkipFile from error
        self.filename = self.file_name or ""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self._receiver is not None
        try:
            self._receiver.write(raw_data)
        except InvalidError as error:
            self.error = error.message
            raise StopUpload(connection_reset=False) from error
        except OSError as error:
            self.error = _not_kept(error)
            raise StopUpload(connection_reset=False) from error

    def file_complete(self, file_size: int) -> UploadedFile[Any] | None:
        if self._receiver is None or self.received or self.error:
            return None
        self.received = self._receiver.finish()
        return UploadedFile(io.BytesIO(), name=self.filename, size=file_size)

    def upload_interrupted(self) -> None:
        self.drop()

    def take(self) -> ReceivedFile | None:
        """The file, from now on the taker's."""
        received, self.received, self._receiver = self.received, None, None
        return received

    def drop(self) -> None:
        """Delete what nobody has taken."""
        if self._receiver is not None:
            self._receiver.drop()
            self._receiver = None


def _not_kept(error: OSError) -> str:
    return f"The server cannot keep the file: {(error.strerror or 'an error').lower()}."


def receive_text(text: str) -> ReceivedFile:
    """Pasted text, kept as a file like any other."""
    receiver = Receiver()
    try:
        receiver.write(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        receiver.drop()
        raise InvalidError("text", "The text holds half a character.") from error
    return receiver.finish()
