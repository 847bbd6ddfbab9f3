"""The link is the view: reading the state of a page from its address, and writing it back."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from django.http import QueryDict

Choice = str | int | None | Sequence[str]


def with_changes(
    query: QueryDict, changes: Mapping[str, Choice], *, drop: Iterable[str] = ()
) -> str:
    """The query string with some keys changed; None takes a key away. Begins with `?`."""
    gone = {*changes, *drop}
    kept = [(key, value) for key, values in query.lists() for value in values if key not in gone]
    added = [(key, str(one)) for key, value in changes.items() for one in _values(value)]
    return "?" + urlencode([*kept, *added])


def _values(value: Choice) -> Sequence[str | int]:
    if value is None or value == "":
        return ()
    return (value,) if isinstance(value, str | int) else value


def one_of(query: QueryDict, key: str, allowed: Iterable[str], default: str = "") -> str:
    """The value of a key if it is allowed, else the default."""
    value = query.get(key, default)
    return value if value in set(allowed) else default


def number(query: QueryDict, key: str, allowed: Iterable[int], default: int) -> int:
    """The same for whole numbers; one above the largest is lowered, not obeyed."""
    text = query.get(key, "")
    if not text.isdigit() or len(text) > 9:
        return default
    fitting = [choice for choice in allowed if choice >= int(text)]
    return min(fitting) if fitting else max(allowed)
