"""The rows a verdict leaves behind: games, scores, feedback and counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from django.utils import timezone

from experiments.columns import array, fetch, write_rows
from experiments.models import Comparison, Judgment
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
    append_counts(amounts)


_ADD_COUNTS = """
INSERT INTO experiments_outcomedelta (evaluator_id, judge, split, outcome, order_changed, amount)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[])
"""


def append_counts(amounts: Mapping[tuple[int, str, str, str, bool], int]) -> None:
    """Changes of counts, by evaluator, judge, split, outcome and whether the order mattered."""
    write_rows(_ADD_COUNTS, [(*key, amount) for key, amount in sorted(amounts.items()) if amount])


def apply_verdict(row: Judgment, verdict: Verdict) -> None:
    row.outcome = verdict.outcome
    row.order_changed = verdict.order_changed
    row.reason = storable(verdict.reason)
    row.error = storable(verdict.error)
    row.judged_at = timezone.now()


_UPDATE = """
UPDATE experiments_judgment j SET outcome = given.outcome, order_changed = given.order_changed,
    reason = given.reason, error = given.error, judged_at = given.judged_at
FROM unnest($1::bigint[], $2::text[], $3::boolean[], $4::text[], $5::text[], $6::timestamptz[])
    AS given(id, outcome, order_changed, reason, error, judged_at)
WHERE j.id = given.id
"""


def write_verdicts(rows: Sequence[Judgment]) -> None:
    write_rows(
        _UPDATE,
        [(r.pk, r.outcome, r.order_changed, r.reason, r.error, r.judged_at) for r in rows],
    )


_GAME = {
    "judgment_id": "bigint",
    "round": "int",
    "number": "int",
    "order_shown": "text",
    "winner": "uuid",
    "verdict": "text",
    "reason": "text",
    "error": "text",
    "error_kind": "text",
    "reply_id": "bigint",
    "from_cache": "boolean",
    "attempts": "int",
    "evaluator_run_uid": "uuid",
    "by_hand": "boolean",
    "author_id": "bigint",
}
_ADD_GAMES = (
    f"INSERT INTO experiments_game ({', '.join(_GAME)}, created_at) SELECT "  # noqa: S608
    + ", ".join(name + ("::uuid[]" if name == "order_shown" else "") for name in _GAME)
    + ", now() FROM unnest("
    + ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(_GAME.values(), 1))
    + f") AS given({', '.join(_GAME)})"
)
_ROUNDS = """
SELECT judgment_id, max(round) + 1 FROM experiments_game
WHERE judgment_id = ANY($1::bigint[]) GROUP BY judgment_id
"""


def write_games(rows: Sequence[Judgment], by_id: dict[int, Decided]) -> None:
    """Another verdict on a pair is another round."""
    rounds = dict(fetch(_ROUNDS, [array(row.pk for row in rows)]))
    write_rows(
        _ADD_GAMES,
        [
            _game_row(row, rounds.get(row.pk, 0), number, game)
            for row in rows
            for number, game in enumerate(by_id[row.pk].games)
        ],
    )


def _game_row(row: Judgment, round_number: int, number: int, game: GameResult) -> list[Any]:
    return [
        row.pk,
        round_number,
        number,
        array(game.order_shown),
        game.winner,
        game.verdict,
        storable(game.reason),
        storable(game.error),
        game.error_kind,
        game.reply_id,
        game.from_cache,
        game.attempts,
        game.evaluator_run_uid,
        game.by_hand,
        game.author_id,
    ]


_DROP_SCORES = "DELETE FROM experiments_judgmentscore WHERE judgment_id = ANY($1::bigint[])"
_ADD_SCORES = """
INSERT INTO experiments_judgmentscore (judgment_id, position, run_uid, score)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::uuid[], $4::double precision[])
"""


def write_scores(rows: Sequence[Judgment], by_id: dict[int, Decided]) -> None:
    fetch(_DROP_SCORES, [array(row.pk for row in rows)])
    write_rows(
        _ADD_SCORES,
        [
            (row.pk, row.pair.run_uids.index(run), run, score)
            for row in rows
            for run, score in by_id[row.pk].verdict.scores.items()
        ],
    )


# The texts that are the same for all rows travel once.
_TELL = """
INSERT INTO experiments_feedback
    (workspace_id, key, comparison_uid, source_type, source, is_error, created_at, modified_at,
     uid, run_uid, experiment_id, score, score_text, comment, group_uid)
SELECT $8::bigint, $9::text, $10::uuid, 'model', '{"type":"model"}', false, now(), now(), given.*
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::double precision[], $5::text[], $6::json[],
            $7::uuid[]) AS given
ON CONFLICT (workspace_id, uid) DO UPDATE
SET score = excluded.score, score_text = excluded.score_text, comment = excluded.comment,
    modified_at = excluded.modified_at
"""


def write_feedback(
    comparison: Comparison, rows: Sequence[Judgment], by_id: dict[int, Decided]
) -> None:
    """The same scores as feedback on the runs, where scripts look for them."""
    experiments = dict(comparison.sides.values_list("position", "experiment_id"))
    keys = dict(comparison.evaluators.values_list("pk", "key"))
    told: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        group = uuid5(FEEDBACK_SPACE, str(row.pk))
        comment = dumps(row.reason) if row.reason else None
        told.setdefault(row.evaluator_id, []).extend(
            (
                uuid5(FEEDBACK_SPACE, f"{row.pk}:{run}"),
                run,
                experiments[row.pair.run_uids.index(run)],
                score,
                repr(score),
                comment,
                group,
            )
            for run, score in by_id[row.pk].verdict.scores.items()
        )
    for evaluator, given in told.items():
        write_rows(_TELL, given, [comparison.workspace_id, keys[evaluator], comparison.uid])
