"""Multipart bodies as the SDKs send them: no file names, dots in names, a thousand parts.

Django's own parser would decode the JSON parts as form fields and stop at its limit of fields.
"""

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from typing import IO

from django.http import HttpRequest
from rest_framework.exceptions import ParseError

from tiebreak.api.bodies import body_chunks

MAX_HEADER = 16 * 1024
IN_MEMORY = 1024 * 1024


@dataclass
class Part:
    """One part; small bodies are bytes, large attachments lie in a temporary file."""

    name: str
    content_type: str
    filename: str | None
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0
    spool: IO[bytes] | None = None

    @property
    def mime_type(self) -> str:
        """The content type without a length that some clients add to it."""
        kept = [p for p in self.content_type.split(";") if not p.strip().startswith("length=")]
        return ";".join(kept).strip()

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.spool is None and self.size > IN_MEMORY and self._is_binary():
            self.spool = tempfile.TemporaryFile()  # noqa: SIM115
            self.spool.write(b"".join(self.pieces))
            self.pieces = []
        if self.spool is None:
            self.pieces.append(data)
        else:
            self.spool.write(data)

    def _is_binary(self) -> bool:
        return not self.content_type.startswith("application/json") or self.filename is not None

    def read(self) -> bytes:
        if self.spool is not None:
            self.spool.seek(0)
            return self.spool.read()
        return b"".join(self.pieces)

    def blocks(self, size: int) -> Iterator[bytes]:
        """The body in pieces of at most a size."""
        if self.spool is None:
            yield b"".join(self.pieces)
            return
        self.spool.seek(0)
        while block := self.spool.read(size):
            yield block

    def close(self) -> None:
        if self.spool is not None:
            self.spool.close()


def request_parts(request: HttpRequest) -> Iterator[Part]:
    """The parts of a request's body, one after the other; malformed data is a 400."""
    message = Message()
    message["content-type"] = request.headers.get("Content-Type", "")
    boundary = message.get_boundary("")
    if message.get_content_type() != "multipart/form-data" or not boundary:
        raise ParseError("Send multipart/form-data with a boundary.")
    return read_parts(body_chunks(request), boundary.encode("latin-1", "replace"))


def read_parts(chunks: Iterator[bytes], boundary: bytes) -> Iterator[Part]:
    reader = _Reader(chunks, b"\r\n--" + boundary)
    reader.skip_preamble()
    while reader.at_part():
        part = _part(reader.header())
        reader.copy_to(part)
        yield part


class _Reader:
    """A window on the body: what came from `chunks` and was not yet used, from `at` on."""

    def __init__(self, chunks: Iterator[bytes], delimiter: bytes) -> None:
        self.chunks = chunks
        self.delimiter = delimiter
        # The first delimiter has no line end before it; with one it looks like all others.
        self.window = b"\r\n"
        self.at = 0

    def more(self) -> None:
        chunk = next(self.chunks, None)
        if chunk is None:
            raise ParseError("The multipart body is cut off.")
        self.window = self.window[self.at :] + chunk
        self.at = 0

    def skip_preamble(self) -> None:
        while (found := self.window.find(self.delimiter, self.at)) < 0:
            self.at = max(self.at, len(self.window) - len(self.delimiter))
            self.more()
        self.at = found + len(self.delimiter)

    def at_part(self) -> bool:
        """Behind a delimiter: a line end begins a part, two dashes end the body."""
        while len(self.window) - self.at < 2:
            self.more()
        mark = self.window[self.at : self.at + 2]
        self.at += 2
        if mark == b"--":
            for _ in self.chunks:
                pass
            return False
        if mark != b"\r\n":
            raise ParseError("The multipart body has something behind a boundary.")
        return True

    def header(self) -> bytes:
        while (found := self.window.find(b"\r\n\r\n", self.at)) < 0:
            if len(self.window) - self.at > MAX_HEADER:
                raise ParseError("The headers of a part are too long.")
            self.more()
        header = self.window[self.at : found]
        self.at = found + 4
        return header

    def copy_to(self, part: Part) -> None:
        while (found := self.window.find(self.delimiter, self.at)) < 0:
            end = max(self.at, len(self.window) - len(self.delimiter))
            part.write(self.window[self.at : end])
            self.at = end
            self.more()
        part.write(self.window[self.at : found])
        self.at = found + len(self.delimiter)


_PARAMETER = re.compile(r';\s*(name|filename)="((?:[^"\\]|\\.)*)"')


def _part(header: bytes) -> Part:
    fields = {}
    for line in header.decode("utf-8", "replace").split("\r\n"):
        key, _, value = line.partition(":")
        fields[key.strip().lower()] = value.strip()
    found = dict(_PARAMETER.findall(fields.get("content-disposition", "")))
    if "name" not in found:
        raise ParseError("A part has no name.")
    return Part(
        name=re.sub(r"\\(.)", r"\1", found["name"]),
        content_type=fields.get("content-type", ""),
        filename=found.get("filename"),
    )
