"""Work that can only be stopped from outside, in a process of its own."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from evaluators.errors import OutOfTime

# For starting Python and importing what the work needs, before its own time runs.
_STARTING = 60.0
# Not multiprocessing: that runs a script which lacks its `__main__` guard once more.
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from evaluators.processes import serve; serve(int(sys.argv[1]))"
)

_lock = threading.Lock()
_helper: _Helper | None = None


def within_process(
    work: Callable[..., Any], arguments: tuple[Any, ...], seconds: float, needs: str = __name__
) -> Any:
    """The value of `work`, done in another process; OutOfTime after so many seconds.

    `work` is a function of a module; `needs` is a module whose import is not to count.
    """
    global _helper
    with _lock:
        # A forked process must not talk through its parent's line.
        if _helper is None or _helper.owner != os.getpid():
            _helper = _Helper()
        try:
            _helper.prepare(needs)
            return _helper.ask(work, arguments, seconds)
        except TimeoutError:
            _stop()
            raise OutOfTime(f"It took longer than {seconds:g} seconds.") from None
        except (EOFError, OSError):
            _stop()
            raise ValueError("The comparison ended its process.") from None


def _stop() -> None:
    global _helper
    if _helper is not None and _helper.owner == os.getpid():
        _helper.stop()
    _helper = None


atexit.register(_stop)


class _Helper:
    def __init__(self) -> None:
        self.owner = os.getpid()
        self.ready: set[str] = set()
        ours, theirs = socket.socketpair()
        line = [str(theirs.fileno()), json.dumps(sys.path)]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _CHILD, *line],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self.line = Connection(ours.detach())

    def prepare(self, module: str) -> None:
        if module not in self.ready:
            self.ask(_import, (module,), _STARTING)
            self.ready.add(module)

    def ask(self, work: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
        self.line.send((work, arguments))
        if not self.line.poll(seconds):
            raise TimeoutError
        done, value = self.line.recv()
        if done:
            return value
        raise value

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.line.close()


def _import(module: str) -> None:
    import_module(module)


def serve(descriptor: int) -> None:
    """Do what comes through a socket, one piece after the other, until it is closed."""
    line = Connection(descriptor)
    while True:
        try:
            work, arguments = line.recv()
        except EOFError:
            return
        try:
            answer = (True, work(*arguments))
        except Exception as error:
            answer = (False, error if isinstance(error, ValueError) else ValueError(repr(error)))
        line.send(answer)
