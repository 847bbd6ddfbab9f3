"""Running a coroutine from plain code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any


def run_to_end(awaitable: Awaitable[Any]) -> Any:
    """The value of an awaitable, also where an event loop is running (as in a notebook)."""

    async def finish() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(finish())
    outcome: list[Any] = []
    thread = threading.Thread(target=lambda: outcome.append(_outcome(finish)))
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _outcome(finish: Callable[[], Any]) -> Any:
    try:
        return asyncio.run(finish())
    except BaseException as error:
        return error
