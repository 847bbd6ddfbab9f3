"""Filters of examples, over their revisions."""

from typing import Any

from django.db.models import Q

from experiments.filters.conditions import combine, field_of, json_object, metadata_leaf, value_of
from experiments.filters.grammar import Call, FilterError, parse

SPLIT_KEY = "dataset_split"


def example_condition(text: str) -> Q:
    """A condition on `ExampleRevision` for a filter such as `exists(metadata, "k")`."""
    return combine(parse(text), _leaf, list)


def described_by(metadata: dict[str, Any]) -> Q:
    """The revisions whose metadata hold this; splits are shown there and kept beside it."""
    given = {key: value for key, value in metadata.items() if key != SPLIT_KEY}
    condition = Q(metadata__contains=given)
    if SPLIT_KEY in metadata:
        asked = metadata[SPLIT_KEY]
        names = asked if isinstance(asked, list) else [asked]
        condition &= Q(splits__contains=[str(name) for name in names])
    return condition


def _leaf(call: Call) -> Q:
    if field_of(call) != "metadata":
        raise FilterError(
            f"unknown field {field_of(call)!r}; examples have metadata", call.position
        )
    if call.operator == "has":
        return described_by(json_object(call))
    if call.operator == "exists" and value_of(call) == SPLIT_KEY:
        return ~Q(splits=[])
    return metadata_leaf(call)
