"""Constitutional principles: criteria that ship under a name, in our own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from evaluators.llm.prompting import prompt_file


@dataclass(frozen=True)
class ConstitutionalPrinciple:
    """What to ask of an answer (Y is good), and how to mend one that fails."""

    critique_request: str
    revision_request: str = ""
    name: str = "Constitutional Principle"


@cache
def principles() -> Mapping[str, ConstitutionalPrinciple]:
    """The principles that ship, by name."""
    rows = [line.split(" | ") for line in prompt_file("principles").splitlines()]
    return {
        name: ConstitutionalPrinciple(critique, revision, name) for name, critique, revision in rows
    }


def principle(name: str) -> ConstitutionalPrinciple:
    """The principle of this name; ValueError for an unknown one."""
    if name not in principles():
        raise ValueError(f"Unknown principle {name!r}. Known: {', '.join(principles())}.")
    return principles()[name]


PRINCIPLES = principles()
