"""Made-up workspaces of any size, written by the database itself, to try how pages behave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from experiments.errors import InvalidError
from experiments.ids import uuid7
from experiments.models import (
    Comparison,
    ComparisonEvaluator,
    ComparisonSide,
    Dataset,
    DatasetVersion,
    Experiment,
)
from experiments.services.datasets import create_dataset
from experiments.services.evaluators import configure_evaluator
from experiments.services.sample import FOLDER
from tiebreak.accounts.models import Workspace

CHUNK = 20_000
MOST = 20_000_000
KEY = "nearer_by_string_distance"
WORDS = (FOLDER / "words.txt").read_text(encoding="utf-8").split()
# One row in some twenty thousand: what is searched for when the rare word is wanted.
RARE = "xylophone"

_ROWS = """
CREATE TEMPORARY TABLE seeded ON COMMIT DROP AS
SELECT n, n - %(first)s AS offset_in_chunk,
       nextval('experiments_example_id_seq') AS example_id, gen_random_uuid() AS example_uid,
       nextval('experiments_examplerevision_id_seq') AS revision_id,
       nextval('experiments_run_id_seq') AS run_a_id, gen_random_uuid() AS run_a,
       nextval('experiments_run_id_seq') AS run_b_id, gen_random_uuid() AS run_b,
       nextval('experiments_pair_id_seq') AS pair_id,
       nextval('experiments_judgment_id_seq') AS judgment_id,
       (ARRAY['easy', 'hard', 'test', 'train'])[1 + n %% 4] AS split,
       pg_temp.seed_text(n, 8)
           || CASE WHEN n %% 20011 = 0 THEN ' ' || %(rare)s ELSE '' END AS input,
       pg_temp.seed_text(n + 1, 9) AS reference,
       pg_temp.seed_text(n + 2, 8 + (n %% 12)::int) AS output_a,
       pg_temp.seed_text(n + 3, 8 + (n * 7 %% 12)::int) AS output_b,
       CASE WHEN chance < 0.42 THEN 'a' WHEN chance < 0.78 THEN 'b' WHEN chance < 0.985 THEN 'tie'
            WHEN chance < 0.995 THEN 'failed' ELSE 'missing' END AS outcome,
       chance > 0.90 AND chance < 0.985 AS order_changed,
       hashint8extended(n, 5) AS rank
FROM (
    SELECT n, (hashint8extended(n, 3) & 1048575) / 1048576.0 AS chance
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
) numbered
"""

_TEXT = """
CREATE OR REPLACE FUNCTION pg_temp.seed_text(n bigint, words int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(
        ('{%(words)s}'::text[])[1 + (hashint8extended(n * 64 + i, 1) & 1048575) %% %(count)s], ' ')
    FROM generate_series(1, words) i
$$
"""

_TABLES = (
    """
INSERT INTO experiments_example (id, workspace_id, uid, created_at, dataset_id)
SELECT example_id, %(workspace)s, example_uid, %(moment)s, %(dataset)s FROM seeded ORDER BY n
""",
    """
INSERT INTO experiments_examplerevision
    (id, example_id, dataset_id, valid_from, splits, metadata, search)
SELECT revision_id, example_id, %(dataset)s, %(moment)s, ARRAY[split],
       jsonb_build_object('topic', 'topic ' || n %% 12, 'number', n),
       input || ' ' || reference
FROM seeded ORDER BY n
""",
    """
INSERT INTO experiments_examplepayload (revision_id, inputs, outputs, metadata)
SELECT revision_id, json_build_object('question', input), json_build_object('answer', reference),
       json_build_object('topic', 'topic ' || n %% 12, 'number', n)
FROM seeded ORDER BY n
""",
    """
INSERT INTO experiments_run
    (id, workspace_id, uid, created_at, experiment_id, trace_uid, is_root, dotted_order, name,
     run_type, start_time, end_time, status, example_uid, tags, metadata, total_tokens,
     modified_at, opened)
SELECT side.run_id, %(workspace)s, side.uid, %(moment)s, side.experiment, side.uid, true,
       to_char(started, 'YYYYMMDD"T"HH24MISSUS"Z"') || side.uid, 'answer', 'chain', started,
       started + (n %% 1700) * interval '1 millisecond', 'success', example_uid, '{}', '{}',
       100 + n %% 400, %(moment)s, true
FROM seeded
CROSS JOIN LATERAL (VALUES (run_a_id, run_a, %(a)s::bigint), (run_b_id, run_b, %(b)s::bigint))
    AS side(run_id, uid, experiment)
CROSS JOIN LATERAL (SELECT %(moment)s + n * interval '1 millisecond' AS started) clock
ORDER BY side.run_id
""",
    """
INSERT INTO experiments_runpayload (run_id, inputs, outputs, search)
SELECT side.run_id, json_build_object('question', input), json_build_object('output', side.output),
       input || ' ' || side.output
FROM seeded
CROSS JOIN LATERAL (VALUES (run_a_id, output_a), (run_b_id, output_b)) AS side(run_id, output)
ORDER BY side.run_id
""",
    """
INSERT INTO experiments_feedback
    (id, workspace_id, uid, created_at, run_uid, trace_uid, experiment_id, key, score, score_text,
     source_type, source, is_error, modified_at)
SELECT nextval('experiments_feedback_id_seq'), %(workspace)s, gen_random_uuid(), %(moment)s,
       side.uid, side.uid, side.experiment, 'correct', side.score, side.score::text, 'model',
       '{"type":"model"}', false, %(moment)s
FROM seeded
CROSS JOIN LATERAL (VALUES
    (run_a, %(a)s::bigint, (outcome <> 'b')::int), (run_b, %(b)s::bigint, (outcome = 'b')::int)
) AS side(uid, experiment, score)
ORDER BY n
""",
    """
INSERT INTO experiments_pair
    (id, comparison_id, example_uid, repetition, revision_id, position, run_uids, splits)
SELECT pair_id, %(comparison)s, example_uid, 0, revision_id, n, ARRAY[run_a, run_b], ARRAY[split]
FROM seeded ORDER BY n
""",
    """
INSERT INTO experiments_judgment
    (id, pair_id, comparison_id, evaluator_id, judge, position, rank, outcome, order_changed,
     reason, error, judged_at)
SELECT judgment_id, pair_id, %(comparison)s, %(evaluator)s, '', n, rank, outcome, order_changed,
       CASE WHEN outcome IN ('a', 'b', 'tie') THEN 'Made up for trying out.' ELSE '' END,
       CASE outcome WHEN 'failed' THEN 'The model did not answer within 60 s.'
           WHEN 'missing' THEN 'B has no output' ELSE '' END, %(moment)s
FROM seeded ORDER BY n
""",
    """
INSERT INTO experiments_judgmentscore (id, judgment_id, position, run_uid, score)
SELECT nextval('experiments_judgmentscore_id_seq'), judgment_id, side.position, side.uid,
       CASE outcome WHEN 'tie' THEN 0.5 WHEN side.letter THEN 1 ELSE 0 END
FROM seeded
CROSS JOIN LATERAL (VALUES (0, run_a, 'a'), (1, run_b, 'b')) AS side(position, uid, letter)
WHERE outcome IN ('a', 'b', 'tie') ORDER BY n
""",
    """
INSERT INTO experiments_game
    (id, judgment_id, round, number, order_shown, winner, verdict, reason, error, error_kind,
     from_cache, attempts, by_hand, created_at)
SELECT nextval('experiments_game_id_seq'), judgment_id, 0, shown.number,
       CASE shown.number WHEN 0 THEN ARRAY[run_a, run_b] ELSE ARRAY[run_b, run_a] END,
       shown.winner,
       CASE WHEN shown.winner IS NULL THEN 'tie'
            WHEN (shown.number = 0) = (shown.winner = run_a) THEN 'first' ELSE 'second' END,
       '', '', '', false, 1, false, %(moment)s
FROM seeded
CROSS JOIN LATERAL (VALUES
    (0, CASE WHEN order_changed OR outcome = 'a' THEN run_a WHEN outcome = 'b' THEN run_b END),
    (1, CASE WHEN order_changed OR outcome = 'b' THEN run_b WHEN outcome = 'a' THEN run_a END)
) AS shown(number, winner)
WHERE outcome IN ('a', 'b', 'tie') ORDER BY n
""",
    """
INSERT INTO experiments_outcomedelta
    (evaluator_id, judge, split, outcome, order_changed, amount)
SELECT %(evaluator)s, '', place.split, outcome, order_changed, count(*)
FROM seeded CROSS JOIN LATERAL unnest(ARRAY['', split]) AS place(split)
GROUP BY 3, 4, 5
""",
)


@dataclass(frozen=True)
class Seeded:
    """What was made: everything hangs below the dataset."""

    dataset: Dataset
    experiments: tuple[Experiment, Experiment]
    comparison: Comparison


def seed(
    workspace: Workspace, *, judgments: int, told: Callable[[int], None] = lambda done: None
) -> Seeded:
    """Make a dataset, two experiments and their comparison with so many judged pairs."""
    if not 1 <= judgments <= MOST:
        raise InvalidError("judgments", f"must be between 1 and {MOST:,}")
    moment = timezone.now()
    made = _frame(workspace, judgments, moment)
    values = {
        "workspace": workspace.pk,
        "dataset": made.dataset.pk,
        "a": made.experiments[0].pk,
        "b": made.experiments[1].pk,
        "comparison": made.comparison.pk,
        "evaluator": made.comparison.evaluators.get().pk,
        "moment": moment,
        "rare": RARE,
    }
    for first in range(1, judgments + 1, CHUNK):
        last = min(judgments, first + CHUNK - 1)
        _write({**values, "first": first, "last": last})
        told(last)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return made


@transaction.atomic
def _frame(workspace: Workspace, judgments: int, moment: datetime) -> Seeded:
    number = Dataset.objects.filter(workspace=workspace, name__startswith="seeded ").count() + 1
    name = f"seeded {number}: {judgments:,} judgments"
    dataset = create_dataset(workspace=workspace, name=name, description="Made up by the server.")
    Dataset.objects.filter(pk=dataset.pk).update(example_count=judgments, modified_at=moment)
    DatasetVersion.objects.create(dataset=dataset, as_of=moment, added=judgments)
    a, b = (
        Experiment.objects.create(
            workspace=workspace,
            name=f"seeded {number} {letter}",
            dataset=dataset,
            start_time=moment,
            end_time=moment + timedelta(milliseconds=judgments),
            dataset_version=moment,
            num_examples=judgments,
        )
        for letter in "AB"
    )
    comparison = Comparison.objects.create(
        workspace=workspace,
        uid=uuid7(),
        dataset=dataset,
        name=f"{a.name} vs {b.name}",
        source=Comparison.Source.LAUNCHED,
        order="both",
        dataset_version=moment,
    )
    ComparisonSide.objects.bulk_create(
        ComparisonSide(comparison=comparison, position=place, experiment=row, name=row.name)
        for place, row in enumerate((a, b))
    )
    evaluator = configure_evaluator(workspace=workspace, kind=KEY)
    ComparisonEvaluator.objects.create(comparison=comparison, key=KEY, evaluator=evaluator)
    dataset.refresh_from_db()
    return Seeded(dataset, (a, b), comparison)


@transaction.atomic
def _write(values: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TEXT % {"words": ",".join(WORDS), "count": len(WORDS)})
        cursor.execute(_ROWS, values)
        for statement in _TABLES:
            cursor.execute(statement, values)
