"""A JSON schema read off the examples of a dataset, on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from experiments.errors import ConflictError
from experiments.models import Dataset, ExamplePayload
from experiments.rawjson import dumps, loads
from experiments.services.datasets import update_dataset

MAX_DEPTH = 5
MAX_KEYS = 200


@dataclass
class Shape:
    """What the values at one place have in common."""

    count: int = 0
    types: dict[str, None] = field(default_factory=dict)
    members: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None

    def add(self, value: Any, depth: int = 0) -> None:
        self.count += 1
        self.types[_type_of(value)] = None
        if depth >= MAX_DEPTH:
            return
        if isinstance(value, dict):
            for key, item in value.items():
                if key in self.members or len(self.members) < MAX_KEYS:
                    self.members.setdefault(key, Shape()).add(item, depth + 1)
        elif isinstance(value, list):
            for item in value:
                self.items = self.items or Shape()
                self.items.add(item, depth + 1)

    def schema(self) -> dict[str, Any]:
        """Required is what every value has; other keys stay allowed."""
        types = list(self.types)
        if "number" in types and "integer" in types:
            types.remove("integer")
        found: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
        if self.members:
            found["properties"] = {key: one.schema() for key, one in self.members.items()}
            required = [key for key, one in self.members.items() if one.count == self.count]
            if required and types == ["object"]:
                found["required"] = required
        if self.items is not None:
            found["items"] = self.items.schema()
        return found


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


@dataclass(frozen=True)
class Inferred:
    """Schemas that every standing example keeps; None where nothing is there."""

    inputs: str | None
    outputs: str | None


def infer_schemas(dataset: Dataset) -> Inferred:
    """Look at every standing example."""
    inputs, outputs = Shape(), Shape()
    rows = ExamplePayload.objects.filter(
        revision__dataset=dataset, revision__valid_to=None
    ).values_list("inputs", "outputs")
    for given, answer in rows.iterator(chunk_size=2_000):
        inputs.add(loads(given))
        if answer is not None:
            outputs.add(loads(answer))
    return Inferred(_text(inputs), _text(outputs))


def _text(shape: Shape) -> str | None:
    return dumps(shape.schema()) if shape.count else None


def adopt_schemas(dataset: Dataset) -> Inferred:
    """Infer the schemas and enforce them from now on."""
    found = infer_schemas(dataset)
    if found.inputs is None:
        raise ConflictError("The dataset has no examples to read a schema off.")
    update_dataset(dataset, inputs_schema=found.inputs, outputs_schema=found.outputs)
    return found
