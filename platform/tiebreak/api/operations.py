"""How an endpoint is described."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Operation:
    """One method of one path; `query` names parameters, `body` is an example."""

    summary: str
    query: tuple[str, ...] = ()
    body: Any = None
    status: int = 200
    multipart: bool = False
    open: bool = False
    file: bool = False
    also: tuple[int, ...] = ()


@dataclass(frozen=True)
class Group:
    """A chapter of the reference."""

    title: str
    operations: dict[str, Operation] = field(default_factory=dict)
