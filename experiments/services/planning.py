"""Planning a comparison: which runs meet, which have no partner, and in which order to judge."""

from django.db import connection, transaction

from experiments.models import Comparison, Evaluation, Job

PAIRS = """
INSERT INTO experiments_pair
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
ON CONFLICT (comparison_id, example_uid, repetition) DO NOTHING
"""

JUDGMENTS = """
INSERT INTO experiments_judgment
    (pair_id, comparison_id, evaluator_id, judge, position, rank, outcome, order_changed, reason,
     error)
SELECT pair.id, pair.comparison_id, evaluator.id, '', pair.position,
       row_number() OVER (
           PARTITION BY evaluator.id
           ORDER BY md5(%(seed)s || pair.example_uid::text || pair.repetition::text)
       ),
       CASE WHEN lack.what IS NULL THEN 'pending' ELSE 'missing' END, false, '',
       coalesce(lack.what, '')
FROM experiments_pair pair
JOIN experiments_comparisonevaluator evaluator ON evaluator.comparison_id = pair.comparison_id
LEFT JOIN LATERAL (
    SELECT string_agg(
        chr(65 + (side.place - 1)::int) || CASE
            WHEN side.uid IS NULL THEN ' has no run'
            WHEN run.status = 'error' THEN ' failed'
            ELSE ' has no output' END, ', ' ORDER BY side.place) AS what
    FROM unnest(pair.run_uids) WITH ORDINALITY AS side(uid, place)
    LEFT JOIN experiments_run run ON run.workspace_id = %(workspace)s AND run.uid = side.uid
    LEFT JOIN experiments_runpayload payload ON payload.run_id = run.id
    WHERE side.uid IS NULL OR run.status = 'error' OR payload.outputs IS NULL
) lack ON true
WHERE pair.comparison_id = %(comparison)s
ON CONFLICT (pair_id, evaluator_id, judge) DO NOTHING
"""

COUNTS = """
INSERT INTO experiments_outcomedelta
    (evaluator_id, judge, split, outcome, order_changed, amount)
SELECT judgment.evaluator_id, judgment.judge, place.split, judgment.outcome,
       judgment.order_changed, count(*)
FROM experiments_judgment judgment
JOIN experiments_pair pair ON pair.id = judgment.pair_id
CROSS JOIN LATERAL unnest(array_prepend('', pair.splits)) AS place(split)
WHERE judgment.comparison_id = %(comparison)s
GROUP BY 1, 2, 3, 4, 5
"""

QUEUE = """
INSERT INTO experiments_queueitem (job_id, evaluator_id, target, rank, attempts, not_before)
SELECT %(job)s, chosen.evaluator_id, judgment.id, judgment.rank, 0, now()
FROM experiments_judgment judgment
JOIN experiments_comparisonevaluator chosen ON chosen.id = judgment.evaluator_id
WHERE judgment.comparison_id = %(comparison)s AND judgment.outcome = 'pending'
ON CONFLICT (job_id, evaluator_id, target) DO NOTHING
"""

REQUEUE = QUEUE.replace("outcome = 'pending'", "outcome IN ('pending', 'failed')")

RUNS = """
INSERT INTO experiments_queueitem (job_id, evaluator_id, target, rank, attempts, not_before)
SELECT %(job)s, %(evaluator)s, run.id, row_number() OVER (ORDER BY run.start_time, run.id), 0, now()
FROM experiments_run run
JOIN experiments_runpayload payload ON payload.run_id = run.id
WHERE run.experiment_id = %(experiment)s AND run.is_root AND run.status <> 'error'
  AND payload.outputs IS NOT NULL
ON CONFLICT (job_id, evaluator_id, target) DO NOTHING
"""


@transaction.atomic
def plan_comparison(comparison: Comparison, job: Job) -> None:
    """Pair the runs, note what is missing, and queue the rest in a seeded random order."""
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
    }
    with connection.cursor() as cursor:
        for statement in (PAIRS, JUDGMENTS, COUNTS, QUEUE):
            cursor.execute(statement, values)
        _note_total(job, cursor.rowcount)


@transaction.atomic
def requeue_failed(comparison: Comparison, job: Job) -> None:
    """Queue again what has no verdict: failed judgments, and those a cancelled job left."""
    with connection.cursor() as cursor:
        cursor.execute(REQUEUE, {"job": job.pk, "comparison": comparison.pk})


@transaction.atomic
def plan_evaluation(evaluation: Evaluation, job: Job) -> None:
    """Queue every root run of the experiment that has an output."""
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.planned:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            RUNS,
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
