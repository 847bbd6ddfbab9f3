"""Packed uploads: gzip, zstd, or a ZIP of one file, unpacked block by block within limits."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo

import zstandard

from experiments.errors import InvalidError
from experiments.formats.recognition import HEAD_BYTES, really
from experiments.services.uploading.files import ReceivedFile, Receiver, path_of, remove_file

BLOCK = 256 * 1024
# A kilobyte of zstd gives at most some 32 MB.
ZSTD_BLOCK = 1024
ZSTD_WINDOW = 128 * 1024 * 1024
MAX_RATIO = 200
FREE_BYTES = 16 * 1024 * 1024
ENDINGS = {".gz", ".gzip", ".zst", ".zstd", ".zip"}
BROKEN = (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError, BadZipFile)


def unpacked(file: ReceivedFile, filename: str) -> tuple[ReceivedFile, str]:
    """The file itself, or what was packed in it, and its name; the packed one is deleted then."""
    path = path_of(file)
    with path.open("rb") as opened:
        kind = really(opened.read(HEAD_BYTES))
    if kind not in UNPACKERS:
        return file, filename
    receiver = Receiver()
    try:
        for block in UNPACKERS[kind](path):
            receiver.write(block)
            _check_ratio(receiver.size, file.size)
        inner = receiver.finish()
    except BROKEN as error:
        receiver.drop()
        raise InvalidError("file", f"This is {kind}, but it is broken or cut off.") from error
    except BaseException:
        receiver.drop()
        raise
    remove_file(file)
    return inner, _inner_name(filename)


def _check_ratio(size: int, packed: int) -> None:
    if size > FREE_BYTES and size > MAX_RATIO * packed:
        raise InvalidError(
            "file", f"The file unpacks to more than {MAX_RATIO} times its size; it was not read."
        )


def _inner_name(filename: str) -> str:
    path = PurePath(filename.replace("\\", "/"))
    return path.stem if path.suffix.lower() in ENDINGS else path.name


def _gzip(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as file:
        yield from _blocks(file)


def _zstd(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        frame = _frame()
        started = False
        while data := file.read(ZSTD_BLOCK):
            while data:
                started = True
                yield frame.decompress(data)
                data = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame, started = _frame(), False
        if started:
            raise EOFError


def _frame() -> zstandard.ZstdDecompressionObj:
    return zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()


def _zip(path: Path) -> Iterator[bytes]:
    with ZipFile(path) as archive:
        members = [member for member in archive.infolist() if _counts(member)]
        if len(members) != 1:
            raise InvalidError("file", f"The ZIP archive holds {len(members)} files, not one.")
        if members[0].flag_bits & 1:
            raise InvalidError("file", "The ZIP archive is encrypted.")
        try:
            with archive.open(members[0]) as file:
                yield from _blocks(file)
        except NotImplementedError as error:
            raise BadZipFile(str(error)) from error


def _counts(member: ZipInfo) -> bool:
    """Folders, and what macOS puts beside files, are no files."""
    name = PurePath(member.filename)
    return not (member.is_dir() or name.parts[:1] == ("__MACOSX",) or name.name.startswith("._"))


def _blocks(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


UNPACKERS = {"a gzip archive": _gzip, "a zstd archive": _zstd, "a ZIP archive": _zip}
