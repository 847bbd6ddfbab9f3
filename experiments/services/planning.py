"""Planning a comparison: which runs meet, which have no partner, and in which order to judge."""

from typing import Any

from django.db import connection, transaction

from experiments.models import (
    Comparison,
    Evaluation,
    Example,
    ExampleRevision,
    Job,
    Judgment,
    Outcome,
    QueueItem,
    Run,
    RunPayload,
)

MANY_RUNS = 1000
JOINED = [one._meta.db_table for one in (Example, ExampleRevision, Run, RunPayload)]

PAIRS = """
INSERT INTO experiments_pair AS pair
    (comparison_id, example_uid, repetition, revision_id, position, run_uids, splits)
WITH picked AS (
    SELECT side.position AS side, run.example_uid, run.uid,
           row_number() OVER (
               PARTITION BY side.position, run.example_uid ORDER BY run.start_time, run.id
           ) - 1 AS repetition
    FROM experiments_comparisonside side
    JOIN experiments_run run ON run.experiment_id = side.experiment_id
    WHERE side.comparison_id = %(comparison)s AND run.is_root AND run.example_uid IS NOT NULL
), met AS (
    SELECT example_uid, repetition, jsonb_object_agg(side, uid) AS runs
    FROM picked GROUP BY example_uid, repetition
)
SELECT %(comparison)s, met.example_uid, met.repetition, revision.id,
       row_number() OVER (ORDER BY example.id, met.repetition),
       ARRAY(SELECT (met.runs ->> place::text)::uuid FROM generate_series(0, %(last)s) place
             ORDER BY place),
       coalesce(revision.splits, ARRAY['base'])
FROM met
JOIN experiments_example example
    ON example.workspace_id = %(workspace)s AND example.uid = met.example_uid
LEFT JOIN LATERAL (
    SELECT id, splits FROM experiments_examplerevision revision
    WHERE revision.example_id = example.id
      AND revision.valid_from <= coalesce(%(as_of)s, 'infinity'::timestamptz)
    ORDER BY revision.valid_from DESC LIMIT 1
) revision ON true
WHERE example.dataset_id = %(dataset)s
ON CONFLICT (comparison_id, example_uid, repetition) DO UPDATE
SET run_uids = ARRAY(
    SELECT coalesce(one.kept, one.came)
    FROM unnest(pair.run_uids, excluded.run_uids) WITH ORDINALITY AS one(kept, came, place)
    ORDER BY one.place)
WHERE array_position(pair.run_uids, NULL) IS NOT NULL
"""

LACK = """(
    SELECT string_agg(
        chr(65 + (side.place - 1)::int) || CASE
            WHEN side.uid IS NULL THEN ' has no run'
            WHEN run.status = 'error' THEN ' failed'
            ELSE ' has no output' END, ', ' ORDER BY side.place) AS what
    FROM unnest(pair.run_uids) WITH ORDINALITY AS side(uid, place)
    LEFT JOIN experiments_run run ON run.workspace_id = %(workspace)s AND run.uid = side.uid
    LEFT JOIN experiments_runpayload payload ON payload.run_id = run.id
    WHERE side.uid IS NULL OR run.status = 'error' OR payload.outputs IS NULL
)"""

# What lacked a run, and has it now.
REOPENED = """
WITH reopened AS (
    UPDATE experiments_judgment judgment SET outcome = 'pending', error = ''
    FROM experiments_pair pair, LATERAL LACK lack
    WHERE judgment.comparison_id = %(comparison)s AND judgment.outcome = 'missing'
      AND judgment.judge = '' AND pair.id = judgment.pair_id AND lack.what IS NULL
    RETURNING judgment.evaluator_id, judgment.judge, judgment.pair_id, judgment.order_changed
)
INSERT INTO experiments_outcomedelta
    (evaluator_id, judge, split, outcome, order_changed, amount)
SELECT reopened.evaluator_id, reopened.judge, place.split, change.outcome, reopened.order_changed,
       sum(change.amount)
FROM reopened
JOIN experiments_pair pair ON pair.id = reopened.pair_id
CROSS JOIN (VALUES ('missing', -1), ('pending', 1)) AS change(outcome, amount)
CROSS JOIN LATERAL unnest(array_prepend('', pair.splits)) AS place(split)
GROUP BY 1, 2, 3, 4, 5
""".replace("LACK", LACK)

# Repetitions of an example follow each other: an early stop counts each example once.
JUDGMENTS = """
WITH last AS (
    SELECT evaluator.id AS evaluator_id, coalesce(max(judgment.rank), 0) AS rank
    FROM experiments_comparisonevaluator evaluator
    LEFT JOIN experiments_judgment judgment ON judgment.evaluator_id = evaluator.id
    WHERE evaluator.comparison_id = %(comparison)s
    GROUP BY evaluator.id
), added AS (
    INSERT INTO experiments_judgment
        (pair_id, comparison_id, evaluator_id, judge, position, rank, outcome, order_changed,
         reason, error)
    SELECT pair.id, pair.comparison_id, last.evaluator_id, '', pair.position,
           last.rank + row_number() OVER (
               PARTITION BY last.evaluator_id
               ORDER BY md5(%(seed)s || pair.example_uid::text), pair.example_uid, pair.repetition
           ),
           CASE WHEN lack.what IS NULL THEN 'pending' ELSE 'missing' END, false, '',
           coalesce(lack.what, '')
    FROM experiments_pair pair
    CROSS JOIN last
    LEFT JOIN LATERAL LACK lack ON true
    WHERE pair.comparison_id = %(comparison)s AND NOT EXISTS (
        SELECT FROM experiments_judgment known
        WHERE known.pair_id = pair.id AND known.evaluator_id = last.evaluator_id
          AND known.judge = '')
    ON CONFLICT (pair_id, evaluator_id, judge) DO NOTHING
    RETURNING pair_id, evaluator_id, judge, outcome, order_changed
)
INSERT INTO experiments_outcomedelta
    (evaluator_id, judge, split, outcome, order_changed, amount)
SELECT added.evaluator_id, added.judge, place.split, added.outcome, added.order_changed, count(*)
FROM added
JOIN experiments_pair pair ON pair.id = added.pair_id
CROSS JOIN LATERAL unnest(array_prepend('', pair.splits)) AS place(split)
GROUP BY 1, 2, 3, 4, 5
""".replace("LACK", LACK)

QUEUE = """
INSERT INTO experiments_queueitem (job_id, evaluator_id, target, rank, attempts, not_before)
SELECT %(job)s, chosen.evaluator_id, judgment.id, judgment.rank, 0, now()
FROM experiments_judgment judgment
JOIN experiments_comparisonevaluator chosen ON chosen.id = judgment.evaluator_id
WHERE judgment.comparison_id = %(comparison)s AND judgment.judge = '' AND {which}
ON CONFLICT (job_id, evaluator_id, target) DO NOTHING
"""
WAITING = QUEUE.format(which="judgment.outcome = 'pending' AND judgment.id <> ALL(%(left)s)")
UNSETTLED = QUEUE.format(which="judgment.outcome IN ('pending', 'failed')")
ORDER_CHANGED = QUEUE.format(which="judgment.order_changed")
ONE = QUEUE.format(which="judgment.id = %(judgment)s")

RUNS = """
INSERT INTO experiments_queueitem (job_id, evaluator_id, target, rank, attempts, not_before)
SELECT %(job)s, %(evaluator)s, run.id, row_number() OVER (ORDER BY run.start_time, run.id), 0, now()
FROM experiments_run run
JOIN experiments_runpayload payload ON payload.run_id = run.id
WHERE run.experiment_id = %(experiment)s AND run.is_root AND run.status <> 'error'
  AND payload.outputs IS NOT NULL AND {which}
ON CONFLICT (job_id, evaluator_id, target) DO NOTHING
"""
ALL_RUNS = RUNS.format(which="true")
FAILED_RUNS = RUNS.format(
    which="""EXISTS (
        SELECT FROM experiments_feedback feedback
        WHERE feedback.experiment_id = run.experiment_id AND feedback.run_uid = run.uid
          AND feedback.key = %(key)s AND feedback.is_error)"""
)


def learn_sizes(comparison: Comparison) -> None:
    """Let PostgreSQL count what has just come in, before many runs are joined.

    Without that, right after a large import, it may choose a plan whose time grows by the square.
    """
    runs = Run.objects.filter(experiment__comparison_sides__comparison=comparison, is_root=True)
    if runs[:MANY_RUNS].count() == MANY_RUNS:
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(JOINED)}")


@transaction.atomic
def plan_comparison(comparison: Comparison, job: Job) -> None:
    """Pair the runs, note what is missing, and queue the rest in a seeded random order.

    Planned anew, it queues what is new; what was left over before stays so.
    """
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.planned:
        return
    values = {
        "comparison": comparison.pk,
        "workspace": comparison.workspace_id,
        "dataset": comparison.dataset_id,
        "as_of": comparison.dataset_version,
        "last": comparison.sides.count() - 1,
        "seed": str(comparison.seed),
        "job": job.pk,
        "left": list(
            comparison.judgments.filter(judge="", outcome=Outcome.PENDING)
            .order_by()
            .values_list("pk", flat=True)
        ),
    }
    with connection.cursor() as cursor:
        for statement in (PAIRS, REOPENED, JUDGMENTS, WAITING):
            cursor.execute(statement, values)
    counted = comparison.judgments.filter(judge="").exclude(outcome=Outcome.MISSING)
    _note_total(job, counted.count())


def take_in_what_came(comparison: Comparison, job: Job, *, goes_on: bool) -> None:
    """Let a job be planned anew, on the dataset as it is now: only what is new is added.

    What it had queued is still to be judged only where it goes on from a pause.
    """
    if not goes_on:
        QueueItem.objects.filter(job=job).delete()
    comparison.dataset_version = comparison.dataset.modified_at
    comparison.save(update_fields=["dataset_version"])
    job.planned = False
    job.save(update_fields=["planned"])


def requeue(comparison: Comparison, job: Job, *, only_order_changed: bool) -> None:
    """Queue again what has no verdict, or the ties of orders that disagreed."""
    with connection.cursor() as cursor:
        cursor.execute(
            ORDER_CHANGED if only_order_changed else UNSETTLED,
            {"job": job.pk, "comparison": comparison.pk},
        )


def requeue_one(judgment: Judgment, job: Job) -> None:
    """Queue one row again, whatever its verdict."""
    with connection.cursor() as cursor:
        cursor.execute(
            ONE, {"job": job.pk, "comparison": judgment.comparison_id, "judgment": judgment.pk}
        )


def requeue_failed_runs(evaluation: Evaluation, job: Job) -> None:
    """Queue again the runs that could not be scored."""
    values: dict[str, Any] = {
        "job": job.pk,
        "evaluator": evaluation.evaluator_id,
        "experiment": evaluation.experiment_id,
        "key": evaluation.evaluator.name,
    }
    with connection.cursor() as cursor:
        cursor.execute(FAILED_RUNS, values)


@transaction.atomic
def plan_evaluation(evaluation: Evaluation, job: Job) -> None:
    """Queue every root run of the experiment that has an output."""
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.planned:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            ALL_RUNS,
            {
                "job": job.pk,
                "evaluator": evaluation.evaluator_id,
                "experiment": evaluation.experiment_id,
            },
        )
        _note_total(job, cursor.rowcount)


def _note_total(job: Job, total: int) -> None:
    job.total = total
    job.planned = True
    job.save(update_fields=["total", "planned"])
