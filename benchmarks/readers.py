"""Many readers on mixed pages: alone, then while a comparison is judged and a script writes.

    python -m benchmarks.readers [--readers 16] [--seconds 30] [--sizes 1000 100000]

Prints requests a second, how long they took, what went wrong, and the memory of all parts: idle,
and after the last page.
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import requests

from benchmarks.clients import Talker, Tally
from benchmarks.ingest import percentile
from benchmarks.pages import paths_of
from benchmarks.serving import Server, serving, signed_in


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--readers", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000])
    options = parser.parse_args()
    with serving() as server:
        session, workspace = signed_in(server)
        print(f"idle: {_memory(server)}")
        for size in options.sizes:
            paths = paths_of(workspace, size)
            for path in paths:
                session.get(f"http://127.0.0.1:{server.port}{path}", timeout=600)
            _told("reading", _read(server, session, paths, options))
            with _judging(workspace, size), _writing(server):
                _told("reading while judged and written", _read(server, session, paths, options))
        print(f"afterwards: {_memory(server)}")


def _read(
    server: Server, session: requests.Session, paths: Sequence[str], options: argparse.Namespace
) -> Tally:
    """Every reader goes through the pages, each from another one on."""
    tally, end = Tally(), time.monotonic() + options.seconds

    def read(number: int) -> None:
        own = requests.Session()
        own.cookies.update(session.cookies)
        for path in itertools.islice(itertools.cycle(paths), number, None):
            if time.monotonic() > end:
                return
            began = time.monotonic()
            answer = own.get(f"http://127.0.0.1:{server.port}{path}", timeout=60)
            with tally.lock:
                tally.seconds["page"].append(time.monotonic() - began)
                if answer.status_code != 200:
                    tally.problems.append(f"{path}: {answer.status_code}")

    _all_at_once(read, options.readers)
    tally.seconds["whole"].append(options.seconds)
    return tally


def _all_at_once(work: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def _judging(workspace: Any, size: int) -> Iterator[None]:
    """A comparison of the seeded experiments by a plain function, under way."""
    from experiments.models import Comparison
    from experiments.services.comparisons import create_comparison
    from experiments.services.evaluators import configure_evaluator
    from experiments.tasks import start_job, steer

    seeded = Comparison.objects.filter(workspace=workspace).latest("pk")
    comparison = create_comparison(
        dataset=seeded.dataset,
        experiments=[side.experiment for side in seeded.sides.all() if side.experiment],
        evaluators=[configure_evaluator(workspace=workspace, kind="pairwise_string_distance")],
        name=f"while reading {size}",
    )
    assert comparison.job is not None
    start_job(comparison.job)
    try:
        yield
    finally:
        comparison.job.refresh_from_db()
        if comparison.job.is_open:
            steer(comparison.job, "cancel")


@contextmanager
def _writing(server: Server) -> Iterator[None]:
    """One script that writes runs and reads them back."""
    ending, tally = threading.Event(), Tally()

    def write() -> None:
        talker = Talker(server, 0, tally)
        for turn in itertools.count():
            if ending.is_set():
                return
            talker.turn(turn)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        print(f"  written meanwhile: {tally.runs} runs, problems: {tally.problems[:3]}")


def _told(what: str, tally: Tally) -> None:
    seconds, whole = tally.seconds["page"], tally.seconds["whole"][0]
    middle, late = (1000 * percentile(seconds, p) for p in (50, 95))
    print(
        f"{what}: {len(seconds) / whole:.0f} requests/s, p50 {middle:.0f} ms, p95 {late:.0f} ms, "
        f"problems: {tally.problems[:3]}",
        flush=True,
    )


def _memory(server: Server) -> str:
    parts = server.memory()
    told = ", ".join(f"{part} {megabytes}" for part, megabytes in parts.items())
    return f"{sum(parts.values())} MB ({told})"


if __name__ == "__main__":
    main()
