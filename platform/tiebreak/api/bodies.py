"""Request bodies: unpacked while they are read, never beyond the limit."""

import gzip
import zlib
from collections.abc import Iterator
from typing import Any, Protocol, cast

import zstandard
from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException, ParseError

CHUNK = 256 * 1024
# A few packed bytes may stand for 128 kB; small steps keep one step of a bomb small.
PACKED_STEP = 512
MAX_WINDOW = 1 << 25


class TooLarge(APIException):
    status_code = 413
    default_code = "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes, the most this server takes.")


class UnknownEncoding(APIException):
    status_code = 415
    default_code = "unknown_encoding"


class NeedsLength(APIException):
    """The TypeScript SDK answers 422 by sending the same body again, buffered."""

    status_code = 422
    default_code = "length_required"
    default_detail = "Send this body with a Content-Length; it arrived in chunks."


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


def body_chunks(request: HttpRequest) -> Iterator[bytes]:
    """The decoded body piece by piece; 413 as soon as it passes the limit."""
    limit: int = settings.MAX_BODY_BYTES
    total = 0
    for chunk in _decoded(request.headers.get("Content-Encoding", ""), _source(request)):
        total += len(chunk)
        if total > limit:
            raise TooLarge(limit)
        yield chunk


def read_body(request: HttpRequest) -> bytes:
    return b"".join(body_chunks(request))


def _source(request: HttpRequest) -> _Source:
    """Where the body comes from; Django itself sees nothing of a chunked one."""
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        environ: dict[str, Any] = getattr(request, "environ", {})
        if not environ.get("wsgi.input_terminated"):
            raise NeedsLength()
        source: _Source = environ["wsgi.input"]
        return source
    if int(request.META.get("CONTENT_LENGTH") or 0) > settings.MAX_BODY_BYTES:
        raise TooLarge(settings.MAX_BODY_BYTES)
    return request


def _decoded(encoding: str, source: _Source) -> Iterator[bytes]:
    match encoding.strip().lower():
        case "" | "identity":
            return iter(lambda: source.read(CHUNK), b"")
        case "gzip" | "x-gzip":
            return _gunzip(source)
        case "zstd":
            return _unzstd(source)
        case other:
            raise UnknownEncoding(f"Content-Encoding {other!r} is not known; use gzip or zstd.")


def _gunzip(source: _Source) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=cast(Any, source)) as plain:
            while chunk := plain.read(CHUNK):
                yield chunk
    except (EOFError, OSError, zlib.error) as error:
        raise ParseError(f"The body is not complete gzip data: {error}") from error


def _unzstd(source: _Source) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()
    ended = False
    try:
        while not ended and (packed := source.read(CHUNK)):
            for start in range(0, len(packed), PACKED_STEP):
                yield decoder.decompress(packed[start : start + PACKED_STEP])
                if ended := decoder.eof:
                    break
    except zstandard.ZstdError as error:
        raise ParseError(f"The body is not zstd data: {error}") from error
    if not ended:
        raise ParseError("The body ends in the middle of its zstd data.")
