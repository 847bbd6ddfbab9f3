"""The API described as OpenAPI 3, and a page that shows it without anything from elsewhere."""

import json
import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import patched_settings

from tiebreak.api.operations import Operation
from tiebreak.api.reference import operation
from tiebreak.api.reference_examples import OTHER, UID

ERRORS = {
    "400": "The request is not readable; `detail` says where it breaks.",
    "401": "The key is missing, unknown, expired or revoked.",
    "403": "The key's role does not allow this.",
    "404": "There is nothing with this id in the key's workspace.",
    "409": "The name or id is taken, or a state does not allow this.",
    "413": "The body is larger than `/info` says.",
    "415": "The Content-Encoding is not known.",
    "422": "A value is not allowed; `field` names it.",
    "429": "The key asks too often; try again after `Retry-After` seconds.",
    "503": "The database cannot be reached; try again after `Retry-After` seconds.",
}
ERROR_SCHEMA = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {"type": "string"},
        "field": {"type": "string"},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
SECURITY = {
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}
MULTIPART = {"multipart/form-data": {"schema": {"type": "object"}}}
SETTINGS: dict[str, Any] = {
    "PREPROCESSING_HOOKS": ["tiebreak.api.description.one_path_each"],
    "POSTPROCESSING_HOOKS": ["tiebreak.api.description.described"],
    "DISABLE_ERRORS_AND_WARNINGS": True,
    "DESCRIPTION": "Speaks the wire format of the official langsmith SDK.",
}


def one_path_each(endpoints: list[Any], **_: Any) -> list[Any]:
    """Of all spellings of a path, the one below its version and without a last slash."""
    versioned = re.compile(r"^/?v[12]/.*[^/]$")
    return [entry for entry in endpoints if versioned.match(entry[0])]


def described(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Fills in what the reference says, where the views alone say nothing."""
    paths: dict[str, Any] = {}
    for path, methods in result["paths"].items():
        name = path.lstrip("/").removeprefix("v1/")
        for method, spec in methods.items():
            spec["operationId"] = _operation_id(path, method)
            _describe(spec, operation(name, method))
        paths["/api/" + path.lstrip("/")] = methods
    result["paths"] = paths
    result.setdefault("components", {})["securitySchemes"] = SECURITY
    result["components"].setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    return result


def _operation_id(path: str, method: str) -> str:
    return re.sub(r"\W+", "_", f"{method} {path}").strip("_")


def _describe(spec: dict[str, Any], found: tuple[str, Operation] | None) -> None:
    title, entry = found or ("More", Operation(spec.pop("description", "").partition("\n")[0]))
    summary = entry.summary or spec["operationId"].replace("_", " ")
    spec |= {"tags": [title], "summary": summary}
    spec["security"] = [] if entry.open else [{"key": []}, {"bearer": []}]
    spec["parameters"] = [
        *(p for p in spec.get("parameters", []) if p["in"] == "path"),
        *({"name": name, "in": "query", "schema": {"type": "string"}} for name in entry.query),
    ]
    if entry.multipart:
        spec["requestBody"] = {"content": MULTIPART}
    elif entry.body is not None:
        content = {"schema": _schema_of(entry.body), "example": entry.body}
        spec["requestBody"] = {"content": {"application/json": content}}
    spec["responses"] = _responses(entry)


def _schema_of(example: Any) -> dict[str, Any]:
    """The types of an example; more fields than it shows may be sent."""
    match example:
        case dict():
            known = {name: _schema_of(value) for name, value in example.items()}
            return {"type": "object", "properties": known}
        case list():
            return {"type": "array", "items": _schema_of(example[0]) if example else {}}
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "number"}
    return {"type": "string"} | ({"format": "uuid"} if example in (UID, OTHER) else {})


def _responses(entry: Operation) -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    kinds = ("text/csv", "application/jsonl") if entry.file else ("application/json",)
    done: dict[str, Any] = {}
    for status in (entry.status, *entry.also):
        done[str(status)] = {"description": "Done"}
        if status != 204:
            done[str(status)]["content"] = {kind: {"schema": {}} for kind in kinds}
    return done | {code: {"description": text, "content": error} for code, text in ERRORS.items()}


def openapi() -> dict[str, Any]:
    """The whole description."""
    with patched_settings(SETTINGS):
        generator: Any = SchemaGenerator(urlconf="tiebreak.api.urls")  # type: ignore[no-untyped-call]
        result: dict[str, Any] = generator.get_schema(request=None, public=True)
    return result


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    return HttpResponse(json.dumps(openapi()), content_type="application/json")


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Every endpoint with its parameters and an example, chapter by chapter."""
    chapters: dict[str, list[dict[str, Any]]] = {}
    for path, methods in openapi()["paths"].items():
        for method, spec in methods.items():
            entry = {
                "method": method.upper(),
                "path": path,
                "id": spec["operationId"],
                "summary": spec["summary"],
                "query": [p["name"] for p in spec["parameters"] if p["in"] == "query"],
                "example": _example(spec),
            }
            chapters.setdefault(spec["tags"][0], []).append(entry)
    return render(request, "api/docs.html", {"chapters": chapters, "errors": ERRORS})


def _example(spec: dict[str, Any]) -> str:
    content = spec.get("requestBody", {}).get("content", {})
    example = content.get("application/json", {}).get("example")
    return "" if example is None else json.dumps(example, indent=2)
