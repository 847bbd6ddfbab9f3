"""A comparison by a plain function, from launch to verdict: rows a second, and where the CPU goes.

    .venv/bin/python -m benchmarks.functions [--examples 100000] [--profile]

One worker, one lane. CPU seconds are counted for the worker and for PostgreSQL; the evaluator's
own share is what it takes by itself for the same rows. With --profile the turns run in this
process under cProfile instead.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tests.services  # noqa: F401  (starts PostgreSQL and Valkey, before Django's settings)

if TYPE_CHECKING:
    from experiments.models import Comparison, Dataset, Experiment, Job

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tiebreak.settings")
KIND = "nearer_by_string_distance"
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()

    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    comparison = prepared(options.examples)
    if options.profile:
        profile(comparison)
    else:
        measure(comparison, options.examples)


def prepared(count: int) -> Comparison:
    from tests.factories import make_comparison, make_dataset, make_person

    _, workspace = make_person("bench", "Bench")
    dataset = make_dataset(workspace, [f"The answer to question {n} is {n}." for n in range(count)])
    a = with_runs(dataset, lambda n: f"The answer to question {n} is {n}!")
    b = with_runs(dataset, lambda n: f"I think that the answer is {n * 7 % 1000}, or near it.")
    return make_comparison(a, b, kind=KIND)


def with_runs(dataset: Dataset, output: Any) -> Experiment:
    from django.utils import timezone

    from experiments.ids import uuid7
    from experiments.models import Experiment, Run, RunPayload
    from experiments.rawjson import dumps
    from tests.factories import example_ids

    moment = timezone.now()
    experiment = Experiment.objects.create(
        workspace=dataset.workspace, dataset=dataset, name=f"system {moment.isoformat()}"
    )
    runs = [
        Run(
            workspace=dataset.workspace,
            uid=(uid := uuid7()),
            experiment=experiment,
            trace_uid=uid,
            name="system",
            start_time=moment,
            status=Run.Status.SUCCESS,
            example_uid=example,
        )
        for example in example_ids(dataset)
    ]
    stored = Run.objects.bulk_create(runs, batch_size=5000)
    RunPayload.objects.bulk_create(
        (
            RunPayload(run=run, inputs="{}", outputs=dumps({"answer": output(n)}), search="")
            for n, run in enumerate(stored)
        ),
        batch_size=5000,
    )
    return experiment


def measure(comparison: Comparison, count: int) -> None:
    from experiments.models import Job
    from experiments.queries.outcome_counts import outcome_counts
    from experiments.queries.verdict_card import verdict_of
    from experiments.tasks import start_job
    from tests.engine.processes import Worker, eventually

    job = Job.objects.get(pk=comparison.job_id or 0)
    with Worker() as worker:
        eventually(lambda: has_worker(), 60, "the worker is up")
        before = cpu_of(worker.process.pid), cpu_of_postgres()
        started = time.monotonic()
        start_job(job)
        eventually(lambda: not Job.objects.get(pk=job.pk).is_open, 1800, "it ends")
        evaluator = comparison.evaluators.get()
        verdict = verdict_of(comparison, evaluator, outcome_counts(evaluator))
        spent = time.monotonic() - started
        engine = cpu_of(worker.process.pid) - before[0]
        database = cpu_of_postgres() - before[1]
    own = cpu_of_evaluator(comparison)
    rest = max(0.0, engine - own)
    print(verdict.sentence)
    print(f"{count:,} rows in {spent:.1f} s: {count / spent:,.0f} rows/s")
    print(
        f"CPU: worker {engine:.1f} s (evaluator by itself {own:.1f} s), database {database:.1f} s"
    )
    print(f"CPU outside database and evaluator: {rest / (engine + database):.0%}, {rest:.1f} s")


def has_worker() -> bool:
    from experiments.queries.progress import is_worker_alive

    return is_worker_alive()


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, with the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def cpu_of_postgres() -> float:
    """CPU seconds of the PostgreSQL that this benchmark has started, ended sessions included."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    fields = Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()
    postmaster = int(fields[1])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return cpu_of(postmaster) + sum(map(cpu_of, map(int, children)))


def cpu_of_evaluator(comparison: Comparison) -> float:
    """CPU seconds of the evaluator alone, for every row of the comparison."""
    from experiments.models import Judgment
    from experiments.services.lane_tools import Tool
    from experiments.services.lanes import Claimed
    from experiments.services.subjects import pair_work

    row = comparison.evaluators.select_related("evaluator__provider").get().evaluator
    assert row is not None
    tool, spent = Tool(row), 0.0
    ids = list(Judgment.objects.filter(comparison=comparison).values_list("pk", flat=True))
    for start in range(0, len(ids), 2000):
        items = [Claimed(pk, row.pk, pk, 0, 0) for pk in ids[start : start + 2000]]
        works = pair_work(comparison, tool.kind, tool.evaluator, items)
        rows = [texts for work in works for texts in work.questions]
        began = time.process_time()
        tool.evaluator.evaluate_batch(rows)
        spent += time.process_time() - began
    return spent


def profile(comparison: Comparison) -> None:
    """The same turns in this process, with the functions that take the most time."""
    from experiments.models import Job
    from experiments.services import jobs

    job = Job.objects.get(pk=comparison.job_id or 0)
    started = time.monotonic()
    (lane,) = jobs.plan(job)
    print(f"planned in {time.monotonic() - started:.1f} s")
    recorders: list[cProfile.Profile] = []

    def record(function: Any, *arguments: Any) -> Any:
        recorder = cProfile.Profile()
        recorders.append(recorder)
        return recorder.runcall(function, *arguments)

    run_turns(job, lane.pk, lane.token, record)
    figures = pstats.Stats(recorders[0])
    for recorder in recorders[1:]:
        figures.add(recorder)
    figures.sort_stats("tottime").print_stats(45)


def run_turns(job: Job, lane_id: int, token: Any, record: Any) -> None:
    from datetime import timedelta

    from experiments.services import lane_database, lanes
    from experiments.services.lane_turn import Turn

    submit = lane_database.ThreadPoolExecutor.submit

    def recorded(self: Any, function: Any, *arguments: Any, **named: Any) -> Any:
        return submit(self, record, function, *arguments, **named)

    lane_database.ThreadPoolExecutor.submit = recorded  # type: ignore[method-assign]
    while token is not None:
        lane = lanes.take_lane(lane_id, token, owner="bench", lease=timedelta(seconds=60))
        assert lane is not None
        token = Turn(lane, threading.Event()).run()


if __name__ == "__main__":
    main()
