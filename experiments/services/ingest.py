"""Taking in runs and feedback: committed before the client hears that they were accepted."""

from collections.abc import Sequence
from uuid import UUID

from django.db import IntegrityError, transaction

from experiments.columns import array, fetch
from experiments.models import Run
from experiments.services import judgments
from experiments.services.attachments import attach_to_runs
from experiments.services.experiments import (
    DEFAULT_NAME,
    ensure_experiments,
    ensure_experiments_by_uid,
)
from experiments.services.feedback import FeedbackEntry, link_feedback, write_feedback
from experiments.services.run_pieces import RunPiece, fold
from experiments.services.run_rows import Parent, upsert_payloads, upsert_runs
from tiebreak.accounts.models import Workspace


def ingest(
    *,
    workspace: Workspace,
    pieces: Sequence[RunPiece],
    feedback: Sequence[FeedbackEntry] = (),
) -> None:
    """Store openings and updates of runs, and feedback; in any order, any number of times."""
    folded = fold(pieces)
    try:
        _store(workspace, folded, feedback)
    except IntegrityError:
        # An experiment was deleted between its being found and its runs being written.
        _store(workspace, folded, feedback)
    _catch_up(workspace, folded, feedback)


def _store(
    workspace: Workspace, pieces: Sequence[RunPiece], feedback: Sequence[FeedbackEntry]
) -> None:
    experiments = _experiments(workspace, pieces)
    with transaction.atomic():
        if pieces:
            ids = upsert_runs(workspace, pieces, experiments, _parents(workspace, pieces))
            upsert_payloads(pieces, ids)
            attach_to_runs(workspace, pieces, ids)
        write_feedback(workspace, feedback)


# What may wait for runs: feedback without its trace or for a comparison, and a judge's traced call.
_WAITING = """
SELECT EXISTS (
    SELECT FROM experiments_feedback
    WHERE workspace_id = $1 AND run_uid = ANY($2::uuid[])
    AND (trace_uid IS NULL OR experiment_id IS NULL OR comparison_uid IS NOT NULL)
), EXISTS (
    SELECT FROM experiments_game
    WHERE evaluator_run_uid = ANY($2::uuid[]) AND order_shown = '{}'
)
"""


def _catch_up(
    workspace: Workspace, pieces: Sequence[RunPiece], feedback: Sequence[FeedbackEntry]
) -> None:
    """What waited for these runs, seen only after the commit of whoever came first."""
    runs = [piece.uid for piece in pieces]
    judged = [entry.run_uid for entry in feedback if entry.run_uid]
    if not runs and not judged:
        return
    uids = array([*runs, *judged])
    [(marks, orders)] = fetch(_WAITING, [workspace.pk, uids])
    if marks:
        link_feedback(workspace, run_uids=[*runs, *judged])
    if runs and (marks or orders):
        judgments.settle_runs(workspace=workspace, run_uids=runs)


def _experiments(workspace: Workspace, pieces: Sequence[RunPiece]) -> dict[UUID, int]:
    """The experiment of each run by its id; one that nobody made yet is made here."""
    uids = {p.experiment_uid for p in pieces if p.experiment_uid}
    by_uid = ensure_experiments_by_uid(workspace=workspace, uids=uids)
    names = {p.experiment_name or DEFAULT_NAME for p in pieces if not p.experiment_uid}
    by_name = ensure_experiments(workspace=workspace, names=names)
    return {
        p.uid: by_uid[p.experiment_uid]
        if p.experiment_uid
        else by_name[p.experiment_name or DEFAULT_NAME]
        for p in pieces
    }


def _parents(workspace: Workspace, pieces: Sequence[RunPiece]) -> dict[UUID, Parent]:
    """The parents, by run, of runs that name one but not their place in the trace."""
    wanted = {p.uid: p.parent_uid for p in pieces if p.parent_uid and not p.dotted_order}
    if not wanted:
        return {}
    rows = Run.objects.filter(workspace=workspace, uid__in=set(wanted.values()))
    known = {
        uid: Parent(trace, order)
        for uid, trace, order in rows.values_list("uid", "trace_uid", "dotted_order")
        if order
    }
    return {uid: known[parent] for uid, parent in wanted.items() if parent in known}
