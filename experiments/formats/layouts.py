"""How a file is laid out: format, encoding, delimiter, quotes, sheet; guessed, changeable."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import asdict, dataclass
from json import JSONDecoder
from pathlib import Path
from typing import Any

from experiments.formats.delimited import DelimitedSource, separator_line
from experiments.formats.encodings import LABELS, guess_encoding
from experiments.formats.json_array import JsonArraySource
from experiments.formats.json_lines import JsonLinesSource
from experiments.formats.parquet import ParquetSource
from experiments.formats.recognition import HEAD_BYTES, table_format
from experiments.formats.rows import Source
from experiments.formats.workbooks import WorkbookSource

TEXT_FORMATS = (("csv", "CSV or TSV"), ("jsonl", "JSON Lines"), ("json", "JSON array"))
BINARY_FORMATS = (("workbook", "Workbook (Excel, OpenDocument)"), ("parquet", "Parquet"))
FORMATS = (*TEXT_FORMATS, *BINARY_FORMATS)
DELIMITERS = (
    (",", "comma ,"),
    (";", "semicolon ;"),
    ("\t", "tab"),
    ("|", "pipe |"),
    (":", "colon :"),
    ("^", "caret ^"),
    ("~", "tilde ~"),
    (" ", "blank"),
    ("\x1f", "unit separator"),
    ("\x01", "control-A"),
)
QUOTES = (('"', 'double "'), ("'", "single '"), ("", "none"))
_GUESSED = (",", "\t", ";", "|", "\x1f", "\x01")
_LIST_KEYS = {"data", "dataset", "examples", "items", "records", "results", "rows"}
_MEMBER = re.compile(r'\s*[{,]\s*"([^"\\]*)"\s*:\s*(\[\s*\{)?')
_SAMPLE_RECORDS = 200


@dataclass(frozen=True)
class Layout:
    """Everything that is needed to read a file the same way again."""

    format: str
    encoding: str
    delimiter: str = ","
    quote: str = '"'
    sheet: str = ""
    unguard: bool = False

    @property
    def is_text(self) -> bool:
        return self.format in dict(TEXT_FORMATS)

    def options(self) -> dict[str, Any]:
        return asdict(self)

    def problem(self) -> str:
        """What is wrong with this layout; empty for a good one."""
        if self.format not in dict(FORMATS):
            return "This format is not known."
        if self.encoding not in LABELS:
            return "This encoding is not known."
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"' or self.delimiter == self.quote:
            return "A delimiter is one character, and no quotation mark."
        return "" if self.quote in dict(QUOTES) else "This quotation mark is not known."


def open_source(path: Path, layout: Layout) -> Source:
    """The reader for a file of this layout; raises BrokenFile when the header cannot be read."""
    if layout.format == "jsonl":
        return JsonLinesSource(path, encoding=layout.encoding)
    if layout.format == "json":
        return JsonArraySource(path, encoding=layout.encoding)
    if layout.format == "workbook":
        return WorkbookSource(path, sheet=layout.sheet)
    if layout.format == "parquet":
        return ParquetSource(path)
    return DelimitedSource(
        path,
        encoding=layout.encoding,
        delimiter=layout.delimiter,
        quote=layout.quote,
        unguard=layout.unguard,
    )


def guess_layout(path: Path, *, is_utf8: bool) -> Layout:
    """Look at the beginning of a file; its name does not count."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        whole = not file.read(1)
    binary = table_format(head)
    if binary:
        return Layout(binary, "utf-8")
    encoding = guess_encoding(head, is_utf8=is_utf8)
    return guess_for(head.decode(encoding, "replace").removeprefix("\ufeff"), encoding, whole=whole)


def guess_for(text: str, encoding: str, *, whole: bool) -> Layout:
    """The same for the text at the beginning; `whole` says that nothing follows."""
    format_ = _format_of(text)
    if format_ != "csv":
        return Layout(format_, encoding)
    lines = io.StringIO(text, newline="").readlines()
    if not whole and len(lines) > 1:
        lines.pop()
    named = separator_line(lines[0]) if lines else None
    if named:
        lines = lines[1:]
    delimiter = named or _guess_delimiter(lines)
    return Layout("csv", encoding, delimiter, _guess_quote(lines, delimiter))


def _format_of(text: str) -> str:
    start = text.lstrip()
    if re.match(r'\[\s*[\[{"\]]', start):
        return "json"
    if not re.match(r'\{\s*(["}]|$)', start):
        return "csv"
    lines = [line for line in start.splitlines() if line.strip()]
    if (len(lines) == 1 or not _value_end(lines[0], 0)) and _wraps_list(start):
        return "json"
    openings = sum(line.lstrip()[0] == "{" for line in lines)
    return "jsonl" if openings * 2 >= len(lines) else "json"


def _wraps_list(text: str) -> bool:
    """Whether the first list of objects inside this object has a name that such lists have."""
    at = 0
    while member := _MEMBER.match(text, at):
        if member[2]:
            return member[1].lower() in _LIST_KEYS
        at = _value_end(text, member.end())
        if not at:
            return False
    return False


def _value_end(text: str, at: int) -> int:
    """Where the JSON value that begins here ends; 0 if it does not."""
    try:
        return JSONDecoder().raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return 0


def _widths(lines: list[str], delimiter: str, quote: str, *, strict: bool = False) -> list[int]:
    """How many cells each of the first records has."""
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        strict=strict,
    )
    widths = []
    for cells in reader:
        if any(cells):
            widths.append(len(cells))
        if len(widths) == _SAMPLE_RECORDS:
            break
    return widths


def _guess_delimiter(lines: list[str]) -> str:
    """The one that gives every record as many cells as the header, and the most of them."""

    def score(delimiter: str) -> tuple[bool, float, int]:
        widths = _widths(lines, delimiter, '"')
        if not widths:
            return False, 0.0, 0
        share = round(widths.count(widths[0]) / len(widths), 2)
        return widths[0] > 1, share, widths[0]

    return max(_GUESSED, key=score)


def _guess_quote(lines: list[str], delimiter: str) -> str:
    """None for files that use quotation marks as ordinary characters."""
    try:
        _widths(lines, delimiter, '"', strict=True)
    except csv.Error as error:
        if "unexpected end" in str(error):
            return '"'
        plain = _widths(lines, delimiter, "")
        return "" if len(set(plain)) == 1 else '"'
    return '"'
