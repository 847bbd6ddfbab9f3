"""Run by itself: PostgreSQL is stopped and started again, three times, while pairs are judged."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.engine.processes import StubJudge
    from tiebreak.embedded.processes import Child

COUNT, CONCURRENCY, RESTARTS = 400, 8, 3


def main() -> None:
    from tiebreak.embedded.postgres import database_url, start_postgres
    from tiebreak.embedded.valkey import broker_url, start_valkey

    # A socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="tbr-"))
    folder.chmod(0o711)
    place = (folder / "pg", folder / "s", folder / "pg.log")
    postgres = start_postgres(*place, unsafe=False)
    valkey = start_valkey(folder / "vk", folder / "v", folder / "vk.log")
    os.environ |= {
        "TIEBREAK_DATABASE_URL": database_url(folder / "s"),
        "TIEBREAK_BROKER_URL": broker_url(folder / "v"),
        "TIEBREAK_SECRET_KEY": "only for tests",
        "TIEBREAK_DATA_DIR": str(folder / "data"),
        "DJANGO_SETTINGS_MODULE": "tiebreak.settings",
    }
    try:
        judge_through(lambda: restarted(postgres, place), Path(sys.argv[1]))
    finally:
        valkey.stop(5)


def restarted(postgres: Child, place: tuple[Path, Path, Path]) -> Child:
    """Stop it as an operator would, leave it away for a moment, start it again."""
    from tiebreak.embedded.postgres import start_postgres

    postgres.stop(10)
    time.sleep(2)
    return start_postgres(*place, unsafe=False)


def judge_through(restart: Callable[[], object], logs: Path) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from django.db import Error, connection

    from experiments.models import Game, Job, JudgeReply, Judgment
    from tests.engine.launching import counts_of, job_of, launched
    from tests.engine.processes import StubJudge, Worker, eventually
    from tests.factories import make_person, make_provider

    def state() -> str:
        try:
            return job_of(comparison).state
        except Error:
            connection.close()
            return ""

    _, workspace = make_person("restart", "Restart")
    with StubJudge(delay=0.3) as stub, Worker(log=logs / "worker.log"):
        provider = make_provider(workspace, stub.base_url)
        comparison = launched(workspace, provider, COUNT, max_concurrency=CONCURRENCY)
        connection.close()
        for turn in range(1, RESTARTS + 1):
            wanted = turn * COUNT // (RESTARTS + 2)
            eventually(partial(answered_more, stub, wanted), 60, "answers")
            eventually(lambda: stub.stats()["in_flight"] > 0, 60, "calls in flight")
            in_flight = stub.stats()["in_flight"]
            restart()
            print(f"restart {turn}: {in_flight} calls in flight")
        eventually(lambda: state() == Job.State.COMPLETE, 120, "it is complete")
        stats = stub.stats()
    counts = counts_of(comparison)
    print(
        f"judged {counts.a} of {COUNT}, {stats['answered']} answers, {stats['max_in_flight']} most"
    )
    assert (counts.a, counts.failed, counts.pending) == (COUNT, 0, 0)
    assert Judgment.objects.count() == Game.objects.count() == JudgeReply.objects.count() == COUNT
    assert COUNT <= stats["answered"] <= COUNT + RESTARTS * CONCURRENCY
    assert stats["max_in_flight"] <= CONCURRENCY


def answered_more(stub: StubJudge, wanted: int) -> bool:
    return stub.stats().get("answered", 0) > wanted


if __name__ == "__main__":
    main()
