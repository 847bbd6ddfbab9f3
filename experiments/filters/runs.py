"""Filters of runs."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import (
    Exists,
    F,
    FloatField,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
)
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Extract
from django.db.models.lookups import (
    Exact,
    GreaterThan,
    GreaterThanOrEqual,
    IContains,
    IsNull,
    LessThan,
    LessThanOrEqual,
)
from django.utils.dateparse import parse_datetime

from experiments.filters.conditions import (
    COMPARISONS,
    combine,
    compare,
    field_of,
    metadata_leaf,
    value_of,
)
from experiments.filters.grammar import Call, FilterError, parse
from experiments.models import Feedback
from experiments.rawjson import NotJsonError, loads

_ORDERED: dict[str, Any] = {
    "eq": Exact,
    "gt": GreaterThan,
    "gte": GreaterThanOrEqual,
    "lt": LessThan,
    "lte": LessThanOrEqual,
}
_TEXTS = {"name": "name", "run_type": "run_type", "status": "status", "thread_id": "thread_id"}
_IDS = {
    "id": "uid",
    "run_id": "uid",
    "trace_id": "trace_uid",
    "parent_run_id": "parent_uid",
    "reference_example": "example_uid",
    "reference_example_id": "example_uid",
    "session": "experiment__uid",
    "session_id": "experiment__uid",
}
_TIMES = {"start_time": "start_time", "end_time": "end_time"}
_NUMBERS = {
    name: name
    for name in (
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "prompt_cost",
        "completion_cost",
        "total_cost",
    )
}
_FEEDBACK = ("feedback_key", "feedback_score", "feedback_value", "feedback_source")
_METADATA = ("metadata_key", "metadata_value")


def run_condition(text: str) -> Q:
    """A condition on `Run` for a filter of the SDK."""
    return combine(parse(text), _leaf, _group)


def _leaf(call: Call) -> Q:
    if call.operator == "search" and len(call.arguments) == 1:
        return _search(call, str(field_of(call)))
    field = field_of(call)
    if field in _METADATA or field in _FEEDBACK:
        return _joined([call])
    return _plain(call, field)


def _plain(call: Call, field: str) -> Q:
    if field == "metadata":
        return metadata_leaf(call)
    value = value_of(call)
    if call.operator == "search":
        return _search(call, str(value), field)
    for names, read in _READERS:
        if field in names:
            return compare(call, names[field], _each(value, partial(read, call)))
    special = _SPECIAL.get(field)
    if special is None:
        raise FilterError(f"unknown field {field!r}", call.position)
    return special(call, value)


def _each(value: Any, read: Callable[[Any], Any]) -> Any:
    if value is None:
        return None
    return [read(item) for item in value] if isinstance(value, list) else read(value)


def _text(call: Call, value: Any) -> str:
    return str(value)


def _uuid(call: Call, value: Any) -> UUID:
    try:
        return UUID(str(value))
    except ValueError as error:
        raise FilterError(f"{value!r} is not a UUID", call.position) from error


def _time(call: Call, value: Any) -> datetime:
    try:
        moment = parse_datetime(str(value)) or datetime.fromisoformat(str(value))
    except ValueError as error:
        raise FilterError(f"{value!r} is not a time", call.position) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(call: Call, value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FilterError(f"{value!r} is not a number", call.position)
    return value


_READERS: list[tuple[dict[str, str], Callable[[Call, Any], Any]]] = [
    (_TEXTS, _text),
    (_IDS, _uuid),
    (_TIMES, _time),
    (_NUMBERS, _number),
]


def _search(call: Call, text: str, field: str | None = None) -> Q:
    if field == "name":
        return Q(name__icontains=text)
    if field == "error":
        return Q(IContains(Cast("payload__error", TextField()), text))
    return Q(payload__search__icontains=text)


def _tags(call: Call, value: Any) -> Q:
    if call.operator == "has":
        return Q(tags__contains=[str(value)])
    if call.operator == "in" and isinstance(value, list):
        return Q(tags__overlap=[str(item) for item in value])
    raise FilterError("tags take has and in", call.position)


def _is_root(call: Call, value: Any) -> Q:
    wanted = value if isinstance(value, bool) else str(value).lower() == "true"
    return Q(is_root=wanted if call.operator == "eq" else not wanted)


def _error(call: Call, value: Any) -> Q:
    """`eq(error, null)` finds the runs that did not fail; a text is compared as it was sent."""
    failed = Q(status="error")
    if value is None or isinstance(value, bool):
        wants_failed = (
            (call.operator == "neq") if value is None else (value is (call.operator == "eq"))
        )
        return failed if wants_failed else ~failed
    found = Q(IContains(Cast("payload__error", TextField()), str(value)))
    return ~found if call.operator == "neq" else found


_SECONDS = Cast(Extract(F("end_time") - F("start_time"), "epoch"), FloatField())


def _latency(call: Call, value: Any) -> Q:
    return _ordered(call, _SECONDS, _number(call, value))


def _ordered(call: Call, expression: Any, value: Any) -> Q:
    if call.operator == "neq":
        return ~Q(Exact(expression, value))
    if call.operator not in _ORDERED:
        raise FilterError(f"{call.operator} does not fit here", call.position)
    return Q(_ORDERED[call.operator](expression, value))


_SPECIAL: dict[str, Callable[[Call, Any], Q]] = {
    "tags": _tags,
    "is_root": _is_root,
    "error": _error,
    "latency": _latency,
}


def _group(calls: list[Call]) -> list[Q | Call]:
    """Conditions in one `and` on a metadata or feedback key and its value mean the same entry."""
    metadata, feedback, others = [], [], []
    for call in calls:
        field = field_of(call) if call.operator in COMPARISONS else ""
        if field in _METADATA:
            metadata.append(call)
        elif field in _FEEDBACK:
            feedback.append(call)
        else:
            others.append(call)
    joined = [
        _joined(part)
        for part in (*_entries(metadata, "metadata_key"), *_entries(feedback, "feedback_key"))
        if part
    ]
    return [*others, *joined]


def _entries(calls: list[Call], key: str) -> list[list[Call]]:
    """Split at each further key, so that several entries can be asked for in one `and`."""
    entries: list[list[Call]] = [[]]
    for call in calls:
        if field_of(call) == key and any(field_of(known) == key for known in entries[-1]):
            entries.append([])
        entries[-1].append(call)
    return entries


def _joined(calls: list[Call]) -> Q:
    if field_of(calls[0]) in _FEEDBACK:
        return Q(Exists(_feedback(calls)))
    keys = [call for call in calls if field_of(call) == "metadata_key"]
    values = [call for call in calls if field_of(call) == "metadata_value"]
    if not values:
        return _key_alone(keys[0])
    if not keys or keys[0].operator != "eq":
        raise FilterError("metadata_value needs eq(metadata_key, …) beside it", calls[0].position)
    name = str(value_of(keys[0]))
    condition = Q()
    for call in values:
        condition &= _metadata_value(call, name, value_of(call))
    return condition


def _key_alone(call: Call) -> Q:
    value = value_of(call)
    if call.operator == "in" and isinstance(value, list):
        return Q(metadata__has_any_keys=[str(item) for item in value])
    known = Q(metadata__has_key=str(value))
    return ~known if call.operator == "neq" else known


def _metadata_value(call: Call, key: str, value: Any) -> Q:
    """Texts compare as texts; a text that is JSON also finds the value it spells."""
    path = KeyTextTransform(key, "metadata")
    if call.operator == "in" and isinstance(value, list):
        found = Q(pk__in=[])
        for item in value:
            found |= _equal(key, item)
        return found
    if call.operator == "eq":
        return Q(IsNull(path, True)) if value is None else _equal(key, value)
    if call.operator == "neq":
        return Q(IsNull(path, False)) if value is None else ~_equal(key, value)
    if isinstance(value, int | float):
        return _ordered(call, KeyTransform(key, "metadata"), Value(value, JSONField()))
    return _ordered(call, path, str(value))


def _equal(key: str, value: Any) -> Q:
    found = Q(metadata__contains={key: value})
    if isinstance(value, str):
        with suppress(NotJsonError):
            found |= Q(metadata__contains={key: loads(value)})
    else:
        found |= Q(Exact(KeyTextTransform(key, "metadata"), str(value)))
    return found


def _feedback(calls: list[Call]) -> QuerySet[Feedback]:
    rows = Feedback.objects.filter(workspace=OuterRef("workspace"), run_uid=OuterRef("uid"))
    for call in calls:
        value = value_of(call)
        match field_of(call):
            case "feedback_key":
                rows = rows.filter(compare(call, "key", value, nullable=False))
            case "feedback_score":
                rows = rows.filter(compare(call, "score", value))
            case "feedback_source":
                rows = rows.filter(compare(call, "source_type", value, nullable=False))
            case _:
                rows = rows.filter(Q(Exact(Cast("value", TextField()), f'"{value}"')))
    return rows
