"""How the runs of two experiments meet, before anything is judged."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from experiments.models import Experiment

PAIRING = """
WITH runs AS (
    SELECT run.experiment_id, run.example_uid,
           row_number() OVER (
               PARTITION BY run.experiment_id, run.example_uid ORDER BY run.start_time, run.id
           ) AS repetition,
           run.status = 'error' OR payload.outputs IS NULL AS empty
    FROM experiments_run run
    JOIN experiments_runpayload payload ON payload.run_id = run.id
    WHERE run.experiment_id IN (%(a)s, %(b)s) AND run.is_root AND run.example_uid IS NOT NULL
), met AS (
    SELECT example_uid, repetition,
           bool_or(experiment_id = %(a)s) AS in_a, bool_or(experiment_id = %(b)s) AS in_b,
           bool_or(empty) AS failed
    FROM runs GROUP BY example_uid, repetition
)
SELECT count(*) FILTER (WHERE in_a AND in_b AND NOT failed),
       count(*) FILTER (WHERE in_a AND in_b AND failed),
       count(*) FILTER (WHERE in_a AND NOT in_b),
       count(*) FILTER (WHERE in_b AND NOT in_a)
FROM met
"""


@dataclass(frozen=True)
class Pairing:
    """Counts of examples (times repetitions) by which side has a run."""

    shared: int
    failed: int
    only_a: int
    only_b: int

    @property
    def total(self) -> int:
        return self.shared + self.failed + self.only_a + self.only_b


def pairing_of(experiments: Sequence[Experiment]) -> Pairing:
    """Count what two experiments have in common and what has no partner."""
    a, b = (experiment.pk for experiment in experiments)
    with connection.cursor() as cursor:
        cursor.execute(PAIRING, {"a": a, "b": b})
        return Pairing(*cursor.fetchone())
