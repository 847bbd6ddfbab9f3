"""Checks and cleaning that the operations share: what they accept, and how they say "no number"."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

Result = dict[str, Any]
Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.signedinteger[Any]]


def finite(name: str, value: float) -> float:
    """Return a finite number as a float; ValueError for anything else, text included."""
    # Looking for `__float__` takes fifty times as long as looking at the type.
    is_number = type(value) in (int, float) or isinstance(value, SupportsFloat)
    if is_number and math.isfinite(value):
        return float(value)
    raise ValueError(f"{name} must be a finite number, not {value!r}.")


def whole(name: str, value: float) -> int:
    """Return a count as an int; ValueError unless it is a whole number from 0 up."""
    number = finite(name, value)
    if number != int(number) or number < 0:
        raise ValueError(f"{name} must be a whole number from 0 up, not {value!r}.")
    return int(value)


def fraction(name: str, value: float) -> float:
    """Return a level such as alpha or power; ValueError unless it lies between 0 and 1."""
    number = finite(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {value!r}.")
    return number


def not_negative(name: str, value: float) -> float:
    """Return a finite number from 0 up; ValueError otherwise."""
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name} must be a number from 0 up, not {value!r}.")
    return number


def same_length(**lists: Sequence[object]) -> None:
    """Refuse lists of unequal length: rows are joined by example, never by position."""
    if len({len(values) for values in lists.values()}) > 1:
        sizes = ", ".join(f"{name} has {len(values)}" for name, values in lists.items())
        raise ValueError(f"Lists must have one entry per row: {sizes}.")


def numbers(values: Sequence[object]) -> Floats:
    """Return values as floats, with NaN for what is missing (None, NaN, infinite)."""
    if any(isinstance(value, str | bytes) for value in values):
        raise ValueError("Expected numbers or nulls, not text.")
    try:
        array = np.array(values, dtype=np.float64).reshape(len(values))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("Expected numbers or nulls.") from error
    return np.where(np.isfinite(array), array, np.nan)


def complete(*columns: Sequence[object]) -> Floats:
    """Return the rows in which every column has a number, one column each."""
    rows = np.column_stack([numbers(column) for column in columns])
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def report(reasons: Iterable[str] = (), /, **values: Any) -> Result:
    """Build an operation's result: plain Python values, and why any of them is null.

    Numbers that are not finite become null, since neither JSON nor jsonb can hold them.
    """
    result = {key: plain(value) for key, value in values.items()}
    return result | {"reason": " ".join(dict.fromkeys(reasons)) or None}


def nothing(reason: str, /, *keys: str, **known: Any) -> Result:
    """Build a result whose `keys` are all null for one reason."""
    return report([reason], **dict.fromkeys(keys), **known)


def plain(value: Any) -> Any:
    """Turn NumPy values into Python's own, and numbers that are not finite into None."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
