"""How quickly files go in and datasets come out, beside what PostgreSQL itself can do.

    .venv/bin/python -m benchmarks.uploads [--rows 1000000] [--memory 300]

Makes a CSV (about 500 bytes a row) under a wrong name, and stores it in a process whose memory is
limited (RLIMIT_DATA). In the same run and the same database the same rows go in by a plain COPY
into a bare table of texts, and by COPY of what was stored into copies of the same tables with their
indexes; the first 100,000 by pandas' `to_sql` if pandas and SQLAlchemy are installed. Then all is
exported as JSON Lines and CSV.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.ingest import SYLLABLES
from tests.engine.processes import ROOT

SMALL = 100_000
STORED = ("example", "examplerevision", "examplepayload")


def make_file(path: Path, rows: int) -> None:
    chance = random.Random(7)
    pools = [[_prose(chance, words) for _ in range(20_000)] for words in (38, 32)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["n", "question", "answer", "topic"])
        for n in range(rows):
            question = f'Question {n}: {chance.choice(pools[0])}?\nplease, "really"'
            answer = f"{chance.choice(pools[1])} {chance.random()}"
            writer.writerow([n, question, answer, f"t{n % 50}"])


def _prose(chance: random.Random, words: int) -> str:
    return " ".join(
        "".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(words)
    )


def setup() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tiebreak.settings")
    django.setup()


def queue(path: Path) -> int:
    """What the browser's three steps come to."""
    from experiments.services.uploading.columns import guess_columns
    from experiments.services.uploading.files import Receiver
    from experiments.services.uploading.previewing import survey_of
    from experiments.services.uploads import create_upload, queue_upload, set_mapping
    from tests.factories import make_person

    receiver = Receiver()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            receiver.write(block)
    workspace = make_person("bench", "Bench")[1]
    upload = create_upload(workspace=workspace, file=receiver.finish(), filename=path.name)
    set_mapping(upload, guess_columns(survey_of(upload)))
    return queue_upload(upload, policy="stop").pk


def store(upload_id: int, megabytes: int) -> None:
    """In the limited process: store, and say how long it took and how large it grew."""
    setup()
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))
    from experiments.models import Upload
    from experiments.services.uploading.storing import store_upload

    began, own = time.monotonic(), time.process_time()
    store_upload(upload_id, threading.Event())
    seconds, own = time.monotonic() - began, time.process_time() - own
    upload = Upload.objects.get(pk=upload_id)
    if upload.state != Upload.State.COMPLETE:
        raise SystemExit(f"{upload.state}: {upload.error}")
    print(seconds, own, peak_megabytes())


def peak_megabytes() -> float:
    """The most memory that this process held; `ru_maxrss` would count its parent's too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def timed(work: Callable[[], Any]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def plain_copy(path: Path) -> None:
    """The same file into a bare table of texts."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bare (n text, question text, answer text, topic text)")
        statement = "COPY bare FROM STDIN WITH (FORMAT csv, HEADER)"
        with cursor.copy(statement) as copy, path.open("rb") as file:
            while block := file.read(1 << 18):
                copy.write(block)
        cursor.execute("DROP TABLE bare")


def same_copy(folder: Path) -> float:
    """What was stored, by COPY into copies of the three tables with all their indexes."""
    from django.db import connection

    seconds = 0.0
    with connection.cursor() as cursor:
        for name in STORED:
            table, file = f"experiments_{name}", folder / name
            cursor.execute(f"CREATE TABLE copy_{name} (LIKE {table} INCLUDING ALL)")
            with file.open("wb") as out, cursor.copy(f"COPY {table} TO STDOUT") as copy:
                for block in copy:
                    out.write(block)
            seconds += timed(lambda file=file, name=name: _copy_in(cursor, file, name))  # type: ignore[misc]
            cursor.execute(f"DROP TABLE copy_{name}")
            file.unlink()
    return seconds


def _copy_in(cursor: Any, file: Path, name: str) -> None:
    with cursor.copy(f"COPY copy_{name} FROM STDIN") as copy, file.open("rb") as source:
        while block := source.read(1 << 18):
            copy.write(block)


def pandas_copy(path: Path, url: str) -> float | None:
    """The first 100,000 rows as a notebook would do it."""
    try:
        import pandas
        import sqlalchemy
    except ImportError:
        return None
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))

    def work() -> None:
        frame = pandas.read_csv(path, nrows=SMALL, dtype=str, keep_default_na=False)
        frame.to_sql("pandas_rows", engine, if_exists="replace", index=False)

    return timed(work)


def export(ending: str) -> None:
    """In a process of its own: write a dataset away, and say how long it took."""
    setup()
    from experiments.exports.datasets import dataset_export
    from experiments.exports.writing import WRITERS
    from experiments.models import Dataset

    dataset = Dataset.objects.get()
    seconds = timed(lambda: sum(map(len, WRITERS[ending](dataset_export(dataset)))))
    print(seconds, peak_megabytes())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", type=int, default=300)
    parser.add_argument("--store", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--export", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.export:
        export(options.export)
        return
    if options.store:
        store(options.store, options.memory)
        return
    from tiebreak.embedded.postgres import database_url, start_postgres

    folder = Path(tempfile.mkdtemp(prefix="tbu-"))
    folder.chmod(0o711)
    os.environ |= {
        "TIEBREAK_DATABASE_URL": database_url(folder / "s"),
        "TIEBREAK_SECRET_KEY": "benchmark",
        "TIEBREAK_DATA_DIR": str(folder / "data"),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}:{os.environ.get('PYTHONPATH', '')}",
    }
    postgres = start_postgres(folder / "pg", folder / "s", folder / "pg.log")
    try:
        measure(folder, options.rows, options.memory)
    finally:
        from django.db import connections

        connections.close_all()
        postgres.stop(30)
        shutil.rmtree(folder, ignore_errors=True)


def asked(*words: str) -> list[str]:
    """What this program says in another process."""
    command = [sys.executable, "-m", "benchmarks.uploads", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def measure(folder: Path, rows: int, memory: int) -> None:
    setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    path = folder / "rows.png"
    make_file(path, rows)
    told = asked("--memory", str(memory), "--store", str(queue(path)))
    seconds, own, peak = map(float, told[-3:])
    bare, same = timed(lambda: plain_copy(path)), same_copy(folder)
    print(f"{rows:,} rows, {path.stat().st_size / 1e6:.0f} MB, called {path.name}")
    print(f"stored in {seconds:.1f} s: {rows / seconds:,.0f} rows/s; own CPU {own:.1f} s,")
    print(f"  {peak:.0f} MB at most, RLIMIT_DATA {memory} MB")
    print(f"COPY of the same stored rows: {same:.1f} s, share {same / seconds:.2f}")
    print(f"COPY into a bare table of texts: {bare:.1f} s, share {bare / seconds:.2f}")
    frames = pandas_copy(path, os.environ["TIEBREAK_DATABASE_URL"])
    if frames is None:
        print("pandas and SQLAlchemy are not installed")
    else:
        small = min(rows, SMALL)
        print(f"pandas to_sql: {small / frames:,.0f} rows/s of bare texts, ", end="")
        print(f"ours {rows / seconds / small * frames:.2f} times that")
    for ending in ("jsonl", "csv"):
        taken, peak = map(float, asked("--export", ending)[-2:])
        print(f"exported as {ending}: {rows / taken:,.0f} rows/s, {peak:.0f} MB at most")
    print(f"processors {os.cpu_count()}, load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
