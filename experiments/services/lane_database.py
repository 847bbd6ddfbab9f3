"""A lane's own thread for the ORM: Django's connections belong to threads.

A connection is taken from the process's pool for one function and given back after it: many lanes
share few connections, and none of them keeps one while it waits for something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import DataError, Error, IntegrityError, connection

Value = TypeVar("Value")


class LaneDatabase:
    """One thread for functions that use the ORM."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="lane-database")

    async def run(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """Call a function that uses the ORM, without holding up the calls in flight."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.executor, released_after, function, *arguments)

    def close(self) -> None:
        self.executor.shutdown()


def released_after(function: Callable[..., Value], *arguments: Any) -> Value:
    """Call a function that uses the ORM, and give this thread's connection back."""
    try:
        return function(*arguments)
    finally:
        release_connection()


def release_connection() -> None:
    """Give this thread's connection back to the pool, unless a transaction is under way."""
    if not connection.in_atomic_block:
        connection.close()


def is_refusal(error: Exception) -> bool:
    """Whether the data are at fault, not a database that is away: trying again cannot help."""
    return isinstance(error, DataError | IntegrityError) or not isinstance(error, Error)
