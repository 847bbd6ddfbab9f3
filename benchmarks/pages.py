"""How long pages take as the rows grow: each page at every size, beside an empty page, in one run.

    python -m benchmarks.pages 1000 100000            # two sizes, minutes
    python -m benchmarks.pages 1000 100000 1000000    # with the million, half an hour

Prints milliseconds (median of nine, over HTTP, one reader) and the ratio to the smallest size.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import requests

from benchmarks.serving import serving, signed_in

TIMES = 9


@dataclass(frozen=True)
class Question:
    """A page to be timed; what stands in braces is filled in for each size."""

    name: str
    path: str


QUESTIONS = (
    Question("comparison, first page", "/comparisons/{comparison}"),
    Question("comparison, last page", "/comparisons/{comparison}?after={last}"),
    Question("A better (thumb)", "/comparisons/{comparison}?a=up"),
    Question("ties", "/comparisons/{comparison}?out=tie"),
    Question("failed", "/comparisons/{comparison}?out=fail"),
    Question("order changed it", "/comparisons/{comparison}?out=flip"),
    Question("one split", "/comparisons/{comparison}?split=hard"),
    Question("search, rare word", "/comparisons/{comparison}?q=xylophone"),
    Question("search, common word", "/comparisons/{comparison}?q=water"),
    Question("by metadata", "/comparisons/{comparison}?meta.topic=topic+3"),
    Question("report with plots", "/comparisons/{comparison}/report"),
    Question("examples of a dataset", "/datasets/{dataset}"),
    Question("runs of an experiment", "/experiments/{experiment}"),
    Question("pairwise experiments", "/datasets/{dataset}/pairwise"),
    Question("leaderboard", "/leaderboards/{dataset}"),
)


def main(sizes: Sequence[int]) -> None:
    with serving() as server:
        session, workspace = signed_in(server)
        address = f"http://127.0.0.1:{server.port}"
        empty = _time(session, f"{address}/leaderboards")
        print(f"an empty page: {empty:.0f} ms")
        columns = [_column(session, address, workspace, size) for size in sizes]
        print(f"{'page':28}" + "".join(f"{size:>12,}" for size in sizes) + "   ratio")
        for place, question in enumerate(QUESTIONS):
            times = [column[place] for column in columns]
            ratio = times[-1] / times[0]
            print(
                f"{question.name:28}" + "".join(f"{ms:9.0f} ms" for ms in times) + f"{ratio:8.2f}"
            )


def _column(session: requests.Session, address: str, workspace: Any, size: int) -> list[float]:
    """Make a workspace's share of this size, and time every page of it."""
    return [_time(session, address + path) for path in paths_of(workspace, size)]


def paths_of(workspace: Any, size: int) -> list[str]:
    """Where the questions of a size lead, once its rows are made up."""
    from experiments.models import Judgment
    from experiments.services.reports import add_up
    from experiments.services.seeding import seed

    started = time.monotonic()
    made = seed(workspace, judgments=size)
    evaluator = made.comparison.evaluators.select_related("comparison").get()
    add_up(evaluator)
    print(f"{size:,} judgments made up in {time.monotonic() - started:.0f} s", flush=True)
    place = Judgment.objects.filter(evaluator=evaluator, position=max(1, size - 50)).get()
    names = {
        "comparison": made.comparison.uid,
        "experiment": made.experiments[0].uid,
        "dataset": made.dataset.uid,
        "last": f"{place.position}-{place.pk}",
    }
    return [one.path.format(**names) for one in QUESTIONS]


def _time(session: requests.Session, address: str) -> float:
    """Milliseconds of a page, the median of some; the first, which warms up, is left out."""
    session.get(address, timeout=600).raise_for_status()
    spent = []
    for _ in range(TIMES):
        started = time.perf_counter()
        session.get(address, timeout=600).raise_for_status()
        spent.append(1000 * (time.perf_counter() - started))
    return statistics.median(spent)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [1_000, 100_000])
