"""Pieces that filters of runs and of examples share."""

from collections.abc import Callable
from typing import Any

from django.db.models import Q

from experiments.filters.grammar import Call, FilterError, Name, Node, Value
from experiments.rawjson import NotJsonError, loads, storable_value

COMPARISONS = ("eq", "neq", "gt", "gte", "lt", "lte", "in")
_LOOKUPS = {"gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte", "in": "in"}

Leaf = Callable[[Call], Q]


def combine(call: Call, leaf: Leaf, group: Callable[[list[Call]], list[Q | Call]]) -> Q:
    """`and`, `or`, `not` around leaves; `group` may join leaves of one `and`."""
    match call.operator:
        case "and":
            parts = group(calls_of(call))
            found = Q()
            for part in parts:
                found &= part if isinstance(part, Q) else combine(part, leaf, group)
            return found
        case "or":
            either: Q | None = None
            for part in calls_of(call):
                condition = combine(part, leaf, group)
                either = condition if either is None else either | condition
            return either if either is not None else Q()
        case "not":
            return negated(combine(calls_of(call, exactly=1)[0], leaf, group))
    return leaf(call)


def negated(condition: Q) -> Q:
    return ~condition


def calls_of(call: Call, exactly: int | None = None) -> list[Call]:
    found = [node for node in call.arguments if isinstance(node, Call)]
    if len(found) != len(call.arguments) or not found:
        raise FilterError(f"{call.operator} takes conditions", call.position)
    if exactly is not None and len(found) != exactly:
        raise FilterError(f"{call.operator} takes {exactly} condition", call.position)
    return found


def field_of(call: Call) -> str:
    """The first argument, a field; some clients put quotes around it."""
    if not call.arguments:
        raise FilterError(f"{call.operator} needs a field", call.position)
    node: Node = call.arguments[0]
    if isinstance(node, Name):
        return node.text
    if isinstance(node, Value) and isinstance(node.value, str):
        return node.value
    raise FilterError("expected a field", node.position)


def value_of(call: Call) -> Any:
    """The second argument; a bare word stands for itself."""
    if len(call.arguments) != 2:
        raise FilterError(f"{call.operator} takes a field and a value", call.position)
    node = call.arguments[1]
    if isinstance(node, Call):
        raise FilterError("expected a value", node.position)
    return node.text if isinstance(node, Name) else node.value


def compare(call: Call, path: str, value: Any, *, nullable: bool = True) -> Q:
    """A comparison of a column with a value, in the language's operators."""
    operator = call.operator
    if operator == "eq":
        return Q(**{f"{path}__isnull": True}) if value is None else Q(**{path: value})
    if operator == "neq":
        if value is None:
            return Q(**{f"{path}__isnull": False})
        differs = ~Q(**{path: value})
        return differs | Q(**{f"{path}__isnull": True}) if nullable else differs
    if operator not in _LOOKUPS or value is None:
        raise FilterError(f"{operator} does not fit here", call.position)
    if (operator == "in") != isinstance(value, list):
        raise FilterError("in takes a list, the others one value", call.position)
    return Q(**{f"{path}__{_LOOKUPS[operator]}": value})


def json_object(call: Call) -> dict[str, Any]:
    """The object that `has(metadata, '{"k": "v"}')` asks for."""
    value = value_of(call)
    try:
        wanted = loads(value) if isinstance(value, str) else value
    except NotJsonError as error:
        raise FilterError(f"not a JSON object: {error}", call.arguments[1].position) from error
    if not isinstance(wanted, dict):
        raise FilterError("expected a JSON object in quotes", call.arguments[1].position)
    found: dict[str, Any] = storable_value(wanted)
    return found


def metadata_leaf(call: Call, path: str = "metadata") -> Q:
    """`has` and `exists` on metadata."""
    if call.operator == "has":
        return Q(**{f"{path}__contains": json_object(call)})
    if call.operator == "exists":
        return Q(**{f"{path}__has_key": str(value_of(call))})
    raise FilterError("metadata takes has and exists", call.position)
