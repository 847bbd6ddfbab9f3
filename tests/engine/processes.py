"""Real processes for tests: a stub judge and Celery workers on the test database."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from django.db import connection

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(check: Callable[[], Any], seconds: float, what: str) -> Any:
    """Wait until `check` gives something true, and give it back."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


@dataclass
class StubJudge:
    """The judge of tests/stub_judge.py."""

    delay: float = 0.0
    script: list[dict[str, Any]] = field(default_factory=list)
    port: int = field(default_factory=free_port)

    def __enter__(self) -> StubJudge:
        command = [sys.executable, str(ROOT / "tests" / "stub_judge.py"), str(self.port)]
        self.process = subprocess.Popen([*command, str(self.delay), json.dumps(self.script)])
        eventually(self._answers, 10, "the stub judge answers")
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        try:
            return bool(self.stats() is not None)
        except OSError:
            return False

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, int]:
        return dict(self._get("stats"))

    def times(self) -> list[float]:
        """When each call began, in seconds."""
        return list(self._get("times"))

    def _get(self, what: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{what}", timeout=5) as answer:
            return json.load(answer)


def database_url() -> str:
    """The address of the very database this test uses."""
    settings = connection.settings_dict
    base = urlsplit(os.environ["TIEBREAK_DATABASE_URL"])
    return base._replace(path=f"/{quote(str(settings['NAME']))}").geturl()


@dataclass
class Worker:
    """A Celery worker in a process of its own."""

    threads: int = 4
    name: str = "w"
    log: Path | None = None
    keep_python_path: bool = False

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def start(self) -> None:
        env = {
            **os.environ,
            "TIEBREAK_DATABASE_URL": database_url(),
            "TIEBREAK_PRIVATE_MODEL_HOSTS": "127.0.0.1",
        }
        if not self.keep_python_path:
            env["PYTHONPATH"] = f"{ROOT}:{ROOT / 'platform'}"
        command = [sys.executable, "-m", "celery", "-A", "tiebreak", "worker", "-P", "threads"]
        command += ["-c", str(self.threads), "--loglevel", "WARNING", "-n", f"{self.name}@test"]
        command += ["--without-gossip", "--without-mingle"]
        with (self.log or Path(os.devnull)).open("ab") as output:
            self.process = subprocess.Popen(
                command, env=env, stdout=output, stderr=output, start_new_session=True
            )

    def kill(self) -> None:
        """kill -9, with all its threads."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self, patience: float = 20) -> None:
        self.process.terminate()
        self.process.wait(patience)
