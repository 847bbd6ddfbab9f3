"""The one door through which a judgment is completed: a lane, a script or a person knocks here."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import fmean
from uuid import UUID

from django.db import transaction

from experiments.models import (
    Comparison,
    ComparisonEvaluator,
    Example,
    ExampleRevision,
    Feedback,
    Game,
    Judgment,
    Outcome,
    OutcomeDelta,
    Pair,
    Run,
)
from experiments.rawjson import NotJsonError, loads
from experiments.services.judgment_rows import (
    Decided,
    apply_verdict,
    count_changes,
    write_feedback,
    write_games,
    write_scores,
)
from experiments.services.reports import outdate
from experiments.verdicts import GameResult, Verdict, outcome_of_scores
from tiebreak.accounts.models import Workspace

RUN_TAG = "run:"


@transaction.atomic
def record_judgments(
    comparison: Comparison, decided: Sequence[Decided], *, with_feedback: bool = True
) -> None:
    """Store verdicts with their games, scores and counts; sent twice, they are stored once."""
    by_id = {item.judgment_id: item for item in decided}
    rows = list(
        Judgment.objects.select_for_update(of=("self",))
        .filter(comparison=comparison, pk__in=by_id)
        .select_related("pair", "evaluator")
        .order_by("pk")
    )
    count_changes(rows, {row.pk: by_id[row.pk].verdict for row in rows})
    for row in rows:
        apply_verdict(row, by_id[row.pk].verdict)
    Judgment.objects.bulk_update(
        rows, ["outcome", "order_changed", "reason", "error", "judged_at"], batch_size=500
    )
    write_games(rows, by_id)
    write_scores(rows, by_id)
    if with_feedback:
        write_feedback(comparison, rows, by_id)
    outdate(row.evaluator_id for row in rows)


def settle_feedback(*, workspace: Workspace, feedback_ids: Sequence[int]) -> None:
    """Make judgments of comparative feedback whose runs are there; the rest waits for its run."""
    rows = Feedback.objects.filter(workspace=workspace, pk__in=feedback_ids).exclude(
        comparison_uid=None
    )
    touched = {
        (row.comparison_uid, row.key, row.run_uid)
        for row in rows
        if row.run_uid and row.comparison_uid
    }
    comparisons = _comparisons(workspace, {uid for uid, _, _ in touched})
    examples = dict(
        Run.objects.filter(workspace=workspace, uid__in={run for _, _, run in touched}).values_list(
            "uid", "example_uid"
        )
    )
    places = {
        (uid, key, example)
        for uid, key, run in touched
        if uid in comparisons and (example := examples.get(run)) is not None
    }
    for uid, key, example_uid in sorted(places, key=str):
        _settle_example(comparisons[uid], key, example_uid)


def settle_runs(*, workspace: Workspace, run_uids: Sequence[UUID]) -> None:
    """Catch up when runs arrive late: judged ones, and a script's traced evaluator calls."""
    waiting = Feedback.objects.filter(
        workspace=workspace, run_uid__in=run_uids, comparison_uid__isnull=False
    )
    settle_feedback(workspace=workspace, feedback_ids=list(waiting.values_list("pk", flat=True)))
    games = Game.objects.filter(
        evaluator_run_uid__in=run_uids,
        order_shown=[],
        judgment__comparison__workspace=workspace,
    ).select_related("judgment__pair")
    _note_orders(workspace, list(games))


def _comparisons(workspace: Workspace, uids: Iterable[UUID]) -> dict[UUID, Comparison]:
    rows = Comparison.objects.filter(workspace=workspace, uid__in=uids).prefetch_related("sides")
    return {row.uid: row for row in rows}


@transaction.atomic
def _settle_example(comparison: Comparison, key: str, example_uid: UUID) -> None:
    """Judge one example anew from all feedback that this script sent about it."""
    judgment = _locked_judgment(comparison, key, example_uid)
    if judgment is None:
        return
    sides = {side.experiment_id: side.position for side in comparison.sides.all()}
    runs = {
        uid: sides[experiment]
        for uid, experiment in Run.objects.filter(
            workspace=comparison.workspace_id, experiment__in=sides, example_uid=example_uid
        ).values_list("uid", "experiment_id")
    }
    given = Feedback.objects.filter(
        workspace=comparison.workspace_id,
        comparison_uid=comparison.uid,
        key=key,
        run_uid__in=runs,
        score__isnull=False,
    )
    group = _newest_group(given)
    scores = _mean_by_side(group, runs)
    if 0 in scores and 1 in scores and not judgment.games.filter(by_hand=True).exists():
        _decide(comparison, judgment, group, scores)


def _locked_judgment(comparison: Comparison, key: str, example_uid: UUID) -> Judgment | None:
    """The judgment of this pair, made if need be; its pair stays locked until the commit."""
    pair = Pair.objects.filter(comparison=comparison, example_uid=example_uid, repetition=0)
    if not pair.exists() and not _add_pair(comparison, example_uid):
        return None
    locked = pair.select_for_update().get()
    evaluator, _ = ComparisonEvaluator.objects.get_or_create(comparison=comparison, key=key)
    judgment, created = Judgment.objects.get_or_create(
        pair=locked,
        evaluator=evaluator,
        judge="",
        defaults={"comparison": comparison, "position": locked.position, "rank": locked.position},
    )
    if created:
        OutcomeDelta.objects.bulk_create(
            OutcomeDelta(evaluator=evaluator, split=split, outcome=Outcome.PENDING, amount=1)
            for split in ["", *locked.splits]
        )
    return judgment


def _add_pair(comparison: Comparison, example_uid: UUID) -> bool:
    example = Example.objects.filter(workspace=comparison.workspace_id, uid=example_uid).first()
    if example is None:
        return False
    moment = comparison.dataset_version or datetime.max.replace(tzinfo=UTC)
    revision = (
        ExampleRevision.objects.filter(example=example, valid_from__lte=moment)
        .order_by("-valid_from")
        .first()
    )
    Pair.objects.bulk_create(
        [
            Pair(
                comparison=comparison,
                example_uid=example_uid,
                revision=revision,
                position=example.pk,
                run_uids=_first_runs(comparison, example_uid),
                splits=revision.splits if revision else [],
            )
        ],
        ignore_conflicts=True,
    )
    return True


def _first_runs(comparison: Comparison, example_uid: UUID) -> list[UUID | None]:
    """For each side its first run of this example: the one that the page shows."""
    found: dict[int, UUID] = {}
    runs = Run.objects.filter(
        experiment__in=[side.experiment_id for side in comparison.sides.all()],
        example_uid=example_uid,
        is_root=True,
    ).order_by("start_time", "pk")
    for experiment, uid in runs.values_list("experiment_id", "uid"):
        found.setdefault(experiment, uid)
    return [found.get(side.experiment_id or 0) for side in comparison.sides.all()]


def _newest_group(given: Iterable[Feedback]) -> list[Feedback]:
    """The feedback of the last call of the evaluator; without a group id, grouped by that call."""
    groups: dict[object, list[Feedback]] = defaultdict(list)
    for row in given:
        groups[row.group_uid or evaluator_run(row)].append(row)
    return max(groups.values(), key=lambda rows: max(r.modified_at for r in rows), default=[])


def _mean_by_side(group: Sequence[Feedback], runs: dict[UUID, int]) -> dict[int, float]:
    """Scores by side, repetitions averaged."""
    scores: dict[int, list[float]] = defaultdict(list)
    for row in group:
        if row.score is not None and row.run_uid is not None:
            scores[runs[row.run_uid]].append(row.score)
    return {side: fmean(values) for side, values in scores.items()}


def _decide(
    comparison: Comparison, judgment: Judgment, group: Sequence[Feedback], scores: dict[int, float]
) -> None:
    runs = judgment.pair.run_uids
    outcome = outcome_of_scores(scores[0], scores[1])
    place = {Outcome.A: 0, Outcome.B: 1}.get(outcome)
    verdict = Verdict(
        outcome,
        {run: scores[side] for side, run in enumerate(runs) if run and side in scores},
        reason=next((_text(row.comment) for row in group if row.comment), ""),
    )
    played = GameResult(
        order_shown=(),
        verdict="tie" if place is None else "decided",
        winner=None if place is None else runs[place],
        reason=verdict.reason,
        evaluator_run_uid=next(filter(None, map(evaluator_run, group)), None),
    )
    Game.objects.filter(judgment=judgment).delete()
    record_judgments(comparison, [Decided(judgment.pk, verdict, [played])], with_feedback=False)
    _note_orders(comparison.workspace, list(judgment.games.filter(order_shown=[])))


def _note_orders(workspace: Workspace, games: Sequence[Game]) -> None:
    """Read the order shown from the tags of the script's traced evaluator calls."""
    calls = {game.evaluator_run_uid for game in games if game.evaluator_run_uid}
    if not calls:
        return
    tags = dict(Run.objects.filter(workspace=workspace, uid__in=calls).values_list("uid", "tags"))
    for game in games:
        shown = _runs_in_tags(tags.get(game.evaluator_run_uid, []))  # type: ignore[arg-type]
        if shown:
            place = shown.index(game.winner) if game.winner in shown else None
            verdict = game.verdict if place is None else ("first", "second", "third")[min(place, 2)]
            # By key: the game may have been replaced by a later score meanwhile.
            Game.objects.filter(pk=game.pk).update(order_shown=shown, verdict=verdict)
    outdate(game.judgment.evaluator_id for game in games)


def _runs_in_tags(tags: Sequence[str]) -> list[UUID]:
    try:
        return [UUID(tag.removeprefix(RUN_TAG)) for tag in tags if tag.startswith(RUN_TAG)]
    except ValueError:
        return []


def evaluator_run(row: Feedback) -> UUID | None:
    """The traced call of the evaluator that gave this feedback, where the script says it."""
    try:
        source = loads(row.source)
        return UUID(source["metadata"]["__run"]["run_id"])
    except (NotJsonError, KeyError, TypeError, ValueError):
        return None


def _text(comment: str | None) -> str:
    return str(loads(comment)) if comment else ""
