"""Runs as the API reads them: filters, newest first, pages by key."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from experiments.filters.runs import run_condition
from experiments.models import Experiment, Run
from tiebreak.accounts.models import Workspace


@dataclass(frozen=True)
class RunQuestion:
    """What a client asks for; None leaves a condition out."""

    experiment_uids: Sequence[UUID] | None = None
    uids: Sequence[UUID] | None = None
    trace_uid: UUID | None = None
    parent_uid: UUID | None = None
    example_uids: Sequence[UUID] | None = None
    dataset_uid: UUID | None = None
    run_type: str | None = None
    is_root: bool | None = None
    has_error: bool | None = None
    started_from: datetime | None = None
    started_until: datetime | None = None
    ended_until: datetime | None = None
    search: str | None = None
    filter: str | None = None
    trace_filter: str | None = None
    tree_filter: str | None = None


@dataclass(frozen=True)
class RunPage:
    runs: list[Run]
    last: tuple[datetime, int] | None = field(default=None)


def matching_runs(workspace: Workspace, question: RunQuestion) -> QuerySet[Run]:
    """The runs of a workspace that meet every condition."""
    rows = Run.objects.filter(workspace=workspace)
    plain = {
        "uid__in": question.uids,
        "trace_uid": question.trace_uid,
        "parent_uid": question.parent_uid,
        "example_uid__in": question.example_uids,
        "experiment__dataset__uid": question.dataset_uid,
        "run_type": question.run_type,
        "is_root": question.is_root,
        "start_time__gte": question.started_from,
        "start_time__lte": question.started_until,
        "end_time__lte": question.ended_until,
        "payload__search__icontains": question.search,
    }
    rows = rows.filter(**{key: value for key, value in plain.items() if value is not None})
    if question.experiment_uids is not None:
        rows = rows.filter(experiment__in=_experiments(workspace, question.experiment_uids))
    if question.has_error is not None:
        failed = Q(status=Run.Status.ERROR)
        rows = rows.filter(failed if question.has_error else ~failed)
    return _filtered(workspace, rows, question)


def _experiments(workspace: Workspace, uids: Sequence[UUID]) -> list[int]:
    rows = Experiment.objects.filter(workspace=workspace, uid__in=uids)
    return list(rows.values_list("pk", flat=True))


def _filtered(workspace: Workspace, rows: QuerySet[Run], question: RunQuestion) -> QuerySet[Run]:
    if question.filter:
        rows = rows.filter(run_condition(question.filter))
    same_trace = Run.objects.filter(workspace=workspace, trace_uid=OuterRef("trace_uid"))
    if question.trace_filter:
        roots = same_trace.filter(run_condition(question.trace_filter), is_root=True)
        rows = rows.filter(Exists(roots))
    if question.tree_filter:
        rows = rows.filter(Exists(same_trace.filter(run_condition(question.tree_filter))))
    return rows


def run_page(
    rows: QuerySet[Run],
    *,
    limit: int,
    after: tuple[datetime, int] | None = None,
    ascending: bool = False,
) -> RunPage:
    """A page by start time; `last` is where the next one goes on, None at the end."""
    order, more = ("start_time", "id"), "gt"
    if not ascending:
        order, more = ("-start_time", "-id"), "lt"
    if after is not None:
        start, pk = after
        behind = Q(**{f"start_time__{more}": start}) | Q(**{"start_time": start, f"id__{more}": pk})
        rows = rows.filter(behind, **{f"start_time__{more}e": start})
    runs = list(rows.order_by(*order)[: limit + 1])
    if len(runs) <= limit:
        return RunPage(runs)
    last = runs[limit - 1]
    return RunPage(runs[:limit], (last.start_time, last.pk))


def root_count(experiment: Experiment) -> int:
    return Run.objects.filter(experiment=experiment, is_root=True).count()
