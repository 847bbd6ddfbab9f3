"""JSON against a schema; nothing remote is ever read."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Annotated, Any

from evaluators.base import Result, Row, StringEvaluator, row_error
from evaluators.define import evaluator
from evaluators.json_reading import NotJson, read_json
from evaluators.json_values import UNIQUE_KEYS, parsed_prediction
from evaluators.kinds import About
from evaluators.patterns import matches
from evaluators.processes import within_process

_PATTERN_SECONDS = 1.0
_MOST_ERRORS = 100


@evaluator("json_schema_validation", title="JSON schema")
@dataclass(kw_only=True)
class JsonSchemaEvaluator(StringEvaluator):
    """1 if the prediction is JSON that fits the reference as a JSON schema, 0 if not."""

    schema: Annotated[
        Any, About("One schema for all rows, in place of references.", type="json")
    ] = None
    check_formats: Annotated[bool, About("Check formats such as date and email too.")] = False
    allow_partial: Annotated[bool, About("Close what was cut off first.")] = False
    reject_duplicate_keys: Annotated[bool, UNIQUE_KEYS] = False

    def __post_init__(self) -> None:
        self._constant = None if self.schema is None else self._validator(self.schema)

    @property
    def requires_reference(self) -> bool:
        """Whether the schema comes from the reference."""
        return self.schema is None

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        return self._validated(self._constant or self._validator(reference), prediction)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        known: dict[int, _Validator] = {}
        return [self._one_of_many(row, known) for row in rows]

    def _one_of_many(self, row: Row, known: dict[int, _Validator]) -> Result:
        # Within a batch the same object is the same schema: its text is made once.
        schema = row.get("reference")
        validator = known.get(id(schema))
        if validator is None or "input" in row:
            result = self._safe_row(row)
            if self._constant is None and "error" not in result:
                known[id(schema)] = self._validator(schema)
            return result
        try:
            return self._validated(validator, row["prediction"])
        except KeyError:
            return self._safe_row(row)
        except Exception as error:
            return row_error(error)

    def _validated(self, validator: _Validator, prediction: Any) -> Result:
        try:
            value = parsed_prediction(prediction, self.allow_partial, self.reject_duplicate_keys)
        except NotJson as error:
            return {"score": 0, "reasoning": f"The prediction is not JSON: {error}"}
        errors = validator.errors(value)
        if not errors:
            return {"score": 1}
        reasoning = "; ".join(f"{error['path']}: {error['message']}" for error in errors[:5])
        return {"score": 0, "reasoning": reasoning, "errors": errors}

    def _validator(self, schema: Any) -> _Validator:
        return _built(_schema_text(schema), self.check_formats)


def _schema_text(schema: Any) -> str:
    if isinstance(schema, str):
        try:
            schema = read_json(schema)
        except NotJson as error:
            raise ValueError(f"The schema is not JSON: {error}") from None
    elif hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    try:
        return json.dumps(schema)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"The schema is not JSON: {error}") from None


@dataclass(frozen=True)
class _Validator:
    """A schema that is ready to be used."""

    ready: Any
    schema_text: str
    check_formats: bool

    def errors(self, value: Any) -> list[dict[str, str]]:
        """What is wrong with a value, each with its path."""
        if self._has_untimed_patterns:
            return within_process(  # type: ignore[no-any-return]
                _errors_apart,
                (self.schema_text, self.check_formats, value),
                _PATTERN_SECONDS,
                needs="jsonschema.validators",
            )
        return _errors(self.ready, value)

    @cached_property
    def _has_untimed_patterns(self) -> bool:
        # To tell what is unevaluated, jsonschema matches patterns by itself, without a limit.
        return '"unevaluatedProperties"' in self.schema_text and (
            '"patternProperties"' in self.schema_text
        )


def _errors_apart(schema_text: str, check_formats: bool, value: Any) -> list[dict[str, str]]:
    return _errors(_built(schema_text, check_formats).ready, value)


@lru_cache(maxsize=256)
def _built(schema_text: str, check_formats: bool) -> _Validator:
    validators: Any = import_module("jsonschema.validators")
    bundled = import_module("jsonschema_specifications").REGISTRY

    schema = json.loads(schema_text)
    if not isinstance(schema, (dict, bool)):
        raise ValueError("A schema is an object, true or false.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        cls.check_schema(schema)
    except import_module("jsonschema.exceptions").SchemaError as error:
        raise ValueError(f"Bad schema at {error.json_path}: {error.message}") from None
    except RecursionError:
        raise ValueError("The schema is nested too deeply.") from None
    timed = validators.extend(cls, TIMED_KEYWORDS)
    checker = cls.FORMAT_CHECKER if check_formats else None
    ready = timed(schema, registry=bundled, format_checker=checker)
    return _Validator(ready, schema_text, check_formats)


def _errors(validator: Any, value: Any) -> list[dict[str, str]]:
    from referencing.exceptions import Unresolvable

    found = []
    try:
        for error in validator.iter_errors(value):
            found.append({"path": error.json_path, "message": error.message})
            if len(found) == _MOST_ERRORS:
                break
    except Unresolvable as error:
        raise ValueError(f"The schema's reference {error.ref!r} leads nowhere here.") from None
    except re.error as error:
        raise ValueError(f"The schema has a bad pattern: {error}") from None
    except RecursionError:
        raise ValueError("The schema never comes to an end on this value.") from None
    return found


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and not _found(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, schema: Any
) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if _found(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    patterns = schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in schema.get("properties", {}) or any(_found(one, name) for one in patterns):
            continue
        if rule is False:
            yield ValidationError(f"{name!r} is not expected", path=[name])
        elif rule is not True:
            yield from validator.descend(value, rule, path=name)


# In place of those of jsonschema, whose patterns have no time limit.
TIMED_KEYWORDS = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}


def _found(pattern: str, text: str) -> bool:
    return matches(pattern, text, "search", seconds=_PATTERN_SECONDS)
