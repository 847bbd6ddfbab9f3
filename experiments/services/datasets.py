"""Writes of datasets as a whole."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from experiments.errors import ConflictError, InvalidError
from experiments.ids import uuid7
from experiments.models import MAX_NAME, Comparison, Dataset, DataType, Experiment, Run
from experiments.rawjson import storable_value
from experiments.services.schemas import check_schema
from tiebreak.accounts.models import Workspace


def clean_name(field: str, name: str) -> str:
    """A name without blanks at its ends; refused when empty, too long or not storable."""
    name = name.strip()
    if not name:
        raise InvalidError(field, "must not be empty")
    if len(name) > MAX_NAME:
        raise InvalidError(field, f"must have at most {MAX_NAME} characters, not {len(name)}")
    if "\x00" in name:
        raise InvalidError(field, "must not hold NUL characters")
    return name


def check_data_type(text: str) -> str:
    """One of the types that a dataset can have, or an error that names them."""
    if text not in DataType.values:
        raise InvalidError("data_type", f"must be one of {', '.join(DataType.values)}")
    return text


def create_dataset(
    *,
    workspace: Workspace,
    name: str,
    uid: UUID | None = None,
    description: str | None = None,
    data_type: str = DataType.KV,
    metadata: dict[str, Any] | None = None,
    inputs_schema: str | None = None,
    outputs_schema: str | None = None,
    transformations: str | None = None,
    created_at: datetime | None = None,
) -> Dataset:
    """Create an empty dataset; its name is unique in the workspace."""
    name = clean_name("name", name)
    check_data_type(data_type)
    check_schema("inputs_schema_definition", inputs_schema)
    check_schema("outputs_schema_definition", outputs_schema)
    moment = timezone.now()
    try:
        with transaction.atomic():
            return Dataset.objects.create(
                workspace=workspace,
                uid=uid or uuid7(),
                name=name,
                description=description,
                data_type=data_type,
                metadata=storable_value(metadata or {}),
                inputs_schema=inputs_schema,
                outputs_schema=outputs_schema,
                transformations=transformations,
                created_at=created_at or moment,
                modified_at=moment,
            )
    except IntegrityError as error:
        raise ConflictError(f"A dataset named {name!r} already exists.") from error


def update_dataset(dataset: Dataset, **changes: Any) -> Dataset:
    """Change name, description, metadata or schemas; what is not given stays."""
    if "name" in changes:
        changes["name"] = clean_name("name", changes["name"])
    for field in ("inputs_schema", "outputs_schema"):
        check_schema(field, changes.get(field))
    for field, value in changes.items():
        setattr(dataset, field, value)
    try:
        with transaction.atomic():
            dataset.save(update_fields=list(changes))
    except IntegrityError as error:
        raise ConflictError(f"A dataset named {dataset.name!r} already exists.") from error
    return dataset


def what_goes_with(dataset: Dataset) -> dict[str, int]:
    """What a deletion of the dataset takes along, by noun."""
    return {
        "examples": dataset.example_count,
        "experiments": Experiment.objects.filter(dataset=dataset).count(),
        "runs": Run.objects.filter(experiment__dataset=dataset).count(),
        "pairwise experiments": Comparison.objects.filter(dataset=dataset).count(),
    }
