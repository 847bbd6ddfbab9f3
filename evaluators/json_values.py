"""JSON against JSON: validity, equality, edit distance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from evaluators.base import Evaluator, Result, Row, StringEvaluator
from evaluators.columns import text_columns
from evaluators.define import evaluator
from evaluators.distances import METRICS, metric_function
from evaluators.json_reading import (
    DuplicateKey,
    NotJson,
    TooDeep,
    as_json,
    check_depth,
    may_be_deep,
    mended,
    read_json,
)
from evaluators.kinds import About

_PARTIAL = About("Close what was cut off instead of calling it no JSON.")
UNIQUE_KEYS = About("A key that stands twice in an object is no JSON; else the last one counts.")
# The default metric takes time in the product of the lengths.
LONGEST = 20_000
SHORT = 500
_LONG_NUMBER = b"0" * 19
_DIGITS = bytes.maketrans(b"123456789", b"000000000")


@evaluator("json_validity", title="JSON validity")
@dataclass(kw_only=True)
class JsonValidityEvaluator(StringEvaluator):
    """1 if the prediction is JSON, or holds it in a fence, 0 if not."""

    reject_duplicate_keys: Annotated[bool, UNIQUE_KEYS] = False

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        try:
            if isinstance(prediction, str):
                value = read_json(
                    prediction, controls=False, unique_keys=self.reject_duplicate_keys
                )
                if may_be_deep(prediction):
                    check_depth(value)
            elif prediction is None:
                raise NotJson("There is no prediction.")
            else:
                json.dumps(prediction, allow_nan=False)
        except (TooDeep, RecursionError):
            raise TooDeep("The JSON is nested too deeply.") from None
        except (TypeError, ValueError) as error:
            return {"score": 0, "reasoning": str(error)}
        return {"score": 1}

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        columns = text_columns(rows, "prediction")
        if columns is None or self.reject_duplicate_keys:
            return Evaluator._evaluate_rows(self, rows)
        return self._quickly(columns[0])

    def _quickly(self, texts: Sequence[str]) -> list[Result]:
        from orjson import JSONDecodeError, loads

        results: list[Result] = []
        for text in texts:
            try:
                loads(text)
                sure = len(text) <= SHORT or not may_be_deep(text)
            except JSONDecodeError:
                sure = False
            results.append({"score": 1} if sure else self._safe_row({"prediction": text}))
        return results


def parsed_reference(reference: Any) -> Any:
    """A reference as JSON; ValueError for one that is not JSON."""
    if isinstance(reference, str):
        return _read_once(reference)
    check_depth(reference)
    return reference


@lru_cache(maxsize=2048)
def _read_once(reference: str) -> Any:
    try:
        value = read_json(reference)
    except NotJson as error:
        raise ValueError(f"The reference is not JSON: {error}") from None
    check_depth(value)
    return value


def parsed_prediction(
    prediction: Any, allow_partial: bool = False, unique_keys: bool = False
) -> Any:
    """A prediction as JSON; NotJson for one that is not."""
    try:
        value = as_json(prediction, unique_keys=unique_keys)
    except DuplicateKey:
        raise
    except NotJson:
        if not allow_partial:
            raise
        value = mended(prediction)
    if not isinstance(prediction, str) or may_be_deep(prediction):
        check_depth(value)
    return value


@evaluator("json_equality", title="JSON equality")
@dataclass(kw_only=True)
class JsonEqualityEvaluator(StringEvaluator):
    """1 if prediction and reference are the same JSON, 0 if not; the order of keys never counts."""

    operator: Annotated[
        Callable[[Any, Any], Any] | None, About("Compares prediction and reference.", type="python")
    ] = None
    list_order: Annotated[
        Literal["top", "ignore", "strict"],
        About("Ignore the order of a list at the top, of all lists, or of none."),
    ] = "top"
    allow_partial: Annotated[bool, _PARTIAL] = False
    reject_duplicate_keys: Annotated[bool, UNIQUE_KEYS] = False

    requires_reference = True

    def __post_init__(self) -> None:
        if self.list_order not in ("top", "ignore", "strict"):
            raise ValueError("list_order must be top, ignore or strict.")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        wanted = parsed_reference(reference)
        try:
            found = parsed_prediction(prediction, self.allow_partial, self.reject_duplicate_keys)
        except NotJson as error:
            return {"score": 0, "reasoning": f"The prediction is not JSON: {error}"}
        return {"score": self._compare(found, wanted)}

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        columns = text_columns(rows, "prediction", "reference")
        if columns is None or self.operator or self.allow_partial or self.reject_duplicate_keys:
            return Evaluator._evaluate_rows(self, rows)
        equal = quick_equalities(columns[0], columns[1], self.list_order)
        return [
            self._safe_row(row) if same is None else {"score": same}
            for row, same in zip(rows, equal, strict=True)
        ]

    def _compare(self, found: Any, wanted: Any) -> Any:
        if self.operator is None:
            return int(same(found, wanted, self.list_order))
        if isinstance(wanted, list):
            if not isinstance(found, list):
                return 0
            found, wanted = _sorted(found), _sorted(wanted)
        result = self.operator(found, wanted)
        return int(result) if isinstance(result, bool) else result


def quick_equalities(
    ones: Sequence[str], others: Sequence[str], list_order: str
) -> Iterator[int | None]:
    """Whether JSON texts are equal pair by pair, None for pairs that need a closer look."""
    from orjson import JSONDecodeError, loads

    for one, other in zip(ones, others, strict=True):
        try:
            found, wanted = loads(one), loads(other)
        except JSONDecodeError:
            yield None
            continue
        if (
            type(wanted) is list
            or list_order == "ignore"
            or (len(one) + len(other) > SHORT and (may_be_deep(one) or may_be_deep(other)))
        ):
            yield None
        elif found != wanted:
            yield 0
        else:
            yield 1 if _is_plain(f"{one},{other}") else None


def _is_plain(text: str) -> bool:
    """Whether equality of values read by orjson is beyond doubt.

    It rounds whole numbers of more than 64 bits, and Python holds true to equal 1.
    """
    if "true" in text or "false" in text:
        return False
    return _LONG_NUMBER not in text.encode("utf-8", "surrogatepass").translate(_DIGITS)


def same(one: Any, other: Any, list_order: str = "top") -> bool:
    """Whether two JSON values are equal: types count, 1 equals 1.0."""
    unordered = list_order == "ignore" or (list_order == "top" and isinstance(other, list))
    if not unordered:
        return bool(one == other) and _same_types(one, other)
    if type(one) is not type(other):
        return False
    deep = list_order == "ignore"
    return bool(form(one, deep, top=True) == form(other, deep, top=True))


def _same_types(one: Any, other: Any) -> bool:
    """Whether values that Python holds to be equal are of the same JSON types."""
    if isinstance(one, dict):
        return all(_same_types(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(map(_same_types, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def form(value: Any, unordered: bool, top: bool = False) -> Any:
    """A value that is hashable, and equal for equal JSON; lists as bags where `unordered`."""
    if isinstance(value, dict):
        return "object", frozenset((name, form(one, unordered)) for name, one in value.items())
    if isinstance(value, list):
        items = [form(one, unordered) for one in value]
        if unordered or top:
            return "bag", frozenset(Counter(items).items())
        return "list", tuple(items)
    return type(value) is bool, value


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True, default=str))


def canonical(value: Any) -> str:
    """A JSON value as one text: sorted keys, no blanks, no escapes beyond the needed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


@evaluator("json_edit_distance", title="JSON edit distance", higher_is_better=False)
@dataclass(kw_only=True)
class JsonEditDistanceEvaluator(StringEvaluator):
    """How far the prediction's JSON text is from the reference's, 0 to 1: 0 is equal."""

    string_distance: Annotated[
        Any, About("A metric by name, or a function of two texts.", choices=METRICS)
    ] = "damerau_levenshtein"
    canonicalize: Annotated[
        Callable[[Any], Any] | None, About("Turns a value into its text.", type="python")
    ] = None
    allow_partial: Annotated[bool, _PARTIAL] = False
    reject_duplicate_keys: Annotated[bool, UNIQUE_KEYS] = False

    requires_reference = True

    def __post_init__(self) -> None:
        distance = self.string_distance or "damerau_levenshtein"
        self._distance = distance if callable(distance) else metric_function(distance)

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        wanted = parsed_reference(reference)
        try:
            found = parsed_prediction(prediction, self.allow_partial, self.reject_duplicate_keys)
        except NotJson as error:
            return {"score": 1.0, "reasoning": f"The prediction is not JSON: {error}"}
        print_ = self.canonicalize or canonical
        one, other = print_(found), print_(wanted)
        if self.canonicalize is None and max(len(one), len(other)) > LONGEST and one != other:
            raise ValueError(f"JSON of more than {LONGEST:,} characters is not compared.")
        return {"score": self._distance(one, other)}
