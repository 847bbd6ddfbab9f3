"""Defining a kind: the `@evaluator` decorator, and settings read off dataclasses and functions."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from evaluators.base import Evaluator
from evaluators.kinds import About, Family, Kind, Setting
from evaluators.own import CALL_ARGUMENTS, OWN, family_of

T = TypeVar("T")

REGISTERED: dict[str, Kind] = {}

_NONE = inspect.Parameter.empty
_GIVEN_BY_LOADER = ("llm", "embeddings")
_FORM_TYPES = {bool: "bool", str: "text", float: "float", int: "int"}


def evaluator(
    name: str,
    *,
    title: str = "",
    higher_is_better: bool | None = True,
    order_matters: bool = False,
    needs_model: bool = False,
    needs_embeddings: bool = False,
    requires: tuple[str, ...] = (),
    extra: str = "",
) -> Callable[[T], T]:
    """Register a class or a function as the evaluator called `name`, and leave it as it is.

    A class is a subclass of one of the three bases, or a dataclass with an `evaluate` method.
    The arguments of a function, or of `evaluate`, tell what it looks at: `prediction`,
    `prediction_b`, `reference`, `input`, `agent_trajectory`; further arguments of a function
    are settings. It returns a score, or a dict with at least `score`.
    """

    def register(target: T) -> T:
        kind = make_kind(
            name,
            target,
            title=title,
            higher_is_better=higher_is_better,
            order_matters=order_matters,
            needs_model=needs_model,
            needs_embeddings=needs_embeddings,
            requires=requires,
            extra=extra,
        )
        _refuse_another(kind)
        REGISTERED[name] = kind
        return target

    return register


def make_kind(name: str, target: Any, *, title: str = "", **about: Any) -> Kind:
    """The kind that a class or function makes; TypeError if it is none of the known forms."""
    facts = _class_facts(target) if inspect.isclass(target) else _function_facts(name, target)
    kind = Kind(
        name=name,
        title=title or name.replace("_", " ").capitalize(),
        description=(inspect.getdoc(target) or "").partition("\n")[0],
        source=_source(target),
        **{**about, **{name: about.get(name) or fact for name, fact in facts.items()}},
    )
    if inspect.isclass(target) and issubclass(target, Evaluator):
        target.kind = kind
    return kind


def kind_of(target: Any) -> Kind | None:
    """The kind under which a class or function is registered, if it is."""
    return next((kind for kind in REGISTERED.values() if _target(kind) is target), None)


def _source(target: Any) -> str:
    package = str(target.__module__).partition(".")[0]
    return "tiebreak" if package == "evaluators" else package


def _refuse_another(kind: Kind) -> None:
    if not kind.name.strip():
        raise ValueError("An evaluator needs a name.")
    earlier = REGISTERED.get(kind.name)
    if earlier and _address(earlier) != _address(kind):
        raise ValueError(f"There already is an evaluator called {kind.name!r}.")


def _target(kind: Kind) -> Any:
    return kind.make.args[0] if isinstance(kind.make, partial) else kind.make


def _address(kind: Kind) -> tuple[str, str]:
    target = _target(kind)
    return target.__module__, target.__qualname__


def _class_facts(cls: type) -> dict[str, Any]:
    if inspect.isabstract(cls):
        raise TypeError(
            f"{cls.__name__} lacks {', '.join(getattr(cls, '__abstractmethods__', ()))}."
        )
    if issubclass(cls, Evaluator):
        return _evaluator_facts(cls)
    if not (dataclasses.is_dataclass(cls) and hasattr(cls, "evaluate")):
        raise TypeError(f"{cls.__name__} is neither an evaluator nor a dataclass with `evaluate`.")
    parameters = dict(inspect.signature(cls.evaluate).parameters)
    facts = _facts_of_parameters(parameters)
    return {**facts, "make": partial(_make_from_class, cls), "settings": settings_of(cls)}


def _make_from_class(cls: type, **options: Any) -> Evaluator:
    evaluate: Callable[..., Any] = getattr(cls(**options), "evaluate")  # noqa: B009
    name = getattr(kind_of(cls), "name", cls.__name__)
    return OWN[family_of(inspect.signature(evaluate).parameters)](evaluate, name)


def _evaluator_facts(cls: type[Evaluator]) -> dict[str, Any]:
    blank = object.__new__(cls)
    return {
        "family": cls.family,
        "make": cls,
        "settings": settings_of(cls),
        "needs_model": "llm" in inspect.signature(cls).parameters,
        "needs_embeddings": "embeddings" in inspect.signature(cls).parameters,
        "requires_input": _fact(blank, "requires_input"),
        "requires_reference": _fact(blank, "requires_reference"),
    }


def _fact(blank: Evaluator, name: str) -> bool:
    try:
        return bool(getattr(blank, name))
    except AttributeError:
        return False


def _function_facts(name: str, function: Any) -> dict[str, Any]:
    if not callable(function):
        raise TypeError(f"The evaluator {name!r} is neither a class nor a function.")
    return {
        **_facts_of_parameters(dict(inspect.signature(function).parameters)),
        "make": partial(_make_from_function, function, name),
        "settings": _parameter_settings(function, CALL_ARGUMENTS),
    }


def _make_from_function(function: Callable[..., Any], name: str, **options: Any) -> Evaluator:
    family = family_of(inspect.signature(function).parameters)
    return OWN[family](partial(function, **options) if options else function, name)


def _facts_of_parameters(parameters: dict[str, inspect.Parameter]) -> dict[str, Any]:
    if not any(
        name in CALL_ARGUMENTS or one.kind is one.VAR_KEYWORD for name, one in parameters.items()
    ):
        raise TypeError(f"An evaluator looks at one of {', '.join(CALL_ARGUMENTS)}.")

    def required(name: str) -> bool:
        return name in parameters and parameters[name].default is inspect.Parameter.empty

    family: Family = family_of(parameters)
    return {
        "family": family,
        "requires_input": required("input"),
        "requires_reference": required("reference"),
    }


def settings_of(cls: type) -> tuple[Setting, ...]:
    """The settings of a class: a dataclass' fields, else the arguments of its constructor."""
    if not dataclasses.is_dataclass(cls):
        return _parameter_settings(vars(cls).get("__init__", lambda: None), ("self",))
    hints = typing.get_type_hints(cls, include_extras=True)
    return tuple(
        _setting(item.name, hints[item.name], _default(item))
        for item in dataclasses.fields(cls)
        if item.init and item.name not in _GIVEN_BY_LOADER
    )


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return _NONE if item.default is dataclasses.MISSING else item.default


def _parameter_settings(function: Any, drop: tuple[str, ...]) -> tuple[Setting, ...]:
    hints = typing.get_type_hints(function, include_extras=True)
    return tuple(
        _setting(name, hints.get(name, type(parameter.default)), parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in drop + _GIVEN_BY_LOADER
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    )


def _setting(name: str, hint: Any, default: Any) -> Setting:
    about = next((one for one in typing.get_args(hint) if isinstance(one, About)), About())
    plain = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    choices = about.choices or _literal_choices(plain)
    return Setting(
        name=name,
        type=about.type or form_type(plain, choices),
        default=None if default is _NONE else default,
        help=about.help,
        choices=choices,
        required=default is _NONE,
    )


def form_type(hint: Any, choices: tuple[str, ...] = ()) -> str:
    """The type that a form needs for an annotation."""
    if choices:
        return "choice"
    options = [part for part in typing.get_args(hint) or (hint,) if part is not type(None)]
    return next((name for plain, name in _FORM_TYPES.items() if plain in options), "python")


def _literal_choices(hint: Any) -> tuple[str, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
