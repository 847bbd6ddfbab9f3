"""A JSON array of objects, alone or inside an object, read in pieces whatever its size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import TypeVar

from experiments.formats.encodings import TextFile
from experiments.formats.members import BadJson, RefusedObject, Scanner, space
from experiments.formats.rows import MAX_LINE, BadRow, BrokenFile, Row, Source

Found = TypeVar("Found")
_PIECE = 64 * 1024
# An error this near to the end of what was read may only mean that the rest is not there yet.
_NEAR_END = 16


class _Window:
    """The part of the file at hand; it slides forward and grows when a value needs it."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        self.text, self.at, self.ended = "", 0, False
        self._line, self._counted = 1, 0

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def grow(self) -> None:
        self.line()
        rest = self.text[self.at :]
        more = self.file.more(max(_PIECE, len(rest)))
        self.text, self.at, self._counted = rest + more, 0, 0
        self.ended = not more

    def peek(self, ahead: int = 0) -> str:
        """The next character that is not white space, `ahead` characters on; empty at the end."""
        while True:
            place = space(self.text, self.at + ahead)
            if place < len(self.text) or self.ended:
                break
            self.grow()
        if not ahead:
            self.at = place
        return self.text[place : place + 1]

    def take(self, parse: Callable[[str, int], tuple[Found, int]]) -> Found:
        """Parse from here on, reading more as long as that may help."""
        while True:
            try:
                found, end = parse(self.text, self.at)
            except RefusedObject as error:
                self.at = error.end
                raise
            except BadJson as error:
                if self.ended or not self._may_be_cut(error):
                    raise self.broken(error) from error
            else:
                if end < len(self.text) or self.ended:
                    self.at = end
                    return found
            if len(self.text) - self.at > MAX_LINE:
                raise BrokenFile(self.line(), f"a value has more than {MAX_LINE:,} characters")
            self.grow()

    def _may_be_cut(self, error: BadJson) -> bool:
        return error.reason.startswith("Unterminated") or error.end > len(self.text) - _NEAR_END

    def broken(self, error: BadJson) -> BrokenFile:
        self.at = min(max(error.end, self.at), len(self.text))
        if self.ended and self.at >= len(self.text) - _NEAR_END:
            return BrokenFile(self.line(), "the file ends in the middle of the JSON")
        return BrokenFile(self.line(), f"broken JSON: {error.reason}")


class JsonArraySource(Source):
    """Rows of a JSON array; every cell is the JSON text of a value."""

    is_json = True

    def __init__(self, path: Path, *, encoding: str) -> None:
        self.file = TextFile(path, encoding)
        self.header: list[str] = []
        self.notices: list[str] = []
        self.blank = 0
        self.scanner = Scanner()
        self.window = _Window(self.file)

    def close(self) -> None:
        self.file.close()

    def bytes_read(self) -> int:
        return self.file.bytes_read()

    def rows(self) -> Iterator[Row | BadRow]:
        wrapped = self.window.peek() == "{"
        if wrapped:
            self._go_to_list()
        self._expect("[")
        while self.window.peek() != "]":
            yield self._element()
            if self.window.peek() != "]":
                self._expect(",")
                if self.window.peek() == "]":
                    raise BrokenFile(self.window.line(), "a comma stands before the closing ]")
        self._expect("]")
        if wrapped:
            self._skip_members()
        if self.window.peek():
            raise BrokenFile(self.window.line(), "something follows the end of the JSON")

    def _element(self) -> Row | BadRow:
        is_object, line = self.window.peek() == "{", self.window.line()
        try:
            if is_object:
                return Row(line, self.window.take(self.scanner.members))
        except RefusedObject as error:
            return BadRow(line, error.column, error.reason)
        self.window.take(self._skip_value)
        return BadRow(line, "", "is not a JSON object")

    def _go_to_list(self) -> None:
        """Stand before the first list of objects among the members of the outer object."""
        self._expect("{")
        while True:
            key = self._key()
            if self.window.peek() == "[" and self.window.peek(ahead=1) == "{":
                self.notices = [f"The rows are the list under “{key}”; the rest is left out."]
                return
            self.window.take(self._skip_value)
            if self.window.peek() != ",":
                raise BrokenFile(0, "The JSON holds no list of objects.")
            self._expect(",")

    def _skip_members(self) -> None:
        while self.window.peek() == ",":
            self._expect(",")
            self._key()
            self.window.peek()
            self.window.take(self._skip_value)
        self._expect("}")

    def _key(self) -> str:
        self._expect('"')
        key = self.window.take(_string)
        self._expect(":")
        return key

    def _skip_value(self, text: str, at: int) -> tuple[None, int]:
        end = self.scanner.value_end(text, at)
        self.scanner.repeated()
        return None, end

    def _expect(self, character: str) -> None:
        found = self.window.peek()
        if not found:
            raise BrokenFile(self.window.line(), "the file ends in the middle of the JSON")
        if found != character:
            raise BrokenFile(self.window.line(), f"“{character}” should stand where “{found}” is")
        self.window.at += 1


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        key, end = scanstring(text, at, True)
    except ValueError as error:
        raise BadJson("Unterminated string", at) from error
    return str(key), int(end)
