"""Recorded cases: reading them, running one in each of the three ways, comparing the outcome."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from evaluators import Evaluator, load_evaluator

GOLDEN = Path(__file__).parent / "golden"
ARGUMENTS = ("input", "prediction", "prediction_b", "reference", "agent_trajectory")
# What switches an opt-in on, by the number of the fault.
OPT_INS: dict[str, dict[str, Any]] = {
    "D01": {"ignore_whitespace": True, "normalize_unicode": True},
    "D02": {"unicode_aware": True},
    "D11": {"normalize_unicode": True},
    "D81": {"coerce": True},
}


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    loaded: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text())
    return loaded


def identifier(case: dict[str, Any]) -> str:
    """What a test of a case is called."""
    return str(case["id"])


def decode(value: Any) -> Any:
    """A value with its markers replaced."""
    if isinstance(value, list):
        return [decode(one) for one in value]
    if not isinstance(value, dict):
        return value
    for marker, make in _MARKERS.items():
        if set(value) == {marker}:
            return make(value[marker])
    return {name: decode(one) for name, one in value.items()}


def _callable(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _principle(about: Any) -> Any:
    if isinstance(about, dict):
        return SimpleNamespace(**about)
    return importlib.import_module("evaluators.llm.principles").principle(about)


def _pydantic(about: dict[str, Any]) -> Any:
    import pydantic

    types = {"str": str, "int": int, "float": float, "bool": bool, "list[str]": list[str]}
    fields: dict[str, Any] = {name: (types[kind], ...) for name, kind in about["fields"].items()}
    return pydantic.create_model(about["name"], **fields)


_MARKERS: dict[str, Callable[[Any], Any]] = {
    "$float": float,
    "$callable": _callable,
    "$principle": _principle,
    "$prompt": lambda text: text,
    "$pydantic": _pydantic,
}


@dataclass
class Judge:
    """A model that always says the same, and remembers what it was asked."""

    reply: str
    prompts: list[str] = field(default_factory=list)

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.reply


class Vectors:
    """Embeddings out of a table."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        self.vectors = vectors
        self.requests = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.requests += 1
        return [self.vectors[text] for text in texts]


def load(case: dict[str, Any], **options: Any) -> tuple[Evaluator, Judge]:
    """The evaluator of a case, and its judge."""
    config = {name: decode(value) for name, value in case["config"].items() if name != "$llm"}
    judge = Judge(case.get("judge_reply", ""))
    if "vectors" in case:
        config["embeddings"] = Vectors(decode(case["vectors"]))
    if "agent_tools" in case:
        config["agent_tools"] = [SimpleNamespace(**tool) for tool in case["agent_tools"]]
    loaded: Evaluator = load_evaluator(case["evaluator"], llm=judge, **{**config, **options})
    return loaded, judge


def arguments(case: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a case's call."""
    return {name: decode(case[name]) for name in ARGUMENTS if name in case}


@dataclass
class Outcome:
    """What came back: a result, or an error."""

    result: dict[str, Any]
    error: str = ""
    warned: list[str] = field(default_factory=list)


def outcomes(make: Callable[[], tuple[Any, Any]], row: dict[str, Any]) -> Iterator[Outcome]:
    """The outcome of a row by the sync call, the async call and the batch."""
    yield _caught(lambda: make()[0].evaluate_row(row))
    yield _caught(lambda: asyncio.run(make()[0].aevaluate_row(row)))
    yield _caught(lambda: make()[0].evaluate_batch([row])[0])


def _caught(call: Callable[[], dict[str, Any]]) -> Outcome:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            result = {"score": None, "error": str(error), "error_type": type(error).__name__}
    failed = "error_type" in result and "value" not in result
    warned = [str(one.message) for one in seen if issubclass(one.category, UserWarning)]
    return Outcome(result, result["error"] if failed else "", warned)


def agrees(actual: Any, wanted: Any) -> bool:
    """Whether a value is the wanted one, numbers to within 1e-9."""
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(
            name in actual and agrees(actual[name], value) for name, value in wanted.items()
        )
    numbers = (int, float)
    if isinstance(wanted, numbers) and isinstance(actual, numbers):
        if math.isnan(wanted):
            return math.isnan(actual)
        return math.isclose(actual, wanted, rel_tol=1e-9, abs_tol=1e-9)
    return bool(actual == wanted)
