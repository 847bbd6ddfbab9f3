"""Child processes that never outlive their parent."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1


class StartupError(Exception):
    """Something outside our control keeps a server from starting; the text says what to do."""


@dataclass
class Child:
    """A running server: what it is called, how it is asked to stop, where its output goes."""

    name: str
    process: subprocess.Popen[bytes]
    stop_signal: signal.Signals = signal.SIGTERM
    log: Path | None = None

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def stop(self, patience: float) -> None:
        """Ask it to stop; after `patience` seconds, end it with its whole group."""
        if self.is_alive():
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                kill_group(self.process.pid)
                self.process.wait(5)

    def last_words(self, lines: int = 12) -> str:
        """The end of its log, for an error message."""
        if self.log is None or not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


@dataclass
class Account:
    """The user that a child runs as; None keeps our own."""

    uid: int | None = None
    gid: int | None = None
    prefix: list[str] = field(default_factory=list)


def start(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    account: Account | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    cwd: Path | None = None,
) -> Child:
    """Start a child in its own group; on Linux the kernel ends it when we die."""
    account = account or Account()
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*account.prefix, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env) if env is not None else None,
            cwd=cwd,
            start_new_session=True,
            user=account.uid,
            group=account.gid,
            extra_groups=[] if account.uid is not None else None,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
    return Child(name, process, stop_signal, log)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until(ready: Callable[[], bool], child: Child, seconds: float) -> None:
    """Poll until ready; fail with the child's last words when it dies or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not child.is_alive():
            raise StartupError(f"{child.name} ended while starting:\n{child.last_words()}")
        if time.monotonic() > deadline:
            raise StartupError(
                f"{child.name} was not ready after {seconds:.0f} s:\n{child.last_words()}"
            )
        time.sleep(0.02)


def process_name(pid: int) -> str:
    """The command name of a live process; empty when there is none (a zombie counts as none)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return "" if rest.split()[0] == "Z" else name
