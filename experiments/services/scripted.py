"""Verdicts that scripts send as feedback: made into judgments, whichever comes first, run or mark.

All statements are about many examples at once, and prepared: a script sends its marks one by one.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from statistics import fmean
from typing import Any
from uuid import UUID

from django.db import transaction

from experiments.columns import array, fetch
from experiments.models import Comparison, ComparisonEvaluator, Game, Outcome, Pair
from experiments.rawjson import NotJsonError, loads, loads_quickly
from experiments.services.judgment_rows import Decided
from experiments.services.judgments import add_judgments, forget_judgments, record_judgments
from experiments.verdicts import GameResult, Verdict, outcome_of_scores
from tiebreak.accounts.models import Workspace

RUN_TAG = "run:"
PLACES = ("first", "second", "third")

_PLACES = """
SELECT DISTINCT c.id, f.key, r.example_uid FROM experiments_feedback f
JOIN experiments_comparison c ON c.workspace_id = f.workspace_id AND c.uid = f.comparison_uid
JOIN experiments_run r ON r.workspace_id = f.workspace_id AND r.uid = f.run_uid
WHERE f.workspace_id = $1 AND f.comparison_uid IS NOT NULL AND r.example_uid IS NOT NULL
"""
_PLACES_OF_FEEDBACK = _PLACES + "AND f.id = ANY($2::bigint[])"
_PLACES_OF_RUNS = _PLACES + "AND f.run_uid = ANY($2::uuid[])"

_MARKS = """
SELECT r.example_uid, r.uid, s.position, f.score, f.comment::text, f.group_uid, f.source::text,
    f.modified_at
FROM experiments_comparisonside s
JOIN experiments_comparison c ON c.id = s.comparison_id
JOIN experiments_run r
    ON r.experiment_id = s.experiment_id AND r.is_root AND r.example_uid = ANY($3::uuid[])
JOIN experiments_feedback f
    ON f.workspace_id = c.workspace_id AND f.run_uid = r.uid AND f.key = $2
    AND f.comparison_uid = c.uid AND f.score IS NOT NULL
WHERE s.comparison_id = $1
"""

_EVALUATOR = """
SELECT id, evaluator_id FROM experiments_comparisonevaluator WHERE comparison_id = $1 AND key = $2
"""

# For each side its first run of the example: the one that the page shows.
_ADD_PAIRS = """
INSERT INTO experiments_pair
    (comparison_id, example_uid, repetition, revision_id, position, run_uids, splits)
SELECT c.id, e.uid, 0, v.id, e.id, ARRAY(
    SELECT (
        SELECT r.uid FROM experiments_run r
        WHERE r.experiment_id = s.experiment_id AND r.is_root AND r.example_uid = e.uid
        ORDER BY r.start_time, r.id LIMIT 1
    ) FROM experiments_comparisonside s WHERE s.comparison_id = c.id ORDER BY s.position
), COALESCE(v.splits, '{}')
FROM experiments_comparison c
JOIN experiments_example e ON e.workspace_id = c.workspace_id AND e.uid = ANY($2::uuid[])
LEFT JOIN LATERAL (
    SELECT id, splits FROM experiments_examplerevision
    WHERE example_id = e.id AND valid_from <= COALESCE(c.dataset_version, 'infinity')
    ORDER BY valid_from DESC LIMIT 1
) v ON true
WHERE c.id = $1 ORDER BY e.id
ON CONFLICT DO NOTHING
"""
_LOCK_PAIRS = """
SELECT id, example_uid, run_uids, position FROM experiments_pair
WHERE comparison_id = $1 AND example_uid = ANY($2::uuid[]) AND repetition = 0
ORDER BY id FOR UPDATE
"""
_JUDGMENTS = """
SELECT pair_id, id, outcome, EXISTS (
    SELECT FROM experiments_game g WHERE g.judgment_id = j.id AND g.by_hand
) FROM experiments_judgment j
WHERE pair_id = ANY($1::bigint[]) AND evaluator_id = $2 AND judge = ''
"""

_UNORDERED = """
SELECT g.id, g.winner, g.verdict, r.tags, p.inputs::text FROM experiments_game g
JOIN experiments_judgment j ON j.id = g.judgment_id
JOIN experiments_comparison c ON c.id = j.comparison_id AND c.workspace_id = $1
JOIN experiments_run r ON r.workspace_id = $1 AND r.uid = g.evaluator_run_uid
LEFT JOIN experiments_runpayload p ON p.run_id = r.id
WHERE g.evaluator_run_uid = ANY($2::uuid[]) AND g.order_shown = '{}'
"""

Place = tuple[int, str, UUID]


@dataclass(frozen=True)
class Mark:
    """A score that a script gave to one run of a comparison."""

    example_uid: UUID
    run_uid: UUID
    side: int
    score: float
    comment: str | None
    group_uid: UUID | None
    source: str
    modified_at: datetime

    @property
    def call(self) -> UUID | None:
        return evaluator_call(self.source)


@dataclass(frozen=True)
class LockedPair:
    pk: int
    example_uid: UUID
    run_uids: list[UUID | None]
    position: int


def places_of_feedback(workspace: Workspace, ids: Iterable[int]) -> list[Place]:
    """What is judged by this feedback, as far as its runs are there."""
    return [_place(row) for row in fetch(_PLACES_OF_FEEDBACK, [workspace.pk, array(ids)])]


def places_of_runs(workspace: Workspace, uids: Iterable[UUID]) -> list[Place]:
    """What is judged by the feedback on these runs."""
    return [_place(row) for row in fetch(_PLACES_OF_RUNS, [workspace.pk, array(uids)])]


def _place(row: Sequence[Any]) -> Place:
    comparison, key, example = row
    return comparison, key, example


def settle(places: Iterable[Place]) -> None:
    """Judge examples anew from all marks that stand; without marks the judgment goes."""
    by_key: dict[tuple[int, str], list[UUID]] = defaultdict(list)
    for comparison, key, example in places:
        by_key[comparison, key].append(example)
    for (comparison, key), examples in sorted(by_key.items()):
        _settle(comparison, key, sorted(examples))


@transaction.atomic(savepoint=False)
def _settle(comparison_id: int, key: str, examples: Sequence[UUID]) -> None:
    evaluator, launched = _evaluator(comparison_id, key)
    if launched is not None:
        return  # Its verdicts are made here; what a script says about them is feedback only.
    pairs = _locked_pairs(comparison_id, examples)
    rows = fetch(_JUDGMENTS, [array(pair.pk for pair in pairs), evaluator])
    # What a person has put right stays.
    pairs = [p for p in pairs if p.pk not in {pair for pair, *_, by_hand in rows if by_hand}]
    judged = {pair: (pk, outcome) for pair, pk, outcome, _ in rows}
    groups = _newest_groups(_marks(comparison_id, key, examples))
    scores = {p.pk: _mean_by_side(groups.get(p.example_uid, [])) for p in pairs}
    lost = [p.pk for p in pairs if p.pk in judged and _is_lost(scores[p.pk], judged[p.pk][1])]
    if lost:
        forget_judgments([judged.pop(pair)[0] for pair in lost])
    new = [p.pk for p in pairs if p.pk not in judged and scores[p.pk]]
    ids = {pair: pk for pair, (pk, _) in judged.items()} | add_judgments(evaluator, new)
    if lost and not new:
        Pair.objects.filter(pk__in=lost, judgments=None).delete()
    decided = [
        _decided(ids[p.pk], p, groups[p.example_uid], scores[p.pk])
        for p in pairs
        if _is_complete(scores[p.pk])
    ]
    if decided:
        earlier = [pk for pk, outcome in judged.values() if outcome != Outcome.PENDING]
        if earlier:
            Game.objects.filter(judgment__in=earlier).delete()
        record_judgments(Comparison(pk=comparison_id), decided, with_feedback=False)


def _evaluator(comparison_id: int, key: str) -> tuple[int, int | None]:
    """Its primary key, and the evaluator it was launched with, if it was."""
    found = fetch(_EVALUATOR, [comparison_id, key])
    if found:
        pk, launched = found[0]
        return pk, launched
    row, _ = ComparisonEvaluator.objects.get_or_create(comparison_id=comparison_id, key=key)
    return row.pk, row.evaluator_id


def _is_complete(scores: dict[int, float]) -> bool:
    return 0 in scores and 1 in scores


def _is_lost(scores: dict[int, float], outcome: str) -> bool:
    return not scores or (outcome != Outcome.PENDING and not _is_complete(scores))


def _locked_pairs(comparison_id: int, examples: Sequence[UUID]) -> list[LockedPair]:
    """The pairs of these examples, made if need be; they stay locked until the commit."""
    arguments = [comparison_id, array(examples)]
    rows = fetch(_LOCK_PAIRS, arguments)
    if len(rows) < len(examples):
        fetch(_ADD_PAIRS, arguments)
        rows = fetch(_LOCK_PAIRS, arguments)
    return [LockedPair(*row) for row in rows]


def _marks(comparison_id: int, key: str, examples: Sequence[UUID]) -> list[Mark]:
    return [Mark(*row) for row in fetch(_MARKS, [comparison_id, key, array(examples)])]


def _newest_groups(marks: Iterable[Mark]) -> dict[UUID, list[Mark]]:
    """By example the marks of the evaluator's last call; without a group id, grouped by call."""
    groups: dict[UUID, dict[object, list[Mark]]] = defaultdict(lambda: defaultdict(list))
    for mark in marks:
        groups[mark.example_uid][mark.group_uid or mark.call].append(mark)
    return {
        example: max(calls.values(), key=lambda group: max(map(attrgetter("modified_at"), group)))
        for example, calls in groups.items()
    }


def _mean_by_side(group: Iterable[Mark]) -> dict[int, float]:
    """Scores by side, repetitions averaged."""
    scores: dict[int, list[float]] = defaultdict(list)
    for mark in group:
        scores[mark.side].append(mark.score)
    return {side: fmean(values) for side, values in scores.items()}


def _decided(
    judgment_id: int, pair: LockedPair, group: Sequence[Mark], scores: dict[int, float]
) -> Decided:
    outcome = outcome_of_scores(scores[0], scores[1])
    side = {Outcome.A: 0, Outcome.B: 1}.get(outcome)
    reason = next((str(loads(mark.comment)) for mark in group if mark.comment), "")
    verdict = Verdict(
        outcome,
        {run: scores[side] for side, run in enumerate(pair.run_uids) if run and side in scores},
        reason=reason,
    )
    game = GameResult(
        order_shown=(),
        verdict="tie" if side is None else "decided",
        winner=None if side is None else pair.run_uids[side],
        reason=reason,
        evaluator_run_uid=next(filter(None, (mark.call for mark in group)), None),
    )
    return Decided(judgment_id, verdict, [game])


def note_orders(workspace: Workspace, calls: Iterable[UUID]) -> None:
    """Read the order shown from the script's traced calls; after the commit of game or call."""
    for game, winner, verdict, tags, inputs in fetch(_UNORDERED, [workspace.pk, array(calls)]):
        shown = _runs_in_tags(tags) or _runs_in_inputs(inputs)
        if shown:
            place = shown.index(winner) if winner in shown else None
            told = verdict if place is None else PLACES[min(place, 2)]
            # By key: the game may have been replaced by a later score meanwhile.
            Game.objects.filter(pk=game).update(order_shown=shown, verdict=told)


def _runs_in_tags(tags: Sequence[str]) -> list[UUID]:
    return _uuids(tag.removeprefix(RUN_TAG) for tag in tags if tag.startswith(RUN_TAG))


def _runs_in_inputs(text: str | None) -> list[UUID]:
    """The TypeScript SDK sets no tags; its evaluator's first argument is the list of runs."""
    try:
        runs = loads_quickly(text or "null")["args"][0]
        return _uuids(run["id"] for run in runs if isinstance(runs, list))
    except (NotJsonError, KeyError, TypeError, IndexError):
        return []


def _uuids(texts: Iterable[str]) -> list[UUID]:
    try:
        return [UUID(text) for text in texts]
    except (ValueError, AttributeError):
        return []


def evaluator_call(source: str) -> UUID | None:
    """The traced call of the evaluator that gave this feedback, where the script says it."""
    if '"__run"' not in source:
        return None
    try:
        return UUID(loads_quickly(source)["metadata"]["__run"]["run_id"])
    except (NotJsonError, KeyError, TypeError, ValueError, AttributeError):
        return None
