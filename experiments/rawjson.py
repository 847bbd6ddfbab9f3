"""JSON kept as the text that was sent: key order, every digit, NUL escapes and surrogates.

PostgreSQL's `json` type stores the text; `jsonb` would reorder keys and refuse some texts.
"""

import re
from typing import TYPE_CHECKING, Any

import orjson
import simplejson
from django.db import models


class NotJsonError(ValueError):
    """The text is not one JSON value as RFC 8259 defines it."""


def loads(text: str | bytes) -> Any:
    """Read a JSON text; whole numbers keep every digit, NaN and the infinities are refused."""
    return _load(text, exact=False)


def loads_exact(text: str | bytes) -> Any:
    """Like `loads`, with fractions as Decimal, so that `dumps` writes them with every digit."""
    return _load(text, exact=True)


def _load(text: str | bytes, *, exact: bool) -> Any:
    try:
        return simplejson.loads(text, use_decimal=exact, allow_nan=False)
    except RecursionError as error:
        raise NotJsonError("nested too deeply") from error
    except ValueError as error:
        raise NotJsonError(str(error)) from error


def loads_quickly(text: str) -> Any:
    """Like `loads`, for looking into; the slower reader is for what the quick one refuses."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return loads(text)


def dumps(value: Any) -> str:
    """Write JSON in compact form; lone surrogates and NUL come out as escapes."""
    return simplejson.dumps(value, use_decimal=True, separators=(",", ":"), allow_nan=False)


def dumps_pretty(value: Any) -> str:
    """Write JSON for reading: indented, letters of every script as they are."""
    return simplejson.dumps(value, use_decimal=True, indent=2, ensure_ascii=False, allow_nan=False)


_UNSEEN = re.compile("[\\x7f-\\x9f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")


def dumps_editable(value: Any) -> str:
    """Like `dumps_pretty`, with escapes for what could not be seen or kept in a form."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", dumps_pretty(value))


def is_json(text: bytes) -> bool:
    """Say whether a text is one JSON value, quickly."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            loads(text)
        except (NotJsonError, UnicodeDecodeError):
            return False
    return True


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace what a PostgreSQL text cannot hold (NUL, lone surrogates) by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_value(value: Any) -> Any:
    """The same for every text inside a JSON value, for `jsonb` columns made for filters."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable_value(item) for item in value]
    return value


def search_text(*texts: str | None, limit: int = 20_000) -> str:
    """What a full-text search looks at: the strings inside JSON texts, cut to a length."""
    parts: list[str] = []
    for text in texts:
        if text and text not in ("null", "{}"):
            _collect(loads_quickly(text), parts)
    return storable("\n".join(parts)[:limit])


def _collect(value: Any, parts: list[str]) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _collect(item, parts)
    elif isinstance(value, list):
        for item in value:
            _collect(item, parts)
    elif isinstance(value, str):
        parts.append(value)
    elif value is not None:
        parts.append(str(value))


if TYPE_CHECKING:
    TextField = models.TextField[Any, Any]
else:
    TextField = models.TextField


class RawJsonField(TextField):
    """A column of type `json` whose Python value is the JSON text itself."""

    def db_type(self, connection: Any) -> str:
        return "json"

    def rel_db_type(self, connection: Any) -> str:
        return "json"

    def cast_db_type(self, connection: Any) -> str:
        return "json"

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        return f"{sql}::text", params
