"""Kinds of evaluators: what a form or an API needs to know of each."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

Family = Literal["string", "pairwise", "trajectory"]


@dataclass(frozen=True)
class About:
    """What a form says of a setting: goes into its annotation, `Annotated[bool, About("...")]`."""

    help: str = ""
    choices: tuple[str, ...] = ()
    type: str = ""


@dataclass(frozen=True)
class Setting:
    """One setting of a kind, as a form needs it.

    `type` is bool, int, float, text, choice, criteria (a name or a mapping), prompt (a text with
    {variables}), json (a JSON text) or python: a function or class, which no form can offer.
    """

    name: str
    type: str
    default: Any = None
    help: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True)
class Kind:
    """What can be loaded by name: how to build it, and all that a form shows of it.

    `higher_is_better` is the direction under default settings; an evaluator knows its own.
    """

    name: str
    title: str
    description: str
    family: Family
    make: Callable[..., Any]
    settings: tuple[Setting, ...] = ()
    needs_model: bool = False
    needs_embeddings: bool = False
    requires_input: bool = False
    requires_reference: bool = False
    higher_is_better: bool | None = True
    order_matters: bool = False
    source: str = "tiebreak"
    requires: tuple[str, ...] = ()
    extra: str = ""
    broken: str = ""

    @property
    def problem(self) -> str:
        """Why it cannot be used here, empty if it can."""
        missing = [name for name in self.requires if importlib.util.find_spec(name) is None]
        if self.broken or not missing:
            return self.broken
        return f"{', '.join(missing)} is not installed: pip install 'tiebreak[{self.extra}]'"

    @property
    def available(self) -> bool:
        """Whether it can be used here."""
        return not self.problem

    @property
    def pairwise(self) -> bool:
        """Whether it compares two predictions."""
        return self.family == "pairwise"

    def knows(self, option: str) -> bool:
        """Whether it has a setting of this name."""
        return any(setting.name == option for setting in self.settings)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """ValueError for an option that this kind does not know, with the nearest name."""
        for option in options:
            if not self.knows(option):
                known = [setting.name for setting in self.settings]
                raise ValueError(unknown_option(f"{self.name} has no option", option, known))

    def fitted(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options, numbers given as texts as numbers; ValueError for what does not fit."""
        known = {setting.name: setting for setting in self.settings}
        return {name: _fitted(known[name], value) for name, value in options.items()}


_NO_TEXTS = (bool, int, float, list, tuple, dict, type(None))


def _fitted(setting: Setting, value: Any) -> Any:
    if value is None and (setting.default is None or setting.type == "choice"):
        return None
    if setting.type in ("int", "float"):
        return _number(setting, value)
    if setting.type == "text" and isinstance(value, _NO_TEXTS):
        raise ValueError(f"{setting.name} must be a text, not {value!r}.")
    if setting.type == "choice" and value not in setting.choices and not callable(value):
        choices = ", ".join(map(str, setting.choices))
        raise ValueError(f"{setting.name} must be one of {choices}, not {value!r}.")
    return value


def _number(setting: Setting, value: Any) -> Any:
    whole = setting.type == "int"
    try:
        number = float(value)
        fits = number.is_integer() or not whole
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        wanted = "a whole number" if whole else "a number"
        raise ValueError(f"{setting.name} must be {wanted}, not {value!r}.")
    return value if not isinstance(value, str) else int(number) if whole else number


def unknown_option(denial: str, option: str, known: list[str]) -> str:
    """The text for an option nobody knows."""
    near = get_close_matches(option, known, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else f" It knows: {', '.join(known) or 'none'}."
    return f"{denial} {option!r}.{hint}"
