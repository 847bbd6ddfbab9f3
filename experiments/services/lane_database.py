"""A lane's own thread for the ORM: Django's connections belong to threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection

Value = TypeVar("Value")


class LaneDatabase:
    """One thread for functions that use the ORM."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="lane-database")

    async def run(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """Call a function that uses the ORM, without holding up the calls in flight."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.executor, function, *arguments)

    def close(self) -> None:
        self.executor.submit(lambda: connection.close()).result()
        self.executor.shutdown()
