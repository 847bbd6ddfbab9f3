"""Comparisons as tests of the engine want them: many pairs with a planted winner."""

from __future__ import annotations

from typing import Any

from experiments.models import Comparison, Job, Provider
from experiments.queries.outcome_counts import OutcomeCounts, outcome_counts
from experiments.tasks import start_job
from tests.engine.processes import eventually
from tests.factories import make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace


def launched(
    workspace: Workspace,
    provider: Provider | None,
    count: int,
    *,
    kind: str = "pairwise_string",
    wins: int | None = None,
    **options: Any,
) -> Comparison:
    """A comparison under way; A has the better answer in the first `wins` pairs (all), else B."""
    comparison = made(workspace, provider, count, kind=kind, wins=wins, **options)
    start_job(job_of(comparison))
    return comparison


def made(
    workspace: Workspace,
    provider: Provider | None,
    count: int,
    *,
    kind: str = "pairwise_string",
    wins: int | None = None,
    **options: Any,
) -> Comparison:
    """The same, without a message to any worker."""
    wins = count if wins is None else wins
    dataset = make_dataset(workspace, [f"r{n}" for n in range(count)])
    good = [f"GOOD-ANSWER {n}." for n in range(count)]
    plain = [f"plain answer {n}." for n in range(count)]
    a = make_experiment(dataset, [*good[:wins], *plain[wins:]])
    b = make_experiment(dataset, [*plain[:wins], *good[wins:]])
    return make_comparison(a, b, kind=kind, provider=provider, **options)


def job_of(comparison: Comparison) -> Job:
    return Job.objects.get(pk=comparison.job_id or 0)


def counts_of(comparison: Comparison) -> OutcomeCounts:
    return outcome_counts(comparison.evaluators.get())


def wait_for(comparison: Comparison, state: str, seconds: float = 40) -> OutcomeCounts:
    """Wait until its job is in this state."""
    eventually(lambda: job_of(comparison).state == state, seconds, f"the job is {state}")
    return counts_of(comparison)
