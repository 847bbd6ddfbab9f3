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


# Beyond, floats no longer tell whole numbers apart.
LARGEST_COUNT = 2**53
# Beyond, squares no longer fit into a float.
LARGEST = 1e150


def finite(name: str, value: float) -> float:
    """Return a finite number as a float; ValueError for anything else, text included."""
    if is_number(value) and -LARGEST <= value <= LARGEST:
        return float(value)
    raise ValueError(f"{name} must be a finite number up to {LARGEST:g}, not {shown(value)}.")


def whole(name: str, value: float) -> int:
    """Return a count as an int; ValueError unless it is a whole number from 0 up."""
    if is_number(value) and 0 <= value <= LARGEST_COUNT and value == int(value):
        return int(value)
    raise ValueError(f"{name} must be a whole number from 0 to 2^53, not {shown(value)}.")


def is_number(value: object) -> bool:
    """Whether it can be a float; to look for `__float__` takes fifty times as long."""
    return type(value) in (int, float) or isinstance(value, SupportsFloat)


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    text = repr(value) if not isinstance(value, int) or value.bit_length() < 1_000 else "that large"
    return text if len(text) <= 80 else f"{text[:80]}…"


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


def fields(name: str, row: object) -> Mapping[str, Any]:
    """Return a row that is an object; ValueError for anything else."""
    if isinstance(row, Mapping):
        return row
    raise ValueError(f"Each of {name} must be an object, not {shown(row)}.")


def complete(*columns: Sequence[object]) -> Floats:
    """Return the rows in which every column has a number, one column each."""
    rows = np.column_stack([numbers(column) for column in columns])
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def report(reasons: Iterable[str] = (), /, **values: Any) -> Result:
    """Build an operation's result: plain Python values, and why any of them is null.

    Numbers that are not finite become null, since neither JSON nor jsonb can hold them.
    """
    told = list(dict.fromkeys(reasons))
    if not told and any(isinstance(one, float) and math.isinf(one) for one in values.values()):
        told = ["A number is too large for a float."]
    result = {key: plain(value) for key, value in values.items()}
    return result | {"reason": " ".join(told) or None}


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
