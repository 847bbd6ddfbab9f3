"""What the runs of experiments come to: counts, latency, tokens, cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import connection

# A run that ends before it starts, or starts in the future, tells nothing about latency. Clocks
# of the TypeScript SDK may be off by less than a millisecond, which counts as zero.
_TIMED = "end_time >= start_time - interval '1 ms' AND start_time < now() + interval '1 day'"
_SECONDS = "GREATEST(0, extract(epoch FROM end_time - start_time))::float8"
_FIRST_WORD = "GREATEST(0, extract(epoch FROM first_token_time - start_time))::float8"

_ROOTS = f"""
SELECT experiment_id, count(*), count(*) FILTER (WHERE status = 'error'), max(start_time),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY {_SECONDS}) FILTER (WHERE {_TIMED}),
       percentile_cont(0.99) WITHIN GROUP (ORDER BY {_SECONDS}) FILTER (WHERE {_TIMED}),
       avg({_SECONDS}) FILTER (WHERE {_TIMED}),
       count(*) FILTER (WHERE {_TIMED}),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY {_FIRST_WORD})
           FILTER (WHERE first_token_time IS NOT NULL),
       percentile_cont(0.99) WITHIN GROUP (ORDER BY {_FIRST_WORD})
           FILTER (WHERE first_token_time IS NOT NULL)
FROM experiments_run WHERE experiment_id = ANY(%s) AND is_root
GROUP BY experiment_id
"""  # noqa: S608

_USAGE = """
SELECT experiment_id, sum(total_tokens)::int8, sum(prompt_tokens)::int8,
       sum(completion_tokens)::int8, sum(total_cost), sum(prompt_cost), sum(completion_cost)
FROM experiments_run
WHERE experiment_id = ANY(%s) AND (total_tokens IS NOT NULL OR total_cost IS NOT NULL)
GROUP BY experiment_id
"""


@dataclass
class ExperimentStatistics:
    """Latency is in seconds, over the `timed` root runs only."""

    run_count: int = 0
    error_count: int = 0
    last_run_start_time: datetime | None = None
    latency_p50: float | None = None
    latency_p99: float | None = None
    latency_avg: float | None = None
    timed: int = 0
    first_token_p50: float | None = None
    first_token_p99: float | None = None
    total_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_cost: Decimal | None = None
    prompt_cost: Decimal | None = None
    completion_cost: Decimal | None = None

    @property
    def error_rate(self) -> float | None:
        return self.error_count / self.run_count if self.run_count else None


def statistics_of(ids: Sequence[int]) -> dict[int, ExperimentStatistics]:
    """By experiment; every id is in the answer."""
    found = {pk: ExperimentStatistics() for pk in ids}
    with connection.cursor() as cursor:
        cursor.execute(_ROOTS, [list(ids)])
        for pk, *values in cursor.fetchall():
            found[pk] = ExperimentStatistics(*values)
        cursor.execute(_USAGE, [list(ids)])
        for pk, tokens, prompt, completion, cost, prompt_cost, completion_cost in cursor.fetchall():
            row = found[pk]
            row.total_tokens, row.prompt_tokens, row.completion_tokens = tokens, prompt, completion
            row.total_cost, row.prompt_cost = cost, prompt_cost
            row.completion_cost = completion_cost
    return found


def root_counts(ids: Sequence[int]) -> dict[int, int]:
    """How many root runs each experiment has."""
    counts = dict.fromkeys(ids, 0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT experiment_id, count(*) FROM experiments_run "
            "WHERE experiment_id = ANY(%s) AND is_root GROUP BY experiment_id",
            [list(ids)],
        )
        counts.update(cursor.fetchall())
    return counts
