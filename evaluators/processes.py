"""Work that can only be stopped from outside, in a process of its own."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from evaluators.errors import OutOfTime

# The first piece of work pays for starting Python and importing what it needs.
_STARTING = 30.0

_lock = threading.Lock()
_pool: ProcessPoolExecutor | None = None


def within_process(work: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
    """The value of `work`, done in another process; OutOfTime after so many seconds."""
    global _pool
    with _lock:
        limit = seconds
        if _pool is None:
            context = multiprocessing.get_context("spawn")
            _pool = ProcessPoolExecutor(max_workers=1, mp_context=context)
            limit += _STARTING
        try:
            return _pool.submit(work, *arguments).result(timeout=limit)
        except TimeoutError:
            _stop(_pool)
            _pool = None
            raise OutOfTime(f"It took longer than {seconds:g} seconds.") from None
        except BrokenProcessPool:
            _pool = None
            raise ValueError("The comparison ended its process.") from None


def _stop(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.kill()
    pool.shutdown(wait=False, cancel_futures=True)
