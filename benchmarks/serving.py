"""A server as shipped (`tiebreak serve`, embedded database, data kept safe) to measure against."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.engine.processes import ROOT, eventually, free_port

PASSWORD = "benchmark-only"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Server:
    """A running server, a key of its workspace, and the processor time of its parts."""

    process: subprocess.Popen[bytes]
    port: int
    key: str = ""

    def seconds_used(self) -> dict[str, float]:
        """Processor seconds since the start: `web` and `postgres`, children included."""
        used = {"web": 0.0, "postgres": 0.0}
        for pid, command in _family(self.process.pid):
            if "granian" in command:
                used["web"] += _seconds(pid)
            elif command.startswith("postgres:") or "/postgres" in command:
                used["postgres"] += _seconds(pid)
        return used

    def memory(self) -> dict[str, int]:
        """Megabytes of each part, what processes share counted once (PSS)."""
        used = {"web": 0, "worker": 0, "postgres": 0, "broker": 0, "supervisor": 0}
        for pid, command in _family(self.process.pid):
            used[_part_of(command)] += _share(pid)
        return {part: kilobytes // 1024 for part, kilobytes in used.items()}


@contextmanager
def serving(web_processes: int = 2) -> Iterator[Server]:
    """Start everything in a new folder; Django in this process sees the same database."""
    folder = Path(tempfile.mkdtemp(prefix="tbb-"))
    folder.chmod(0o711)
    os.environ |= {
        "TIEBREAK_DATA_DIR": str(folder),
        "TIEBREAK_WEB_PROCESSES": str(web_processes),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
    }
    server = Server(process=None, port=free_port())  # type: ignore[arg-type]
    command = [sys.executable, "-m", "tiebreak.cli", "serve", "--port", str(server.port)]
    with (folder / "serve.log").open("wb") as log:
        server.process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        eventually(lambda: _is_ready(server, folder / "serve.log"), 60, "it is ready")
        server.key = _key()
        yield server
    finally:
        server.process.terminate()
        server.process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def signed_in(server: Server) -> tuple[requests.Session, Any]:
    """A browser's session of the server's user, and the user's workspace."""
    from tiebreak.accounts.models import User, Workspace

    user = User.objects.get(username="bench")
    user.set_password(PASSWORD)
    user.save()
    session = requests.Session()
    first = session.get(f"http://127.0.0.1:{server.port}/", timeout=60)
    (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', first.text))
    answer = session.post(
        first.url,
        data={"csrfmiddlewaretoken": token, "username": "bench", "password": PASSWORD},
        headers={"Referer": first.url},
        timeout=60,
    )
    answer.raise_for_status()
    return session, Workspace.objects.get(memberships__user=user)


def _is_ready(server: Server, log: Path) -> bool:
    if server.process.poll() is not None:
        raise SystemExit(log.read_text())
    return b"is ready" in log.read_bytes()


def _key() -> str:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tiebreak.settings")
    django.setup()
    from tests.factories import make_key, make_person

    return make_key(make_person("bench", "Bench")[1])


def _family(root: int) -> Iterator[tuple[int, str]]:
    """A process and all below it, with their command lines."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        yield pid, command.decode(errors="replace")


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _seconds(pid: int) -> float:
    """Its own time and that of children that have ended."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / TICKS if fields else 0.0


def _part_of(command: str) -> str:
    if command.startswith("postgres:") or "/postgres" in command:
        return "postgres"
    for word, part in (("granian", "web"), ("celery", "worker"), ("valkey", "broker")):
        if word in command:
            return part
    return "supervisor"


def _share(pid: int) -> int:
    """Kilobytes in memory, what is shared with others divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
