"""Filters of examples, over their revisions."""

from django.db.models import Q

from experiments.filters.conditions import combine, field_of, metadata_leaf
from experiments.filters.grammar import Call, FilterError, parse


def example_condition(text: str) -> Q:
    """A condition on `ExampleRevision` for a filter such as `exists(metadata, "k")`."""
    return combine(parse(text), _leaf, list)


def _leaf(call: Call) -> Q:
    if field_of(call) != "metadata":
        raise FilterError(
            f"unknown field {field_of(call)!r}; examples have metadata", call.position
        )
    return metadata_leaf(call)
