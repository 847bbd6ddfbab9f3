"""What every reader gives: rows, and what is wrong with a row or with the whole file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

MAX_LINE = 32_000_000
MAX_COLUMNS = 1_000


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the text of each cell, or the JSON text of each value, as the file has it."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read; the rows after it can."""

    line: int
    column: str
    reason: str


class BrokenFile(Exception):
    """From this line on the file cannot be read."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line:,}: {reason}" if line else reason)
        self.line = line
        self.reason = reason


class Source(ABC):
    """An open file: its rows once, in order; `blank` counts the blank lines passed over."""

    is_json: bool
    header: list[str]
    notices: list[str]
    blank: int

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def rows(self) -> Iterator[Row | BadRow]: ...

    @abstractmethod
    def bytes_read(self) -> int: ...
