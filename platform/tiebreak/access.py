"""Fetch what a request is about inside its workspace, or answer 404; pages and API share it."""

from typing import TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import Http404

from experiments.models import (
    Comparison,
    Dataset,
    Evaluation,
    Evaluator,
    Experiment,
    Provider,
    Run,
    Upload,
)
from tiebreak.accounts.models import Workspace

Row = TypeVar("Row", bound=Model)


def find(rows: QuerySet[Row], workspace: Workspace, uid: UUID | str) -> Row:
    """The row with this id in this workspace, or 404 with a text that names what is missing."""
    try:
        row = rows.filter(workspace=workspace, uid=UUID(str(uid))).first()
    except ValueError:
        row = None
    if row is None:
        raise Http404(f"{rows.model.__name__} not found")
    return row


def dataset(workspace: Workspace, uid: UUID | str) -> Dataset:
    return find(Dataset.objects.all(), workspace, uid)


def experiment(workspace: Workspace, uid: UUID | str) -> Experiment:
    return find(Experiment.objects.select_related("dataset"), workspace, uid)


def run(workspace: Workspace, uid: UUID | str) -> Run:
    return find(Run.objects.select_related("experiment", "payload"), workspace, uid)


def comparison(workspace: Workspace, uid: UUID | str) -> Comparison:
    return find(Comparison.objects.select_related("dataset", "job"), workspace, uid)


def evaluator(workspace: Workspace, uid: UUID | str) -> Evaluator:
    return find(Evaluator.objects.select_related("provider"), workspace, uid)


def evaluation(workspace: Workspace, uid: UUID | str) -> Evaluation:
    rows = Evaluation.objects.select_related("experiment__dataset", "evaluator", "job")
    return find(rows, workspace, uid)


def provider(workspace: Workspace, uid: UUID | str) -> Provider:
    return find(Provider.objects.filter(archived_at=None), workspace, uid)


def upload(workspace: Workspace, uid: UUID | str) -> Upload:
    return find(Upload.objects.select_related("dataset"), workspace, uid)
