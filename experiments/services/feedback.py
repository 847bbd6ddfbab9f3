"""Writes of feedback: stored once per id, and kept when its run has not come yet."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from experiments.columns import array, fetch, write_rows
from experiments.models import Feedback
from experiments.services.experiments import known_experiments
from experiments.services.feedback_configs import note_configs
from experiments.services.scripted import (
    evaluator_call,
    note_orders,
    places_of_feedback,
    places_of_runs,
    settle,
)
from experiments.services.summaries import outdate
from tiebreak.accounts.models import Workspace

DEFAULT_SOURCE = '{"type":"api"}'


@dataclass
class FeedbackEntry:
    """Feedback as it comes in; texts are JSON. `experiment_uid` is what the client named."""

    uid: UUID
    key: str
    run_uid: UUID | None = None
    trace_uid: UUID | None = None
    experiment_uid: UUID | None = None
    score: float | None = None
    score_text: str | None = None
    value: str | None = None
    comment: str | None = None
    correction: str | None = None
    source: str = DEFAULT_SOURCE
    source_type: str = "api"
    extra: str | None = None
    is_error: bool = False
    comparison_uid: UUID | None = None
    group_uid: UUID | None = None
    created_at: datetime | None = None
    modified_at: datetime | None = None
    config: str | None = None


_COLUMNS = {
    "workspace_id": "bigint",
    "uid": "uuid",
    "created_at": "timestamptz",
    "run_uid": "uuid",
    "trace_uid": "uuid",
    "experiment_id": "bigint",
    "key": "text",
    "score": "double precision",
    "score_text": "text",
    "value": "json",
    "comment": "json",
    "correction": "json",
    "source_type": "text",
    "source": "json",
    "extra": "json",
    "is_error": "boolean",
    "comparison_uid": "uuid",
    "group_uid": "uuid",
    "modified_at": "timestamptz",
}
_EXPERIMENT = list(_COLUMNS).index("experiment_id")
_KEPT = ("workspace_id", "uid", "created_at")
_UPSERT = (
    f"INSERT INTO experiments_feedback ({', '.join(_COLUMNS)}) SELECT * FROM unnest("  # noqa: S608
    + ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(_COLUMNS.values(), 1))
    + ") ON CONFLICT (workspace_id, uid) DO UPDATE SET "
    + ", ".join(f"{name} = EXCLUDED.{name}" for name in _COLUMNS if name not in _KEPT)
    + " RETURNING uid, id"
)
_RUNS = """
SELECT uid, trace_uid, experiment_id FROM experiments_run
WHERE workspace_id = $1 AND uid = ANY($2::uuid[])
"""
# What may wait for runs: feedback without its trace, and feedback in a comparison.
_WAITING = """
SELECT EXISTS (
    SELECT FROM experiments_feedback
    WHERE workspace_id = $1 AND run_uid = ANY($2::uuid[])
    AND (trace_uid IS NULL OR experiment_id IS NULL)
), EXISTS (
    SELECT FROM experiments_feedback
    WHERE workspace_id = $1 AND run_uid = ANY($3::uuid[]) AND comparison_uid IS NOT NULL
)
"""


def store_feedback(*, workspace: Workspace, entries: Sequence[FeedbackEntry]) -> None:
    """Store feedback and make judgments of what names a comparison; sent twice, it is one."""
    with transaction.atomic():
        outdate(write_feedback(workspace, entries))
    catch_up(workspace, feedback=entries)


def write_feedback(workspace: Workspace, entries: Sequence[FeedbackEntry]) -> set[int]:
    """The part of storing that belongs into one transaction with the runs of the same request.

    Gives the experiments whose scores have changed by it.
    """
    latest = {entry.uid: entry for entry in entries}
    entries = [latest[uid] for uid in sorted(latest)]
    if not entries:
        return set()
    runs = _runs(workspace, {e.run_uid for e in entries if e.run_uid})
    experiments = _experiments(workspace, {e.experiment_uid for e in entries if e.experiment_uid})
    rows = [_row(workspace, entry, runs, experiments) for entry in entries]
    ids = dict(write_rows(_UPSERT, rows))
    note_configs(workspace, {e.key: e.config for e in entries if e.config})
    compared = [ids[entry.uid] for entry in entries if entry.comparison_uid]
    if compared:
        settle(places_of_feedback(workspace, compared))
    return {row[_EXPERIMENT] for row in rows if row[_EXPERIMENT] is not None}


def _runs(workspace: Workspace, uids: Collection[UUID]) -> dict[UUID, tuple[UUID, int]]:
    """Trace and experiment by run."""
    rows = fetch(_RUNS, [workspace.pk, array(uids)]) if uids else []
    return {uid: (trace, experiment) for uid, trace, experiment in rows}


def _experiments(workspace: Workspace, uids: Collection[UUID]) -> dict[UUID, int]:
    return known_experiments(workspace, uids) if uids else {}


def _row(
    workspace: Workspace,
    entry: FeedbackEntry,
    runs: dict[UUID, tuple[UUID, int]],
    experiments: dict[UUID, int],
) -> list[Any]:
    named = experiments.get(entry.experiment_uid) if entry.experiment_uid else None
    trace, experiment = entry.trace_uid, named
    if entry.run_uid in runs:
        trace, experiment = runs[entry.run_uid]
    moment = timezone.now()
    return [
        workspace.pk,
        entry.uid,
        entry.created_at or moment,
        entry.run_uid,
        trace,
        experiment,
        entry.key,
        entry.score,
        entry.score_text,
        entry.value,
        entry.comment,
        entry.correction,
        entry.source_type,
        entry.source,
        entry.extra,
        entry.is_error,
        entry.comparison_uid,
        entry.group_uid,
        entry.modified_at or entry.created_at or moment,
    ]


def catch_up(
    workspace: Workspace, *, runs: Sequence[UUID] = (), feedback: Sequence[FeedbackEntry] = ()
) -> None:
    """Join what waited for each other: feedback and its run, a verdict and the judge's call.

    Called when the rows are committed: of two requests that could not see each other, one holding
    the run and one its feedback, the later one finds both.
    """
    judged = [entry.run_uid for entry in feedback if entry.run_uid]
    calls = [evaluator_call(entry.source) for entry in feedback if entry.comparison_uid]
    if runs or judged:
        both = [*runs, *judged]
        [(unlinked, compared)] = fetch(_WAITING, [workspace.pk, array(both), array(runs)])
        if unlinked:
            _link(workspace, both)
        if unlinked or compared:
            settle(places_of_runs(workspace, both))
            calls += _calls_about(workspace, both)
    if waiting := [*runs, *filter(None, calls)]:
        note_orders(workspace, waiting)


def _calls_about(workspace: Workspace, runs: Sequence[UUID]) -> list[UUID | None]:
    """The evaluators' calls that compared these runs: their games may have been written anew."""
    rows = Feedback.objects.filter(
        workspace=workspace, run_uid__in=runs, comparison_uid__isnull=False
    )
    return [evaluator_call(source) for source in rows.values_list("source", flat=True)]


@transaction.atomic
def _link(workspace: Workspace, run_uids: Sequence[UUID]) -> None:
    """Tell feedback the trace and the experiment of its run."""
    unlinked = Q(trace_uid=None) | Q(experiment=None)
    waiting = Feedback.objects.filter(unlinked, workspace=workspace, run_uid__in=run_uids)
    known = _runs(workspace, {uid for uid in waiting.values_list("run_uid", flat=True) if uid})
    for uid, (trace, experiment) in known.items():
        rows = Feedback.objects.filter(workspace=workspace, run_uid=uid)
        rows.update(trace_uid=trace, experiment=experiment)
    outdate(experiment for _, experiment in known.values())


def update_feedback(feedback: Feedback, changes: dict[str, object]) -> Feedback:
    """Change score, value, comment or correction; a judgment that hangs on it follows."""
    with transaction.atomic():
        Feedback.objects.filter(pk=feedback.pk).update(**changes, modified_at=timezone.now())
        if feedback.comparison_uid:
            settle(places_of_feedback(feedback.workspace, [feedback.pk]))
        outdate([feedback.experiment_id])
    if feedback.comparison_uid and (call := evaluator_call(feedback.source)):
        note_orders(feedback.workspace, [call])
    feedback.refresh_from_db()
    return feedback


@transaction.atomic
def delete_feedback(feedback: Feedback) -> None:
    """Delete feedback; a judgment that stands on it goes, or falls back on an earlier call."""
    places = places_of_feedback(feedback.workspace, [feedback.pk])
    feedback.delete()
    settle(places)
    outdate([feedback.experiment_id])


def known_comparisons(workspace: Workspace, uids: Iterable[UUID]) -> set[UUID]:
    """Those of these pairwise experiments that exist."""
    return {uid for (uid,) in fetch(_COMPARISONS, [workspace.pk, array(uids)])}


_COMPARISONS = """
SELECT uid FROM experiments_comparison WHERE workspace_id = $1 AND uid = ANY($2::uuid[])
"""
