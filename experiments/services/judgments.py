"""The one door through which a judgment is completed: a lane, a script or a person knocks here."""

from collections import Counter
from collections.abc import Sequence

from django.db import transaction

from experiments.columns import array, fetch
from experiments.models import Comparison, Judgment
from experiments.services.judgment_rows import (
    Decided,
    append_counts,
    apply_verdict,
    count_changes,
    write_feedback,
    write_games,
    write_scores,
    write_verdicts,
)
from experiments.services.reports import outdate


@transaction.atomic(savepoint=False)
def record_judgments(
    comparison: Comparison, decided: Sequence[Decided], *, with_feedback: bool = True
) -> None:
    """Store verdicts with their games, scores and counts; sent twice, they are stored once."""
    by_id = {item.judgment_id: item for item in decided}
    rows = list(
        Judgment.objects.select_for_update(of=("self",))
        .filter(comparison=comparison, pk__in=by_id)
        .select_related("pair")
        .order_by("pk")
    )
    count_changes(rows, {row.pk: by_id[row.pk].verdict for row in rows})
    for row in rows:
        apply_verdict(row, by_id[row.pk].verdict)
    write_verdicts(rows)
    write_games(rows, by_id)
    write_scores(rows, by_id)
    if with_feedback:
        write_feedback(comparison, rows, by_id)
    outdate(row.evaluator_id for row in rows)


_ADD = """
WITH added AS (
    INSERT INTO experiments_judgment
        (pair_id, comparison_id, evaluator_id, judge, position, rank, outcome, order_changed,
         reason, error)
    SELECT id, comparison_id, $1, '', position, position, 'pending', false, '', ''
    FROM experiments_pair WHERE id = ANY($2::bigint[]) ORDER BY id
    RETURNING pair_id, id
), counted AS (
    INSERT INTO experiments_outcomedelta
        (evaluator_id, judge, split, outcome, order_changed, amount)
    SELECT $1, '', split, 'pending', false, count(*)
    FROM experiments_pair p, unnest(array_prepend('', p.splits)) split
    WHERE p.id = ANY($2::bigint[]) GROUP BY split
)
SELECT pair_id, id FROM added
"""


def add_judgments(evaluator_id: int, pair_ids: Sequence[int]) -> dict[int, int]:
    """Unjudged rows for pairs whose rows are locked; gives the primary keys by pair."""
    return dict(fetch(_ADD, [evaluator_id, array(pair_ids)])) if pair_ids else {}


@transaction.atomic(savepoint=False)
def forget_judgments(judgment_ids: Sequence[int]) -> None:
    """Delete judgments with their games and scores; the counts follow."""
    rows = list(
        Judgment.objects.select_for_update(of=("self",))
        .filter(pk__in=judgment_ids)
        .select_related("pair")
        .order_by("pk")
    )
    amounts = Counter(
        (row.evaluator_id, row.judge, split, row.outcome, row.order_changed)
        for row in rows
        for split in ["", *row.pair.splits]
    )
    append_counts({key: -number for key, number in amounts.items()})
    Judgment.objects.filter(pk__in=judgment_ids).delete()
    outdate(row.evaluator_id for row in rows)
