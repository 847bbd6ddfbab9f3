"""JSON schemas of a dataset, enforced at every door."""

from functools import lru_cache
from typing import Any

from jsonschema import exceptions, validators
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable

from evaluators.errors import OutOfTime
from evaluators.json_schema import TIMED_KEYWORDS
from experiments.errors import InvalidError
from experiments.models import Dataset
from experiments.rawjson import loads


@lru_cache(maxsize=256)
def _validator(schema_text: str) -> Any:
    schema = loads(schema_text)
    extend: Any = validators.extend  # Its stub has no types.
    return extend(validators.validator_for(schema), TIMED_KEYWORDS)(schema, registry=REGISTRY)


def check_schema(field: str, schema_text: str | None) -> None:
    """Refuse what is not a JSON schema."""
    if schema_text is None:
        return
    schema = loads(schema_text)
    if isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str):
        raise InvalidError(field, "not a JSON schema: $schema must be a text")
    try:
        validators.validator_for(schema).check_schema(schema)
    except exceptions.SchemaError as error:
        raise InvalidError(field, f"not a JSON schema: {error.message}") from error
    if '"unevaluatedProperties"' in schema_text and '"patternProperties"' in schema_text:
        # To tell what is unevaluated, jsonschema matches patterns by itself, without a limit.
        raise InvalidError(field, "cannot have unevaluatedProperties beside patternProperties")


def check_against(dataset: Dataset, inputs: str, outputs: str | None) -> None:
    """Refuse inputs or outputs that the dataset's schemas do not allow."""
    _check("inputs", dataset.inputs_schema, inputs)
    if outputs is not None:
        _check("outputs", dataset.outputs_schema, outputs)


def _check(field: str, schema_text: str | None, text: str) -> None:
    if schema_text is None:
        return
    try:
        error = exceptions.best_match(_validator(schema_text).iter_errors(loads(text)))
    except Unresolvable as unresolvable:
        raise InvalidError(
            field, f"the schema refers to {unresolvable.ref}, which is not part of it"
        ) from unresolvable
    except (OutOfTime, OverflowError, RecursionError) as failure:
        raise InvalidError(field, f"cannot be checked against the schema: {failure}") from failure
    if error is not None:
        place = ".".join(str(step) for step in [field, *error.absolute_path])
        raise InvalidError(place, error.message[:500])
