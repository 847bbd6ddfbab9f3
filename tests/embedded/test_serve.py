"""`tiebreak demo` and `serve` as a user starts them: real processes, real folders."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.embedded.serving import Serving
from tests.engine.processes import eventually, free_port

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("serve")]


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return [int(line) for line in listed.stdout.split()]


def is_alive(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_demo_prints_a_verdict_keeps_serving_and_ends_every_child(
    started: list[Serving], folder: Path
) -> None:
    port, data = free_port(), folder / "data"
    demo = Serving("demo", data, port)
    started.append(demo)
    text = demo.wait_for("Press Ctrl-C to stop.")
    assert "A 63 wins, B 35 wins, 15 ties" in text
    assert "assistant-v2 wins" in text
    assert "Wilson" in text
    assert "p = 0.0061" in text
    assert str(data) in text
    address = re.search(r"(http://\S+/comparisons/\S+)", text)
    assert address is not None
    with urllib.request.urlopen(address[1]) as answer:
        assert answer.status == 200
    children = children_of(demo.process.pid)
    assert len(children) >= 4
    assert demo.stop() == 0
    assert [pid for pid in children if is_alive(pid)] == []
    again = Serving("demo", data, port)
    started.append(again)
    second = again.wait_for("Press Ctrl-C to stop.")
    assert address[1] in second


def test_it_recovers_a_data_folder_left_by_kill_9(folder: Path, started: list[Serving]) -> None:
    port, data = free_port(), folder / "data"
    first = Serving("serve", data, port)
    started.append(first)
    first.wait_for("Press Ctrl-C to stop.")
    children = children_of(first.process.pid)
    first.process.kill()
    first.process.wait()
    eventually(lambda: not any(map(is_alive, children)), 15, "no child outlives it")
    second = Serving("serve", data, port)
    started.append(second)
    second.wait_for("Press Ctrl-C to stop.")


def test_a_killed_worker_is_started_again_and_the_pages_stay(
    folder: Path, started: list[Serving]
) -> None:
    serving = Serving("serve", folder / "data", free_port())
    started.append(serving)
    serving.wait_for("Press Ctrl-C to stop.")
    worker = next(
        pid
        for pid in children_of(serving.process.pid)
        if b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    os.kill(worker, signal.SIGKILL)
    serving.wait_for("worker has ended unexpectedly and is started again")
    eventually(
        lambda: sum(
            b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes()
            for pid in children_of(serving.process.pid)
        ),
        20,
        "another worker",
    )
    assert serving.process.poll() is None


@pytest.mark.parametrize(("place", "name"), [(0, "PostgreSQL"), (1, "Valkey")])
def test_a_killed_database_or_broker_is_started_again_and_the_pages_answer(
    folder: Path, started: list[Serving], place: int, name: str
) -> None:
    port = free_port()
    serving = Serving("serve", folder / "data", port)
    started.append(serving)
    serving.wait_for("Press Ctrl-C to stop.")
    os.kill(children_of(serving.process.pid)[place], signal.SIGKILL)
    serving.wait_for(f"{name} has ended unexpectedly and is started again")

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=5) as page:
                return bool(page.status == 200)
        except OSError:
            return False

    eventually(answers, 60, "the pages answer again")
    assert serving.process.poll() is None


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"TIEBREAK_BROKER_URL": "redis://127.0.0.1:1/0"}, "TIEBREAK_BROKER_URL does not answer"),
        ({"TIEBREAK_WEB_THREADS": "many"}, "TIEBREAK_WEB_THREADS"),
    ],
)
def test_a_wrong_setting_is_named(folder: Path, env: dict[str, str], words: str) -> None:
    serving = Serving("serve", folder / "data", free_port(), **env)
    assert serving.process.wait(40) == 1
    assert words in serving.text()
    assert "Traceback" not in serving.text()


def test_a_taken_port_is_named(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        serving = Serving("serve", folder / "data", port)
        assert serving.process.wait(30) == 1
    assert f"Port {port} on 127.0.0.1 cannot be used" in serving.text()
    assert "--port" in serving.text()


def test_a_folder_that_cannot_be_written_is_named(folder: Path) -> None:
    (folder / "file").write_text("not a folder")
    serving = Serving("serve", folder / "file", free_port())
    assert serving.process.wait(30) == 1
    assert "cannot be written" in serving.text()
    assert "TIEBREAK_DATA_DIR" in serving.text()


def test_a_second_start_on_the_same_folder_is_refused(folder: Path, started: list[Serving]) -> None:
    data = folder / "data"
    first = Serving("serve", data, free_port())
    started.append(first)
    first.wait_for("Press Ctrl-C to stop.")
    second = Serving("serve", data, free_port())
    assert second.process.wait(30) == 1
    assert "already running" in second.text()


def test_data_of_another_postgresql_is_refused_with_a_way_out(
    folder: Path, started: list[Serving]
) -> None:
    data = folder / "data"
    first = Serving("serve", data, free_port())
    started.append(first)
    first.wait_for("Press Ctrl-C to stop.")
    first.stop()
    (data / "postgres" / "PG_VERSION").write_text("15\n")
    second = Serving("serve", data, free_port())
    assert second.process.wait(30) == 1
    assert "was written by PostgreSQL 15" in second.text()


def test_it_works_under_a_folder_that_only_its_owner_may_enter(
    folder: Path, started: list[Serving]
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    serving = Serving("serve", closed / "data", free_port())
    started.append(serving)
    serving.wait_for("Press Ctrl-C to stop.")


def test_servers_of_your_own_replace_the_embedded_ones(
    folder: Path, started: list[Serving], django_db_setup: None
) -> None:
    from tests.engine.processes import database_url

    serving = Serving(
        "serve",
        folder / "data",
        free_port(),
        TIEBREAK_DATABASE_URL=database_url(),
        TIEBREAK_BROKER_URL=os.environ["TIEBREAK_BROKER_URL"],
    )
    started.append(serving)
    serving.wait_for("Press Ctrl-C to stop.")
    assert not (folder / "data" / "postgres").exists()
    assert not (folder / "data" / "valkey").exists()
    assert len(children_of(serving.process.pid)) == 2
