"""What to judge by: names, own descriptions and constitutional principles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from typing import Any

from evaluators.llm.principles import principles
from evaluators.llm.prompting import prompt_file


class Criteria(StrEnum):
    """The criteria that can be given by name."""

    CONCISENESS = "conciseness"
    RELEVANCE = "relevance"
    CORRECTNESS = "correctness"
    COHERENCE = "coherence"
    HARMFULNESS = "harmfulness"
    MALICIOUSNESS = "maliciousness"
    HELPFULNESS = "helpfulness"
    CONTROVERSIALITY = "controversiality"
    MISOGYNY = "misogyny"
    CRIMINALITY = "criminality"
    INSENSITIVITY = "insensitivity"
    DEPTH = "depth"
    CREATIVITY = "creativity"
    DETAIL = "detail"


LOWER_IS_BETTER = frozenset(
    {"harmfulness", "maliciousness", "controversiality", "misogyny", "criminality", "insensitivity"}
)
GENERAL = ("helpfulness", "relevance", "correctness", "depth")


@cache
def descriptions() -> dict[str, str]:
    """What is asked for each criterion that has a name."""
    lines = prompt_file("criterion_names").splitlines()
    return {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in lines)}


@cache
def described() -> dict[str, str]:
    """What is asked for each name: criteria, then principles."""
    by_principle = {name: one.critique_request for name, one in principles().items()}
    return {**by_principle, **descriptions()}


def strict_criteria(criteria: Any) -> dict[str, str]:
    """One known name, a mapping of own criteria, or a principle; ValueError for anything else.

    None means helpfulness.
    """
    if criteria is None:
        criteria = Criteria.HELPFULNESS
    if isinstance(criteria, str):
        return {str(criteria): _known(criteria)}
    if isinstance(criteria, Mapping) or _is_principle(criteria):
        return loose_criteria(criteria)
    raise ValueError(f"Criteria must be a name, a mapping or a principle, not {criteria!r}.")


def loose_criteria(criteria: Any) -> dict[str, str]:
    """Names (known or not), mappings, principles, or a list of those; ValueError for none.

    None means helpfulness, relevance, correctness and depth; an empty list means no criterion.
    """
    if criteria is None:
        criteria = GENERAL
    if isinstance(criteria, str):
        return {str(criteria): described().get(criteria, "")}
    if isinstance(criteria, Mapping):
        return _mapping(criteria)
    if _is_principle(criteria):
        return {criteria.name: criteria.critique_request}
    if isinstance(criteria, Sequence):
        merged: dict[str, str] = {}
        for one in criteria:
            merged |= loose_criteria(one)
        return merged
    raise ValueError(f"Criteria must be names, mappings or principles, not {criteria!r}.")


def higher_is_better(criteria: Mapping[str, str], known: bool) -> bool | None:
    """The direction that the criteria share, None if they differ; own ones: higher."""
    lower = {known and name in LOWER_IS_BETTER for name in criteria}
    return None if len(lower) > 1 else lower != {True}


def as_lines(criteria: Mapping[str, str]) -> str:
    """The criteria as a prompt shows them, one a line."""
    return "\n".join(
        f"- {name}: {text}" if text else f"- {name}" for name, text in criteria.items()
    )


def _mapping(criteria: Mapping[Any, Any]) -> dict[str, str]:
    if not criteria:
        raise ValueError("Criteria must not be empty.")
    return {str(name): str(text) for name, text in criteria.items()}


def _known(name: str) -> str:
    known = described()
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    names = ", ".join(descriptions())
    raise ValueError(f"Unknown criterion {str(name)!r}.{hint} Known: {names}, and the principles.")


def _is_principle(criteria: Any) -> bool:
    return hasattr(criteria, "critique_request") and hasattr(criteria, "name")
