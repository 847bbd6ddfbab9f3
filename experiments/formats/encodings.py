"""Text encodings: a byte order mark, else strict UTF-8, else Windows-1252 to be checked by eye."""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import BinaryIO

from experiments.formats.recognition import two_byte_order
from experiments.formats.rows import MAX_LINE, BrokenFile

ENCODINGS = (
    ("utf-8", "UTF-8"),
    ("utf-16", "UTF-16 with a mark"),
    ("utf-32", "UTF-32 with a mark"),
    ("utf-16-le", "UTF-16, little endian"),
    ("utf-16-be", "UTF-16, big endian"),
    ("cp1252", "Windows-1252 (Western Europe)"),
    ("latin-1", "ISO 8859-1 (Latin 1)"),
    ("iso8859-15", "ISO 8859-15 (Latin 9)"),
    ("cp1250", "Windows-1250 (Central Europe)"),
    ("iso8859-2", "ISO 8859-2 (Latin 2)"),
    ("cp1251", "Windows-1251 (Cyrillic)"),
    ("koi8-r", "KOI8-R (Cyrillic)"),
    ("cp1253", "Windows-1253 (Greek)"),
    ("cp1254", "Windows-1254 (Turkish)"),
    ("cp1255", "Windows-1255 (Hebrew)"),
    ("cp1256", "Windows-1256 (Arabic)"),
    ("mac-roman", "Mac Roman"),
    ("shift_jis", "Shift JIS (Japanese)"),
    ("euc_jp", "EUC-JP (Japanese)"),
    ("gb18030", "GB 18030 (Chinese)"),
    ("big5", "Big5 (Chinese)"),
    ("euc_kr", "EUC-KR (Korean)"),
)
LABELS = dict(ENCODINGS)
_BLOCK = 1024 * 1024


class Utf8Check:
    """Fed block by block, says whether everything so far is UTF-8."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.holds = True

    def feed(self, block: bytes, *, last: bool = False) -> None:
        if not self.holds:
            return
        try:
            self._decoder.decode(block, last)
        except UnicodeDecodeError:
            self.holds = False


def guess_encoding(head: bytes, *, is_utf8: bool) -> str:
    """The encoding by the rule above; `is_utf8` speaks for the whole file."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8"
    return two_byte_order(head) or ("utf-8" if is_utf8 else "cp1252")


class TextFile:
    """A file read line by line as text, its line ends kept; a wrong byte is named by its line."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path, self.encoding = path, encoding
        self.binary: BinaryIO = path.open("rb")
        codec = "utf-8-sig" if encoding == "utf-8" else encoding
        self.text = io.TextIOWrapper(self.binary, encoding=codec, newline="")
        self.line = 0

    def close(self) -> None:
        self.text.close()

    def bytes_read(self) -> int:
        return self.binary.tell()

    def next_line(self) -> str:
        """The next line with its end; empty at the end of the file."""
        try:
            line = self.text.readline(MAX_LINE + 1)
        except UnicodeError as error:
            raise self._wrong_byte(error) from error
        if len(line) > MAX_LINE:
            raise BrokenFile(self.line + 1, f"is longer than {MAX_LINE:,} characters")
        self.line += 1
        if self.line == 1:
            line = line.removeprefix("\ufeff")
        return line

    def more(self, characters: int) -> str:
        """The next characters, for readers that do not go by lines; empty at the end."""
        try:
            return self.text.read(characters)
        except UnicodeError as error:
            raise self._wrong_byte(error) from error

    def _wrong_byte(self, error: UnicodeError) -> BrokenFile:
        label = LABELS.get(self.encoding, self.encoding)
        if not isinstance(error, UnicodeDecodeError):
            return BrokenFile(0, f"This is not {label}: {error}")
        offset = self.binary.tell() - len(error.object) + error.start
        byte = error.object[error.start]
        return BrokenFile(
            self._line_at(offset), f"byte 0x{byte:02X} at offset {offset:,} is not {label}"
        )

    def _line_at(self, offset: int) -> int:
        newlines, left = 0, offset
        with self.path.open("rb") as again:
            while left > 0 and (block := again.read(min(_BLOCK, left))):
                newlines += block.count(b"\n")
                left -= len(block)
        return newlines + 1
