"""Taking in runs and feedback: committed before the client hears that they were accepted."""

from collections.abc import Sequence
from uuid import UUID

from django.db import IntegrityError, transaction

from experiments.services.attachments import attach_to_runs
from experiments.services.experiments import (
    DEFAULT_NAME,
    ensure_experiments,
    ensure_experiments_by_uid,
)
from experiments.services.feedback import FeedbackEntry, catch_up, write_feedback
from experiments.services.run_pieces import RunPiece, fold
from experiments.services.run_rows import place_children, upsert_payloads, upsert_runs
from experiments.services.summaries import outdate
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
    place_children(workspace, folded)
    catch_up(workspace, runs=[piece.uid for piece in folded], feedback=feedback)


def _store(
    workspace: Workspace, pieces: Sequence[RunPiece], feedback: Sequence[FeedbackEntry]
) -> None:
    experiments = _experiments(workspace, pieces)
    touched: set[int] = set()
    with transaction.atomic():
        if pieces:
            ids, touched = upsert_runs(workspace, pieces, experiments)
            upsert_payloads(pieces, ids)
            attach_to_runs(workspace, pieces, ids)
        outdate(touched | write_feedback(workspace, feedback))


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
