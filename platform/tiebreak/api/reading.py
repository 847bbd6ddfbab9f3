"""Reading what a client sent, field by field; what is wrong is said by the field's name."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework.request import Request

from experiments.errors import InvalidError
from experiments.rawjson import dumps, loads, storable
from tiebreak.accounts.models import ApiKey, Workspace
from tiebreak.api.bodies import read_body
from tiebreak.api.wire import read_json

MAX_LIMIT = 1000
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def workspace_of(request: Request) -> Workspace:
    workspace: Workspace = request.workspace  # type: ignore[attr-defined]
    return workspace


def key_of(request: Request) -> ApiKey:
    key = request.auth
    assert isinstance(key, ApiKey)
    return key


def json_body(request: Request) -> Any:
    """The JSON value in the body, whatever content type it claims."""
    return read_json(read_body(request._request))


def object_body(request: Request) -> "Fields":
    return Fields.of(json_body(request))


def to_uuid(field: str, value: object) -> UUID:
    try:
        return UUID(str(value))
    except ValueError as error:
        raise InvalidError(field, f"must be a UUID, not {str(value)[:60]!r}") from error


def to_moment(field: str, value: object) -> datetime:
    """ISO 8601 with or without a zone (then UTC), or epoch seconds or milliseconds."""
    try:
        moment = _moment(value)
    except (ValueError, ArithmeticError, TypeError):
        moment = None
    if moment is None:
        raise InvalidError(field, f"must be a time in ISO 8601, not {str(value)[:60]!r}")
    if not EARLIEST <= moment < LATEST:
        raise InvalidError(field, f"must lie between {EARLIEST.year} and {LATEST.year}")
    return moment


def _moment(value: object) -> datetime | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        seconds = Decimal(value)
        # A number such as 1e999999999 must not be written out.
        if seconds.adjusted() > 15:
            return None
        if abs(seconds) > 100_000_000_000:
            seconds /= 1000
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(seconds * 1_000_000))
    if not isinstance(value, str):
        return None
    moment = parse_datetime(value.strip().replace(" 00:00", "+00:00"))
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def to_bool(field: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    raise InvalidError(field, "must be true or false")


class Fields:
    """An object of a JSON body; `null` and absence both read as None."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    @classmethod
    def of(cls, value: object, field: str = "body") -> "Fields":
        if not isinstance(value, dict):
            raise InvalidError(field, "must be a JSON object")
        return cls(value)

    def __contains__(self, field: str) -> bool:
        return field in self.values

    def refuse_others(self, known: Collection[str]) -> None:
        """Refuse fields that are not among those that mean something here."""
        for field in self.values:
            if field not in known:
                raise InvalidError(field, f"is unknown: use {', '.join(sorted(known))}")

    def get(self, field: str) -> Any:
        return self.values.get(field)

    def text(self, field: str, default: str | None = None, *, lossy: bool = False) -> str | None:
        """A text; `lossy` replaces what a database text cannot hold, otherwise it is refused."""
        value = self.get(field)
        if value is None:
            return default
        if not isinstance(value, str):
            raise InvalidError(field, "must be a text")
        if lossy:
            return storable(value)
        if _UNSTORABLE.search(value):
            raise InvalidError(field, "must not hold NUL characters or halves of surrogate pairs")
        return value

    def needed_text(self, field: str) -> str:
        value = self.text(field)
        if value is None:
            raise InvalidError(field, "is needed")
        return value

    def texts(self, field: str) -> list[str]:
        value = self.get(field)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InvalidError(field, "must be a list of texts")
        return [storable(item) for item in value]

    def uuid(self, field: str) -> UUID | None:
        value = self.get(field)
        return None if value is None else to_uuid(field, value)

    def needed_uuid(self, field: str) -> UUID:
        value = self.uuid(field)
        if value is None:
            raise InvalidError(field, "is needed")
        return value

    def uuids(self, field: str) -> list[UUID] | None:
        value = self.get(field)
        if value is None:
            return None
        if not isinstance(value, list):
            raise InvalidError(field, "must be a list of UUIDs")
        return [to_uuid(field, item) for item in value]

    def moment(self, field: str) -> datetime | None:
        value = self.get(field)
        return None if value is None else to_moment(field, value)

    def flag(self, field: str) -> bool | None:
        value = self.get(field)
        return None if value is None else to_bool(field, value)

    def integer(self, field: str, *, low: int = 0, high: int = 2**63 - 1) -> int | None:
        value = self.get(field)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidError(field, f"must be a whole number from {low} to {high}")
        return value

    def raw(self, field: str) -> str | None:
        """Any value, as a JSON text."""
        value = self.get(field)
        return None if value is None else dumps(value)

    def raw_object(self, field: str) -> str | None:
        if not isinstance(self.get(field), dict | None):
            raise InvalidError(field, "must be an object")
        return self.raw(field)

    def object(self, field: str) -> dict[str, Any] | None:
        value = self.get(field)
        if not isinstance(value, dict | None):
            raise InvalidError(field, "must be an object")
        return value


class Params:
    """The query string; lists are repeated keys, booleans come in several spellings."""

    def __init__(self, request: Request) -> None:
        self.values = request.query_params

    def text(self, field: str) -> str | None:
        value = self.values.get(field)
        if value is not None and "\x00" in value:
            raise InvalidError(field, "must not hold NUL characters")
        return value

    def texts(self, field: str) -> list[str] | None:
        values = self.values.getlist(field)
        if any("\x00" in value for value in values):
            raise InvalidError(field, "must not hold NUL characters")
        return values or None

    def uuid(self, field: str) -> UUID | None:
        value = self.text(field)
        return None if value is None else to_uuid(field, value)

    def uuids(self, field: str) -> list[UUID] | None:
        values = self.texts(field)
        return None if values is None else [to_uuid(field, value) for value in values]

    def flag(self, field: str) -> bool | None:
        value = self.text(field)
        return None if value is None else to_bool(field, value)

    def integer(self, field: str, default: int, *, low: int = 0, high: int) -> int:
        value = self.text(field)
        if value is None:
            return default
        short = value.isascii() and value.isdigit() and len(value) < 20
        if not short or not low <= int(value) <= high:
            raise InvalidError(field, f"must be a whole number from {low} to {high}")
        return int(value)

    def moment(self, field: str) -> datetime | None:
        value = self.text(field)
        return None if value is None else to_moment(field, value)

    def object(self, field: str) -> dict[str, Any] | None:
        """A JSON object inside a parameter."""
        text = self.text(field)
        if text is None:
            return None
        value = loads(text)
        if not isinstance(value, dict):
            raise InvalidError(field, "must be a JSON object")
        return value

    @property
    def limit(self) -> int:
        return self.integer("limit", 100, high=MAX_LIMIT)

    @property
    def offset(self) -> int:
        return self.integer("offset", 0, high=10**12)
