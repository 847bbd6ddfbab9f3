"""What people decide about single rows: another verdict, or that a row does not count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from experiments.errors import ConflictError, InvalidError
from experiments.models import Dataset, Feedback, Judgment, Outcome
from experiments.services.judgment_rows import Decided
from experiments.services.judgments import record_judgments
from experiments.services.reports import outdate
from experiments.verdicts import Verdict, set_by_hand
from tiebreak.accounts.models import User

SETTABLE = (Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_GOOD, Outcome.BOTH_BAD)
MAX_REASON = 4000
EXAMPLE_DELETED = "The example was deleted."

_TAKE_OUT = """
WITH gone AS (
    SELECT judgment.id, judgment.evaluator_id, judgment.judge, judgment.outcome,
           judgment.order_changed, pair.splits
    FROM experiments_comparison comparison
    JOIN experiments_pair pair ON pair.comparison_id = comparison.id
    JOIN experiments_judgment judgment ON judgment.pair_id = pair.id
    WHERE comparison.dataset_id = %(dataset)s AND pair.example_uid = ANY(%(examples)s)
      AND judgment.outcome <> 'missing'
    ORDER BY judgment.id FOR UPDATE OF judgment
), marked AS (
    UPDATE experiments_judgment judgment
    SET outcome = 'missing', order_changed = false, error = %(error)s, judged_at = now()
    FROM gone WHERE judgment.id = gone.id
), unscored AS (
    DELETE FROM experiments_judgmentscore score USING gone WHERE score.judgment_id = gone.id
), unqueued AS (
    DELETE FROM experiments_queueitem item
    USING gone
    JOIN experiments_comparisonevaluator evaluator ON evaluator.id = gone.evaluator_id
    JOIN experiments_comparison comparison ON comparison.id = evaluator.comparison_id
    WHERE item.job_id = comparison.job_id AND item.evaluator_id = evaluator.evaluator_id
      AND item.target = gone.id AND gone.outcome = 'pending'
), counted AS (
    INSERT INTO experiments_outcomedelta
        (evaluator_id, judge, split, outcome, order_changed, amount)
    SELECT gone.evaluator_id, gone.judge, place.split, change.outcome, change.order_changed,
           sum(change.amount)
    FROM gone
    CROSS JOIN LATERAL unnest(array_prepend('', gone.splits)) AS place(split)
    CROSS JOIN LATERAL (VALUES (gone.outcome, gone.order_changed, -1), ('missing', false, 1))
        AS change(outcome, order_changed, amount)
    GROUP BY 1, 2, 3, 4, 5
)
SELECT DISTINCT evaluator_id FROM gone
"""


def override(
    judgment: Judgment, *, outcome: str, reason: str = "", author: User | None = None
) -> None:
    """Set the verdict of a row by hand, or leave the row out (`missing`); its games stay."""
    if outcome == Outcome.MISSING:
        leave_out(judgment, reason=reason)
        return
    if outcome not in SETTABLE:
        raise InvalidError("outcome", f"must be one of {', '.join([*SETTABLE, Outcome.MISSING])}")
    _check(judgment, reason)
    verdict, played = set_by_hand(
        Outcome(outcome),
        [uid for uid in judgment.pair.run_uids if uid],
        reason=reason,
        author_id=author.pk if author else None,
    )
    record_judgments(judgment.comparison, [Decided(judgment.pk, verdict, [played])])


@transaction.atomic
def leave_out(judgment: Judgment, *, reason: str = "") -> None:
    """Count a row as missing from now on; its games stay, its scores go."""
    _check(judgment, reason)
    error = f"Left out by hand: {reason}" if reason else "Left out by hand."
    verdict = Verdict(Outcome.MISSING, error=error)
    record_judgments(judgment.comparison, [Decided(judgment.pk, verdict, [])], with_feedback=False)
    Feedback.objects.filter(
        workspace=judgment.comparison.workspace_id,
        comparison_uid=judgment.comparison.uid,
        key=judgment.evaluator.key,
        run_uid__in=[uid for uid in judgment.pair.run_uids if uid],
    ).delete()


def _check(judgment: Judgment, reason: str) -> None:
    if len(reason) > MAX_REASON:
        raise InvalidError("reason", f"must have at most {MAX_REASON:,} characters")
    if judgment.outcome == Outcome.PENDING:
        raise ConflictError("This row is still to be judged; its verdict would be overwritten.")
    if sum(uid is not None for uid in judgment.pair.run_uids[:2]) < 2:
        raise ConflictError("This row has no answer on one side, so there is nothing to decide.")


@transaction.atomic
def take_out_examples(dataset: Dataset, uids: Sequence[UUID]) -> None:
    """Count the rows of deleted examples as missing in every comparison of their dataset."""
    values: dict[str, Any] = {
        "dataset": dataset.pk,
        "examples": list(uids),
        "error": EXAMPLE_DELETED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_OUT, {**values, "error": EXAMPLE_DELETED})
        evaluators = [evaluator for (evaluator,) in cursor.fetchall()]
    outdate(evaluators)
