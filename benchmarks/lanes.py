"""Judging through lanes against a bare async client: the same calls, in one run.

    .venv/bin/python -m benchmarks.lanes [--judgments 2000] [--concurrency 64] [--delay 1]

Prints seconds from the first call to the last verdict, their ratio to the bare client's, and the
worker's CPU, which other load on the machine leaves alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time

import tests.services  # noqa: F401  (starts PostgreSQL and Valkey, before Django's settings)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tiebreak.settings")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--judgments", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--delay", type=float, default=1.0)
    options = parser.parse_args()

    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from benchmarks.functions import cpu_of
    from tests.engine.processes import StubJudge, Worker

    with StubJudge(delay=options.delay) as stub, Worker() as worker:
        bare = asyncio.run(bare_client(stub.base_url, options.judgments, options.concurrency))
        print(f"bare async client  {bare:6.2f} s")
        before, cpu = stub.stats(), cpu_of(worker.process.pid)
        ours = lanes(stub.base_url, options.judgments, options.concurrency)
        after, cpu = stub.stats(), cpu_of(worker.process.pid) - cpu
    print(f"lanes              {ours:6.2f} s")
    print(f"ratio              {ours / bare:6.3f}")
    print(f"worker's CPU       {1000 * cpu / options.judgments:6.2f} ms a judgment")
    print(f"calls              {after['calls'] - before['calls']}")
    print(f"most in flight     {after['max_in_flight']}")


async def bare_client(base_url: str, calls: int, concurrency: int) -> float:
    """The same calls with nothing around them."""
    import httpx2

    limits = httpx2.Limits(max_connections=None)
    gate = asyncio.Semaphore(concurrency)
    body = {"model": "stub", "messages": [{"role": "user", "content": "x" * 1500}]}

    async with httpx2.AsyncClient(timeout=60, limits=limits) as client:

        async def one(number: int) -> None:
            async with gate:
                answer = await client.post(
                    f"{base_url}/chat/completions", json={**body, "user": str(number)}
                )
                answer.raise_for_status()

        started = time.monotonic()
        await asyncio.gather(*(one(number) for number in range(calls)))
        return time.monotonic() - started


def lanes(base_url: str, judgments: int, concurrency: int) -> float:
    """Launch to complete; the time is taken from the first reply's call to the last verdict."""
    from django.db.models import Max

    from experiments.models import Job, JudgeReply, Judgment
    from experiments.tasks import start_job
    from tests.engine.processes import eventually
    from tests.factories import (
        make_comparison,
        make_dataset,
        make_experiment,
        make_person,
        make_provider,
    )

    _, workspace = make_person("bench", "Bench")
    dataset = make_dataset(workspace, [f"reference {n}" for n in range(judgments)])
    a = make_experiment(dataset, [f"GOOD-ANSWER {n} " + "x" * 500 for n in range(judgments)])
    b = make_experiment(dataset, [f"plain {n} " + "y" * 500 for n in range(judgments)])
    comparison = make_comparison(
        a,
        b,
        kind="pairwise_string",
        provider=make_provider(workspace, base_url),
        max_concurrency=concurrency,
    )
    assert comparison.job is not None
    job = comparison.job
    start_job(job)
    eventually(lambda: not Job.objects.get(pk=job.pk).is_open, 600, "the comparison ends")
    first = JudgeReply.objects.order_by("created_at", "pk").first()
    last = Judgment.objects.filter(comparison=comparison).aggregate(last=Max("judged_at"))["last"]
    assert first is not None
    assert last is not None
    return float((last - first.created_at).total_seconds() + (first.latency or 0))


if __name__ == "__main__":
    main()
