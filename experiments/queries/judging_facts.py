"""What judging left behind, added up by the database: orders, lengths, tokens, the race so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db import connection

from experiments.models import ComparisonEvaluator

# Rows whose lengths are read, the first in the random order of judging: a fair sample of the rest.
LENGTH_ROWS = 20_000

# Round and verdict in one number, so that one pass without a sort finds the latest round.
_PLAYED = """
SELECT {uid} CASE WHEN ab / 4 = latest THEN ab %% 4 ELSE 0 END AS ab,
       CASE WHEN ba / 4 = latest THEN ba %% 4 ELSE 0 END AS ba
FROM (
    SELECT max(pair.example_uid::text) AS example_uid, max(game.round) AS latest,
           max(game.round * 4 + called.side)
               FILTER (WHERE game.order_shown[1] = pair.run_uids[1]) AS ab,
           max(game.round * 4 + called.side)
               FILTER (WHERE game.order_shown[1] = pair.run_uids[2]) AS ba
    FROM experiments_judgment judgment
    JOIN experiments_pair pair ON pair.id = judgment.pair_id
    JOIN experiments_game game ON game.judgment_id = judgment.id
    CROSS JOIN LATERAL (SELECT CASE
        WHEN game.winner = pair.run_uids[1] THEN 1
        WHEN game.winner = pair.run_uids[2] THEN 2
        WHEN game.verdict IN ('tie', 'both_good', 'both_bad') THEN 3 ELSE 0 END) called(side)
    WHERE judgment.evaluator_id = %(evaluator)s AND judgment.judge = ''
    GROUP BY game.judgment_id
) latest_round
"""

# Most repetitions of an example decide it, in each order by itself.
_MOST = """CASE WHEN count(*) FILTER (WHERE {side} > 0) = 0 THEN 0
    ELSE (ARRAY[2, 3, 1])[2 + sign(sum(({side} = 1)::int - ({side} = 2)::int))::int] END"""

_PLAYED_BY_EXAMPLE = f"""
SELECT {_MOST.format(side="ab")} AS ab, {_MOST.format(side="ba")} AS ba
FROM ({_PLAYED.format(uid="example_uid,")}) played GROUP BY example_uid
"""  # noqa: S608

_ORDERS = """
SELECT (ARRAY['A', 'B', 'T'])[ab], (ARRAY['A', 'B', 'T'])[ba], count(*)::int8
FROM ({played}) rows WHERE ab > 0 OR ba > 0 GROUP BY 1, 2
"""

_RACE = """
SELECT coalesce(string_agg(CASE outcome
    WHEN 'a' THEN 'A' WHEN 'b' THEN 'B' WHEN 'pending' THEN 'P' ELSE 'T' END, ''
    ORDER BY rank, id), '')
FROM experiments_judgment
WHERE evaluator_id = %(evaluator)s AND judge = '' AND outcome NOT IN ('failed', 'missing')
"""

# A repeated example enters when the last of its repetitions was drawn.
_RACE_BY_EXAMPLE = """
SELECT coalesce(string_agg(CASE WHEN waits THEN 'P' WHEN lead > 0 THEN 'A' WHEN lead < 0 THEN 'B'
    ELSE 'T' END, '' ORDER BY rank), '')
FROM (
    SELECT max(rank) AS rank, bool_or(outcome = 'pending') AS waits,
           sum((outcome = 'a')::int - (outcome = 'b')::int) AS lead
    FROM experiments_judgment judgment
    JOIN experiments_pair pair ON pair.id = judgment.pair_id
    WHERE evaluator_id = %(evaluator)s AND judge = '' AND outcome NOT IN ('failed', 'missing')
    GROUP BY pair.example_uid
) example
"""

_LENGTHS = """
SELECT CASE judged.outcome WHEN 'a' THEN 1.0 WHEN 'b' THEN 0.0 ELSE 0.5 END::float8 AS score,
       length(payload_a.outputs::text) AS a, length(payload_b.outputs::text) AS b,
       pair.example_uid
FROM (
    SELECT outcome, pair_id FROM experiments_judgment
    WHERE evaluator_id = %(evaluator)s AND judge = ''
      AND outcome IN ('a', 'b', 'tie', 'both_good', 'both_bad')
    ORDER BY rank, id LIMIT %(limit)s
) judged
JOIN experiments_pair pair ON pair.id = judged.pair_id
JOIN experiments_run a ON a.workspace_id = %(workspace)s AND a.uid = pair.run_uids[1]
JOIN experiments_run b ON b.workspace_id = %(workspace)s AND b.uid = pair.run_uids[2]
JOIN experiments_runpayload payload_a ON payload_a.run_id = a.id
JOIN experiments_runpayload payload_b ON payload_b.run_id = b.id
WHERE payload_a.outputs IS NOT NULL AND payload_b.outputs IS NOT NULL
"""

_LENGTHS_BY_ROW = f"SELECT score, a, b FROM ({_LENGTHS}) pairs ORDER BY a, b, score"  # noqa: S608

_LENGTHS_BY_EXAMPLE = f"""
SELECT ((sign(sum(score - 0.5)) + 1) / 2)::float8 AS score,
       round(avg(a))::int AS a, round(avg(b))::int AS b
FROM ({_LENGTHS}) pairs GROUP BY example_uid ORDER BY 2, 3, 1
"""  # noqa: S608

_USAGE = """
SELECT count(*), count(game.reply_id), count(game.reply_id) FILTER (WHERE game.from_cache),
       coalesce(sum(game.attempts - 1), 0)::int8,
       sum(reply.prompt_tokens) FILTER (WHERE NOT game.from_cache)::int8,
       sum(reply.completion_tokens) FILTER (WHERE NOT game.from_cache)::int8,
       sum(reply.cost) FILTER (WHERE NOT game.from_cache)::float8,
       count(*) FILTER (WHERE NOT game.from_cache AND reply.id IS NOT NULL AND reply.cost IS NULL)
FROM experiments_judgment judgment
JOIN experiments_game game ON game.judgment_id = judgment.id
LEFT JOIN experiments_judgereply reply ON reply.id = game.reply_id
WHERE judgment.evaluator_id = %(evaluator)s AND judgment.judge = ''
"""

Orders = Counter[tuple[str | None, str | None]]


@dataclass(frozen=True)
class Usage:
    """What the judge's games took; tokens and cost are of calls made, not of replies found."""

    games: int
    replies: int
    from_cache: int
    repeats: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    without_price: int

    @property
    def calls(self) -> int:
        return self.replies - self.from_cache


def orders_of(evaluator: ComparisonEvaluator, *, repeated: bool = False) -> Orders:
    """Rows by their verdict with A shown first and with B shown first; None where not asked.

    Of a row that was judged again only the latest round counts; games without an order, none.
    """
    played = _PLAYED_BY_EXAMPLE if repeated else _PLAYED.format(uid="")
    found = _read(_ORDERS.format(played=played), evaluator)
    return Counter({(ab, ba): count for ab, ba, count in found})


def race_of(evaluator: ComparisonEvaluator, *, repeated: bool = False) -> str:
    """A letter per judged row (A, B or T) in the order in which rows were drawn to be judged.

    It ends before the first row still pending: rows that finish early must not come first.
    """
    letters: str = _read(_RACE_BY_EXAMPLE if repeated else _RACE, evaluator)[0][0]
    return letters.partition("P")[0]


def lengths_of(
    evaluator: ComparisonEvaluator, *, repeated: bool = False
) -> list[tuple[float, int, int]]:
    """A's score with the lengths of both stored outputs, in characters."""
    return _read(_LENGTHS_BY_EXAMPLE if repeated else _LENGTHS_BY_ROW, evaluator)


def usage_of(evaluator: ComparisonEvaluator) -> Usage:
    """Games, calls, tokens and cost, of all rounds."""
    return Usage(*_read(_USAGE, evaluator)[0])


def _read(query: str, evaluator: ComparisonEvaluator) -> list[tuple[Any, ...]]:
    values = {
        "evaluator": evaluator.pk,
        "workspace": evaluator.comparison.workspace_id,
        "limit": LENGTH_ROWS,
    }
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())
