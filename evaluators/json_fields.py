"""JSON field by field."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.json_reading import NotJson
from evaluators.json_values import form, parsed_prediction, parsed_reference, same
from evaluators.kinds import About

Path = tuple[Any, ...]

_NOTHING = object()


@evaluator("json_fields", title="JSON by field")
@dataclass(kw_only=True)
class JsonFieldsEvaluator(StringEvaluator):
    """The share of the reference's fields, down to the leaves, that the prediction has right."""

    lists: Annotated[
        Literal["ordered", "same_items", "subset", "superset"],
        About("Item by item; or a list as one field: the same items, none but, or at least those."),
    ] = "ordered"
    ignore: Annotated[str, About("Fields to leave out, by comma, such as id or user.name.")] = ""
    weights: Annotated[
        str, About("Fields that count for more or less than 1, such as name=3, user.age=0.5.")
    ] = ""
    tolerance: Annotated[float, About("How far apart numbers may be.")] = 0.0
    extra_fields_count: Annotated[
        bool, About("Fields that only the prediction has count as wrong.")
    ] = True

    requires_reference = True

    def __post_init__(self) -> None:
        if self.lists not in ("ordered", "same_items", "subset", "superset"):
            raise ValueError("lists must be ordered, same_items, subset or superset.")
        if not self.tolerance >= 0:
            raise ValueError("The tolerance must be 0 or more.")
        self._weights = _weights(self.weights)
        self._ignored = {name.strip() for name in self.ignore.split(",") if name.strip()}

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        wanted = dict(self._leaves(parsed_reference(reference)))
        try:
            found = dict(self._leaves(parsed_prediction(prediction)))
        except NotJson as error:
            return {"score": 0.0, "reasoning": f"The prediction is not JSON: {error}"}
        names = (
            list(wanted) if not self.extra_fields_count else list(dict.fromkeys([*wanted, *found]))
        )
        wrong = [
            name
            for name in names
            if not self._agree(found.get(name, _NOTHING), wanted.get(name, _NOTHING))
        ]
        total = math.fsum(map(self._weight, names))
        score = 1 - math.fsum(map(self._weight, wrong)) / total if total else 1.0
        return {"score": score, "fields": len(names), "wrong": [_dotted(name) for name in wrong]}

    def _weight(self, path: Path) -> float:
        """Of a field: its own weight, else that of the nearest field around it, else 1."""
        around = (_dotted(path[:depth]) for depth in range(len(path), 0, -1))
        return next((self._weights[name] for name in around if name in self._weights), 1.0)

    def _leaves(self, value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
        if path and _dotted(path) in self._ignored:
            return
        if isinstance(value, dict) and value:
            for name, one in value.items():
                yield from self._leaves(one, (*path, name))
        elif isinstance(value, list) and value and self.lists == "ordered":
            for place, one in enumerate(value):
                yield from self._leaves(one, (*path, place))
        else:
            yield path, value

    def _agree(self, found: Any, wanted: Any) -> bool:
        if found is _NOTHING or wanted is _NOTHING:
            return False
        if isinstance(found, list) and isinstance(wanted, list):
            return self._lists_agree(found, wanted)
        if _is_number(found) and _is_number(wanted):
            return self._near(found, wanted)
        return same(found, wanted, "strict")

    def _near(self, found: Any, wanted: Any) -> bool:
        try:
            return math.isclose(found, wanted, rel_tol=0, abs_tol=self.tolerance)
        except OverflowError:
            # Whole numbers beyond the range of floats.
            return bool(found == wanted)

    def _lists_agree(self, found: list[Any], wanted: list[Any]) -> bool:
        made, asked = (
            Counter(form(one, unordered=True) for one in items) for items in (found, wanted)
        )
        no_stranger = self.lists == "superset" or not made - asked
        none_missing = self.lists == "subset" or not asked - made
        return no_stranger and none_missing


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _dotted(path: Path) -> str:
    return ".".join(map(str, path)) or "$"


def _weights(told: str) -> dict[str, float]:
    weights = {}
    for part in filter(str.strip, told.split(",")):
        name, _, number = part.rpartition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            weights[name.strip()] = -1.0
        if not (name.strip() and 0 <= weights[name.strip()] < math.inf):
            raise ValueError(f"weights has {part.strip()!r}; it takes name=number, 0 or more.")
    return weights
