"""What judging will take, told before anything is spent: from measured lengths and known prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import connection

from experiments.models import Experiment, Provider

# A judge's instructions, and what it answers: about so many characters of prompt, and tokens.
INSTRUCTIONS = 1600
CHARACTERS_IN_A_TOKEN = 4
REPLY_TOKENS = 200
SAMPLE = 500

LENGTHS = """
SELECT coalesce(avg(length(payload.outputs::text)), 0)::float8,
       coalesce(avg(length(payload.inputs::text)), 0)::float8
FROM (
    SELECT id FROM experiments_run
    WHERE experiment_id = %s AND is_root LIMIT %s
) run
JOIN experiments_runpayload payload ON payload.run_id = run.id
"""


# The latest replies of all models are looked at, so that the search ends soon.
LATENCY = """
SELECT avg(latency)::float8 FROM (
    SELECT latency, provider_id FROM experiments_judgereply
    WHERE workspace_id = %s ORDER BY id DESC LIMIT 2000
) latest
WHERE provider_id = %s
"""


@dataclass(frozen=True)
class Expected:
    """Tokens read and written by so many calls, about."""

    calls: int
    read: int
    written: int

    @property
    def tokens(self) -> int:
        return self.read + self.written

    def money(self, read_price: Decimal, written_price: Decimal) -> Decimal:
        """US dollars, at so many for one token."""
        return self.read * read_price + self.written * written_price


def expected_usage(experiments: Sequence[Experiment], calls: int) -> Expected:
    """What so many calls take that show the outputs of all these experiments, and their input."""
    characters = float(INSTRUCTIONS)
    for experiment in experiments:
        with connection.cursor() as cursor:
            cursor.execute(LENGTHS, [experiment.pk, SAMPLE])
            outputs, inputs = cursor.fetchone()
        characters += outputs + inputs / len(experiments)
    return Expected(calls, int(calls * characters / CHARACTERS_IN_A_TOKEN), calls * REPLY_TOKENS)


def latency_of(provider: Provider) -> float | None:
    """Seconds that this model's latest replies took on average; None when it was not asked."""
    with connection.cursor() as cursor:
        cursor.execute(LATENCY, [provider.workspace_id, provider.pk])
        (seconds,) = cursor.fetchone()
        return None if seconds is None else float(seconds)
