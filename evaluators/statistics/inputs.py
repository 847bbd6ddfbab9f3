"""Checks and cleaning that the operations share: what they accept, and how they say "no number"."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsFloat

Result = dict[str, Any]


def whole(name: str, value: float) -> int:
    """Return a count as an int; ValueError unless it is a whole number from 0 up."""
    number = float(value)
    if not math.isfinite(number) or number != int(number) or number < 0:
        raise ValueError(f"{name} must be a whole number from 0 up, not {value!r}.")
    return int(value)


def fraction(name: str, value: float) -> float:
    """Return a level such as alpha or power; ValueError unless it lies between 0 and 1."""
    number = float(value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {value!r}.")
    return number


def not_negative(name: str, value: float) -> float:
    """Return a finite number from 0 up; ValueError otherwise."""
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{name} must be a number from 0 up, not {value!r}.")
    return number


def same_length(**lists: Sequence[object]) -> None:
    """Refuse lists of unequal length: rows are joined by example, never by position."""
    if len({len(values) for values in lists.values()}) > 1:
        sizes = ", ".join(f"{name} has {len(values)}" for name, values in lists.items())
        raise ValueError(f"Lists must have one entry per row: {sizes}.")


def number(value: object) -> float | None:
    """Return a finite float, or None for a value that is missing (None, NaN, infinite)."""
    if value is None:
        return None
    if not isinstance(value, SupportsFloat) or isinstance(value, str):
        raise ValueError(f"Expected a number or null, not {value!r}.")
    result = float(value)
    return result if math.isfinite(result) else None


def complete(*columns: Iterable[object]) -> list[tuple[float, ...]]:
    """Return the rows in which every column has a number."""
    rows = zip(*([number(value) for value in column] for column in columns), strict=True)
    return [tuple(cell for cell in row if cell is not None) for row in rows if None not in row]


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
