"""JSON on the wire: payloads pass through as the text that was sent."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, DataError, InterfaceError, OperationalError
from django.http import Http404
from psycopg_pool import PoolTimeout
from rest_framework.exceptions import APIException, ErrorDetail, ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.response import Response

from experiments.errors import ConflictError, InvalidError
from experiments.filters.grammar import FilterError
from experiments.rawjson import NotJsonError, dumps, loads_exact
from tiebreak.api.bodies import read_body

logger = logging.getLogger(__name__)

RETRY_AFTER = "5"


def raw(text: str | None) -> orjson.Fragment | None:
    """A stored JSON text, to be put into an answer as it is."""
    return None if text is None else orjson.Fragment(text.encode())


def moment(value: datetime | None) -> str | None:
    """A time as all answers spell it: UTC, offset, microseconds."""
    return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")


def number(value: Decimal | None) -> orjson.Fragment | None:
    """An exact decimal as a JSON number."""
    return None if value is None else orjson.Fragment(f"{value.normalize():f}".encode())


def _other(value: object) -> object:
    if isinstance(value, Decimal):
        return number(value)
    if isinstance(value, UUID | ErrorDetail):
        return str(value)
    raise TypeError(type(value))


class WireRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        response = (renderer_context or {}).get("response")
        if data is None and response is not None and response.status_code == 204:
            return b""
        try:
            return orjson.dumps(data, default=_other, option=orjson.OPT_NON_STR_KEYS)
        except orjson.JSONEncodeError:
            # Half a surrogate pair in a text: only the slower writer spells it as an escape.
            return dumps(_plain(data)).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, orjson.Fragment):
        return loads_exact(value.contents)
    if isinstance(value, datetime):
        return moment(value)
    return str(value) if isinstance(value, UUID | ErrorDetail) else value


class WireParser(BaseParser):
    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        request = (parser_context or {})["request"]
        return read_json(read_body(request._request))


def read_json(body: bytes) -> Any:
    """A JSON text with every digit, or a 400 that says where it breaks."""
    try:
        return loads_exact(body)
    except (NotJsonError, UnicodeDecodeError) as error:
        raise ParseError(f"The body is not JSON: {error}") from error


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """Answer every refusal with `{"detail": ...}`; anything unforeseen stays a 500."""
    match error:
        case FilterError():
            return Response({"detail": str(error), "position": error.position}, status=400)
        case InvalidError():
            return Response({"detail": str(error), "field": error.field}, status=422)
        case RecursionError():
            return Response({"detail": "The body is nested too deeply."}, status=422)
        case NotJsonError():
            return Response({"detail": f"This is not JSON: {error}"}, status=422)
        case ConflictError():
            return Response({"detail": str(error)}, status=409)
        case Http404():
            return Response({"detail": _text(error) or "Not found"}, status=404)
        case LookupError() if type(error) is LookupError:
            return Response({"detail": _text(error)}, status=404)
        case PermissionDenied():
            return Response({"detail": str(error) or "Not allowed"}, status=403)
        case APIException():
            return _api_error(error)
        case DataError():
            return Response(
                {"detail": f"The database refused a value: {_first(error)}"}, status=422
            )
        case OperationalError() | InterfaceError() | PoolTimeout():
            return _unavailable(error)
        case DatabaseError() if _is_outage(error):
            return _unavailable(error)
    logger.error("unforeseen error in the API", exc_info=error)
    return Response({"detail": "Something unforeseen went wrong; it was logged."}, status=500)


def _text(error: Exception) -> str:
    return str(error.args[0]) if error.args else ""


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _api_error(error: APIException) -> Response:
    headers = {}
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait) + 1)
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    return Response({"detail": error.detail}, status=error.status_code, headers=headers)


def _unavailable(error: Exception) -> Response:
    logger.warning("database unavailable: %s", _first(error))
    detail = "The database cannot be reached or is full; nothing was stored. Try again."
    return Response({"detail": detail}, status=503, headers={"Retry-After": RETRY_AFTER})


def _is_outage(error: DatabaseError) -> bool:
    """A full disk, too little memory, or a server that is shutting down (classes 53, 57, 58)."""
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    return state[:2] in {"53", "57", "58"}
