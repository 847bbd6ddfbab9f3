"""A row of a file becomes an example: the same function for the preview, the check and the job."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any
from uuid import UUID, uuid5

from experiments.errors import InvalidError
from experiments.formats.members import BadJson, Scanner, check_value
from experiments.formats.rows import Row
from experiments.models import Dataset
from experiments.rawjson import NotJsonError, loads, loads_exact, storable
from experiments.services.examples import SPLIT_KEY, NewExample, clean_splits, split_off
from experiments.services.schemas import check_against
from experiments.services.uploading.columns import KEYED, Column, Role

EMPTY = '""'
_LARGE_EXPONENT = re.compile(r"\d[eE][-+]?\d{4,}")
_LONG_NUMBER = re.compile(r"\d{4000}")
_MAX_EXPONENT = 10_000


class RowError(ValueError):
    """Why a row cannot become an example, and which column is to blame."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column, self.reason = column, reason


@dataclass(frozen=True)
class _Field:
    """A column inside an object to be built; `prefix` is its key, ready to be written."""

    column: Column
    prefix: str

    @classmethod
    def of(cls, column: Column) -> _Field:
        return cls(column, f"{encode_basestring(column.key)}:" if column.key else "")


class RowBuilder:
    """Makes examples of rows by a mapping; an empty cell is an empty text."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        is_json: bool,
        namespace: UUID,
        dataset: Dataset | None = None,
    ) -> None:
        self.is_json, self.namespace, self.dataset = is_json, namespace, dataset
        self.known = {column.name for column in columns}
        self.nested = [column for column in columns if column.path]
        self.later_keys: dict[str, int] = {}
        self.scanner = Scanner()
        self.inputs = self._fields(columns, Role.INPUT)
        self.outputs = self._fields(columns, Role.OUTPUT)
        self.metadata = self._fields(columns, Role.METADATA)
        self.splits = [column for column in columns if column.role == Role.SPLIT]
        self.id = next((column for column in columns if column.role == Role.ID), None)
        # Texts under keys of their own are most of what comes, and need no looking into.
        self.plain = (
            not is_json
            and not self.nested
            and not any(
                column.parse or not column.key for column in columns if column.role in KEYED
            )
        )
        schemas = (dataset.inputs_schema, dataset.outputs_schema) if dataset else ()
        self.has_schema = any(schemas)

    @staticmethod
    def _fields(columns: Sequence[Column], role: Role) -> list[_Field]:
        return [_Field.of(column) for column in columns if column.role == role]

    def build(self, row: Row) -> NewExample:
        """The example; raises RowError."""
        if self.nested:
            row = Row(row.line, {**row.cells, **self._nested(row.cells)})
        uid, id_part = self._id(row.cells)
        if self.plain:
            return self._plain_example(row.cells, uid, id_part)
        inputs = self._object(self.inputs, row.cells) or "{}"
        outputs = self._object(self.outputs, row.cells)
        metadata = self._object(self.metadata, row.cells, [*id_part, *self._later(row)])
        for text in (inputs, outputs, metadata):
            _check_numbers(text)
        _check_metadata(metadata)
        self._check_schemas(inputs, outputs)
        return NewExample(inputs, outputs, metadata, self._splits(row.cells), uid)

    def _nested(self, cells: Mapping[str, str]) -> dict[str, str]:
        """The values at the paths; what is not there has no cell."""
        found = {}
        for column in self.nested:
            text = cells.get(column.path[0])
            for step in column.path[1:]:
                inside = text is not None and text.startswith("{")
                text = self.scanner.members(text)[0].get(step) if inside and text else None
            if text is not None:
                found[column.name] = text
        return found

    def _plain_example(
        self, cells: Mapping[str, str], uid: UUID | None, id_part: list[str]
    ) -> NewExample:
        inputs = _texts(self.inputs, cells) or "{}"
        outputs = _texts(self.outputs, cells)
        metadata = _texts(self.metadata, cells, id_part)
        if metadata is not None and SPLIT_KEY in metadata:
            _check_metadata(metadata)
        self._check_schemas(inputs, outputs)
        return NewExample(inputs, outputs, metadata, self._splits(cells), uid)

    def _object(
        self, fields: Sequence[_Field], cells: Mapping[str, str], more: Sequence[str] = ()
    ) -> str | None:
        if len(fields) == 1 and not fields[0].prefix and not more:
            return self._whole(fields[0], cells)
        parts: list[str] = []
        for field in fields:
            text = cells.get(field.column.name)
            if text is None:
                continue
            value = self._value(field.column, text)
            parts += [field.prefix + value] if field.prefix else self._members(field, value)
        parts += more
        if not parts:
            return None
        if len(parts) > len(fields) or more or any(not field.prefix for field in fields):
            _refuse_twice(parts)
        return "{" + ",".join(parts) + "}"

    def _whole(self, field: _Field, cells: Mapping[str, str]) -> str | None:
        """The object in the only column, character by character; nothing for null."""
        text = cells.get(field.column.name)
        value = "null" if text is None else self._value(field.column, text)
        if value in ("null", EMPTY):
            return None
        if not value.startswith("{"):
            raise _no_object(field)
        return value

    def _value(self, column: Column, text: str) -> str:
        """The JSON text of a cell."""
        if not column.parse:
            return text if self.is_json else encode_basestring(text)
        if self.is_json:
            if not text.startswith('"'):
                return text
            text = json.loads(text)
        if not text.strip():
            return EMPTY
        try:
            return check_value(text)
        except BadJson as error:
            raise RowError(column.name, f"is not JSON: {error.reason}") from error

    def _members(self, field: _Field, value: str) -> list[str]:
        if value in ("null", EMPTY):
            return []
        if not value.startswith("{"):
            raise _no_object(field)
        members = self.scanner.members(value)[0]
        return [f"{encode_basestring(key)}:{text}" for key, text in members.items()]

    def _later(self, row: Row) -> list[str]:
        """Keys that no column stands for: they came after the first rows, and are metadata."""
        if not self.is_json:
            return []
        parts = []
        for key in row.cells:
            if key not in self.known:
                self.later_keys.setdefault(key, row.line)
                parts.append(f"{encode_basestring(key)}:{row.cells[key]}")
        return parts

    def _splits(self, cells: Mapping[str, str]) -> list[str]:
        splits: list[str] = []
        for column in self.splits:
            value = self._plain(column, cells.get(column.name))
            try:
                splits += clean_splits([value] if isinstance(value, str) else value or [])
            except InvalidError as error:
                raise RowError(column.name, error.message) from error
        return list(dict.fromkeys(map(storable, splits)))

    def _plain(self, column: Column, text: str | None) -> Any:
        """The value of a cell whose meaning is wanted; whole numbers become texts."""
        if text is None:
            return None
        value = loads(self._value(column, text))
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def _id(self, cells: Mapping[str, str]) -> tuple[UUID | None, list[str]]:
        """The example's id, and for a text that is no UUID what keeps it in the metadata."""
        if self.id is None:
            return None, []
        text = self._plain(self.id, cells.get(self.id.name))
        if text is None or text == "":
            return None, []
        if not isinstance(text, str):
            raise RowError(self.id.name, "an id is a text or a whole number")
        try:
            uid = _as_uuid(text) or uuid5(self.namespace, text)
        except UnicodeEncodeError as error:
            raise RowError(self.id.name, "the id holds half a character") from error
        if str(uid) == text:
            return uid, []
        key = encode_basestring(self.id.key)
        return uid, [f"{key}:{self._value(self.id, cells[self.id.name])}"]

    def _check_schemas(self, inputs: str, outputs: str | None) -> None:
        if self.dataset is not None and self.has_schema:
            try:
                check_against(self.dataset, inputs, outputs)
            except InvalidError as error:
                raise RowError(error.field, error.message) from error


def _texts(
    fields: Sequence[_Field], cells: Mapping[str, str], more: Sequence[str] = ()
) -> str | None:
    """An object of texts; keys differ, for the mapping was checked."""
    parts = [field.prefix + encode_basestring(cells[field.column.name]) for field in fields]
    parts += more
    return "{" + ",".join(parts) + "}" if parts else None


def _no_object(field: _Field) -> RowError:
    return RowError(field.column.name, "is not a JSON object, so it has no keys of its own")


def _as_uuid(text: str) -> UUID | None:
    if len(text) not in (32, 36):
        return None
    try:
        return UUID(text)
    except ValueError:
        return None


def _refuse_twice(parts: Sequence[str]) -> None:
    members = Scanner()
    seen: set[str] = set()
    for part in parts:
        key = json.loads(part[: members.value_end(part, 0)])
        if key in seen:
            raise RowError("", f"the key “{key}” would stand twice")
        seen.add(key)


def _check_numbers(text: str | None) -> None:
    if text and len(text) > 4000 and _LONG_NUMBER.search(text):
        try:
            loads(text)
        except NotJsonError as error:
            raise RowError("", "a number has more than 4,000 digits") from error


def _check_metadata(text: str | None) -> None:
    """Metadata can be filtered by, which numbers beyond all measure and odd splits rule out."""
    if text is None:
        return
    if _LARGE_EXPONENT.search(text) and _has_huge_number(loads_exact(text)):
        raise RowError("", "a number is too large for metadata")
    if SPLIT_KEY in text:
        try:
            split_off(text)
        except InvalidError as error:
            raise RowError(SPLIT_KEY, error.message) from error


def _has_huge_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_huge_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_huge_number, value))
    return isinstance(value, Decimal) and abs(value.adjusted()) > _MAX_EXPONENT
