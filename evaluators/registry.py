"""Loading evaluators by name: our own and those of third parties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from evaluators.base import Evaluator
from evaluators.define import REGISTERED, kind_of, make_kind
from evaluators.kinds import Kind, unknown_option

GROUP = "tiebreak.evaluators"
FAMILIES = (
    "evaluators.text",
    "evaluators.distances",
    "evaluators.patterns",
    "evaluators.json_values",
    "evaluators.json_schema",
    "evaluators.json_fields",
    "evaluators.embeddings",
    "evaluators.nearer",
    "evaluators.better",
    "evaluators.matching",
    "evaluators.numeric",
    "evaluators.overlap",
    "evaluators.symbolic",
    "evaluators.retrieval",
    "evaluators.trajectories",
    "evaluators.privacy",
    "evaluators.llm.pairwise",
    "evaluators.llm.judge",
    "evaluators.llm.qa",
    "evaluators.llm.trajectory",
    "evaluators.llm.safety",
    "evaluators.llm.context",
    "evaluators.llm.g_eval",
    "evaluators.llm.moderation",
)


class EvaluatorType(StrEnum):
    """The twenty names that LangChain knows."""

    QA = "qa"
    COT_QA = "cot_qa"
    CONTEXT_QA = "context_qa"
    PAIRWISE_STRING = "pairwise_string"
    LABELED_PAIRWISE_STRING = "labeled_pairwise_string"
    SCORE_STRING = "score_string"
    LABELED_SCORE_STRING = "labeled_score_string"
    AGENT_TRAJECTORY = "trajectory"
    CRITERIA = "criteria"
    LABELED_CRITERIA = "labeled_criteria"
    STRING_DISTANCE = "string_distance"
    PAIRWISE_STRING_DISTANCE = "pairwise_string_distance"
    EXACT_MATCH = "exact_match"
    REGEX_MATCH = "regex_match"
    EMBEDDING_DISTANCE = "embedding_distance"
    PAIRWISE_EMBEDDING_DISTANCE = "pairwise_embedding_distance"
    JSON_VALIDITY = "json_validity"
    JSON_EQUALITY = "json_equality"
    JSON_EDIT_DISTANCE = "json_edit_distance"
    JSON_SCHEMA_VALIDATION = "json_schema_validation"


def available() -> tuple[Kind, ...]:
    """All kinds by name, those that cannot be used here included: see `Kind.problem`."""
    _load_families()
    kinds = {**_load_third_parties(), **REGISTERED}
    return tuple(kinds[name] for name in sorted(kinds))


def kind(name: str) -> Kind:
    """The kind of this name; ValueError that lists the valid names if there is none."""
    kinds = {one.name: one for one in available()}
    if name in kinds:
        return kinds[name]
    near = get_close_matches(str(name), kinds, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"There is no evaluator {str(name)!r}.{hint} Valid names: {', '.join(kinds)}.")


def load_evaluator(evaluator: str, llm: Any = None, **options: Any) -> Any:
    """The evaluator of this name; ValueError for an unknown name or option, or a missing judge.

    `llm` is a provider, a function text to text, or anything with `invoke`.
    """
    return _make(kind(evaluator), llm, options)


def load_evaluators(
    evaluators: Sequence[str],
    llm: Any = None,
    config: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> list[Any]:
    """The evaluators of these names, in order; `options` for all that know them.

    `config[name]` holds the options of one and wins.
    """
    if isinstance(evaluators, str):
        raise ValueError(f"evaluators must be a list of names, such as [{evaluators!r}].")
    kinds = [kind(name) for name in evaluators]
    for option in options:
        if kinds and not any(_takes(one, option) for one in kinds):
            known = sorted({setting.name for one in kinds for setting in one.settings})
            raise ValueError(unknown_option("None of them has an option", option, known))
    return [_make(one, llm, _options_for(one, options, config or {})) for one in kinds]


def _options_for(
    one: Kind, options: Mapping[str, Any], config: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    shared = {name: value for name, value in options.items() if _takes(one, name)}
    return {**shared, **config.get(one.name, {})}


def _takes(one: Kind, option: str) -> bool:
    return one.knows(option) or (option == "embeddings" and one.needs_embeddings)


def _make(one: Kind, llm: Any, options: dict[str, Any]) -> Evaluator:
    if one.problem:
        raise ValueError(f"{one.name} cannot be used: {one.problem}")
    given = dict(options)
    special = {"embeddings": given.pop("embeddings")} if _has_embeddings(one, given) else {}
    one.check_options(given)
    if one.needs_model:
        special["llm"] = llm
    made: Evaluator = one.make(**special, **one.fitted(given))
    return made


def _has_embeddings(one: Kind, options: Mapping[str, Any]) -> bool:
    return one.needs_embeddings and "embeddings" in options


@cache
def _load_families() -> None:
    for family in FAMILIES:
        import_module(family)


@cache
def _load_third_parties() -> dict[str, Kind]:
    """Those that could not be loaded; the others are in REGISTERED."""
    loaded = [_third_party(point) for point in entry_points(group=GROUP)]
    return {one.name: one for one in loaded if one.broken}


def _third_party(point: EntryPoint) -> Kind:
    source = point.dist.name if point.dist else point.value
    try:
        return _registered(point, source)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return Kind(point.name, point.name, "", "string", Kind, source=source, broken=reason)


def _registered(point: EntryPoint, source: str) -> Kind:
    if point.name in REGISTERED and REGISTERED[point.name].source == "tiebreak":
        raise ValueError(f"There already is an evaluator called {point.name!r}.")
    target = point.load()
    loaded = replace(kind_of(target) or make_kind(point.name, target), source=source)
    REGISTERED[loaded.name] = loaded
    return loaded
