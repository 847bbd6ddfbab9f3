"""A real PostgreSQL and a real broker for the tests, on sockets in a short temporary folder.

Loaded by `-p tests.services`, before Django's settings are read. Workers of pytest-xdist share
both servers: each has a database of its own, and a broker database of its own.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

STARTED = "TIEBREAK_TEST_SERVICES"


def start() -> None:
    from tiebreak.embedded.postgres import database_url, start_postgres
    from tiebreak.embedded.valkey import broker_url, start_valkey

    folder = Path(tempfile.mkdtemp(prefix="tbt-"))
    folder.chmod(0o711)
    children = [
        start_postgres(folder / "pg", folder / "s", folder / "pg.log", unsafe=True),
        start_valkey(folder / "vk", folder / "v", folder / "vk.log"),
    ]
    os.environ["TIEBREAK_DATABASE_URL"] = database_url(folder / "s")
    os.environ[STARTED] = broker_url(folder / "v")
    os.environ["TIEBREAK_SECRET_KEY"] = "only for tests"
    os.environ["TIEBREAK_DATA_DIR"] = str(folder / "data")

    def stop() -> None:
        for child in reversed(children):
            child.stop(5)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)


if STARTED not in os.environ:
    start()
number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
os.environ["TIEBREAK_BROKER_URL"] = f"{os.environ[STARTED]}?virtual_host={number}"
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
