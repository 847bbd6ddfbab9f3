"""What a file really is, from its first bytes; its name is not asked."""

from __future__ import annotations

import re

HEAD_BYTES = 256 * 1024
ACCEPTED = (
    "Accepted are CSV, TSV, JSON Lines, JSON, Excel and Parquet, also packed by gzip, zstd or ZIP."
)

_ZIPPED = (
    (b"xl/workbook", "an Excel workbook (.xlsx)"),
    (b"xl/", "an Excel workbook (.xlsx)"),
    (b"word/", "a Word document"),
    (b"ppt/", "a PowerPoint presentation"),
    (b"opendocument.spreadsheet", "an OpenDocument spreadsheet"),
    (b"opendocument", "an OpenDocument file"),
)
_TABLES = {
    "an Excel workbook (.xlsx)": "workbook",
    "an old Excel workbook (.xls)": "workbook",
    "an OpenDocument spreadsheet": "workbook",
    "a Parquet file": "parquet",
}
_OLD_WORKBOOK = "Workbook".encode("utf-16-le")
_BEGINNINGS = (
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"BM", "a bitmap image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"%PDF", "a PDF document"),
    (b"{\\rtf", "a rich text document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word document"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
)
_TEXT_STARTS_TOO = {b"BM", b"ORC", b"BZh"}
_MARKUP = re.compile(rb"\s*<(\?xml|!doctype html|html)\b", re.IGNORECASE)
_CONTROLS = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def really(head: bytes) -> str | None:
    """Name what the file is when it is nothing we read, such as "a PNG image"; None for text."""
    if head.startswith(b"PK\x03\x04"):
        found = (name for part, name in _ZIPPED if part in head)
        return next(found, "a ZIP archive")
    if head.startswith(b"\xd0\xcf\x11\xe0") and _OLD_WORKBOOK in head:
        return "an old Excel workbook (.xls)"
    if head.startswith(b"RIFF"):
        return "a WebP image" if head[8:12] == b"WEBP" else "a sound or video file"
    for beginning, name in _BEGINNINGS:
        if head.startswith(beginning) and _fits(beginning, head):
            return name
    markup = _MARKUP.match(head.removeprefix(_MARKS[0]))
    if markup:
        return "an XML file" if markup[1].lower() == b"?xml" else "a web page (HTML)"
    return "a binary file" if _is_binary(head) else None


def table_format(head: bytes) -> str | None:
    """The format of a table that is no text: `workbook` or `parquet`."""
    return _TABLES.get(really(head) or "")


def _fits(beginning: bytes, head: bytes) -> bool:
    """Beginnings that words have as well need a control character beside them."""
    return beginning not in _TEXT_STARTS_TOO or bool(_CONTROLS.search(head[:64]))


def _is_binary(head: bytes) -> bool:
    if head.startswith(_MARKS) or two_byte_order(head):
        return False
    return len(_CONTROLS.findall(head)) * 10 > len(head)


def two_byte_order(head: bytes) -> str | None:
    """The byte order of UTF-16 without a mark, when every second byte is mostly zero."""
    even, odd = head[0:4096:2], head[1:4096:2]
    if len(odd) < 2:
        return None
    if odd.count(0) > 0.4 * len(odd) and even.count(0) < 0.05 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.4 * len(even) and odd.count(0) < 0.05 * len(odd):
        return "utf-16-be"
    return None
