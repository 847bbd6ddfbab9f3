"""The rows a verdict leaves behind: games, scores, feedback and counts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from django.utils import timezone

from experiments.models import Comparison, Feedback, Game, Judgment, JudgmentScore, OutcomeDelta
from experiments.rawjson import dumps, storable
from experiments.verdicts import GameResult, Verdict

FEEDBACK_SPACE = UUID("6f1d6f0e-6d0d-5c53-9c1f-7d0c6f3a4b11")


@dataclass(frozen=True)
class Decided:
    """A verdict on one judgment, with the games it came from."""

    judgment_id: int
    verdict: Verdict
    games: Sequence[GameResult]


def count_changes(rows: Iterable[Judgment], verdicts: dict[int, Verdict]) -> None:
    """Append what changes in the counts beside the filters."""
    amounts: Counter[tuple[int, str, str, str, bool]] = Counter()
    for row in rows:
        new = verdicts[row.pk]
        for split in ["", *row.pair.splits]:
            amounts[row.evaluator_id, row.judge, split, row.outcome, row.order_changed] -= 1
            amounts[row.evaluator_id, row.judge, split, new.outcome, new.order_changed] += 1
    OutcomeDelta.objects.bulk_create(
        OutcomeDelta(
            evaluator_id=evaluator,
            judge=judge,
            split=split,
            outcome=outcome,
            order_changed=changed,
            amount=amount,
        )
        for (evaluator, judge, split, outcome, changed), amount in sorted(amounts.items())
        if amount
    )


def apply_verdict(row: Judgment, verdict: Verdict) -> None:
    row.outcome = verdict.outcome
    row.order_changed = verdict.order_changed
    row.reason = storable(verdict.reason)
    row.error = storable(verdict.error)
    row.judged_at = timezone.now()


def write_games(rows: Sequence[Judgment], by_id: dict[int, Decided]) -> None:
    rounds = _next_rounds([row.pk for row in rows])
    Game.objects.bulk_create(
        [
            Game(
                judgment=row,
                round=rounds[row.pk],
                number=number,
                order_shown=list(game.order_shown),
                winner=game.winner,
                verdict=game.verdict,
                reason=storable(game.reason),
                error=storable(game.error),
                error_kind=game.error_kind,
                reply_id=game.reply_id,
                from_cache=game.from_cache,
                attempts=game.attempts,
                evaluator_run_uid=game.evaluator_run_uid,
                by_hand=game.by_hand,
                author_id=game.author_id,
            )
            for row in rows
            for number, game in enumerate(by_id[row.pk].games)
        ]
    )


def _next_rounds(judgment_ids: Sequence[int]) -> dict[int, int]:
    rounds: dict[int, int] = defaultdict(int)
    games = Game.objects.filter(judgment__in=judgment_ids).values_list("judgment_id", "round")
    for judgment_id, number in games:
        rounds[judgment_id] = max(rounds[judgment_id], number + 1)
    return rounds


def write_scores(rows: Sequence[Judgment], by_id: dict[int, Decided]) -> None:
    JudgmentScore.objects.filter(judgment__in=rows).delete()
    JudgmentScore.objects.bulk_create(
        JudgmentScore(judgment=row, position=position, run_uid=run, score=score)
        for row in rows
        for run, score in by_id[row.pk].verdict.scores.items()
        for position in [row.pair.run_uids.index(run)]
    )


def write_feedback(
    comparison: Comparison, rows: Sequence[Judgment], by_id: dict[int, Decided]
) -> None:
    """The same scores as feedback on the runs, where scripts look for them."""
    experiments = dict(comparison.sides.values_list("position", "experiment_id"))
    moment = timezone.now()
    Feedback.objects.bulk_create(
        [
            Feedback(
                workspace_id=comparison.workspace_id,
                uid=uuid5(FEEDBACK_SPACE, f"{row.pk}:{run}"),
                run_uid=run,
                experiment_id=experiments[row.pair.run_uids.index(run)],
                key=row.evaluator.key,
                score=score,
                score_text=repr(score),
                comment=dumps(row.reason) if row.reason else None,
                source_type="model",
                source='{"type":"model"}',
                comparison_uid=comparison.uid,
                group_uid=uuid5(FEEDBACK_SPACE, str(row.pk)),
                created_at=moment,
                modified_at=moment,
            )
            for row in rows
            for run, score in by_id[row.pk].verdict.scores.items()
        ],
        update_conflicts=True,
        unique_fields=["workspace", "uid"],
        update_fields=["score", "score_text", "comment", "modified_at"],
    )
