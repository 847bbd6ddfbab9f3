"""The evaluators of a workspace: the newest version of each, and where they are used."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Count, Exists, OuterRef, QuerySet

from experiments.models import ComparisonEvaluator, Evaluation, Evaluator
from experiments.queries.paging import Slice, page_by_time
from tiebreak.accounts.models import Workspace


def newest_evaluators(
    workspace: Workspace, kinds: Iterable[str] | None = None
) -> QuerySet[Evaluator]:
    """The newest version of each name that is not archived; of some kinds, or of all."""
    later = Evaluator.objects.filter(
        workspace=OuterRef("workspace"), name=OuterRef("name"), version__gt=OuterRef("version")
    )
    rows = Evaluator.objects.filter(workspace=workspace, archived_at=None).exclude(Exists(later))
    rows = rows.select_related("provider")
    return rows if kinds is None else rows.filter(kind__in=list(kinds))


def evaluator_page(
    workspace: Workspace, *, q: str = "", size: int, after: str = "", before: str = ""
) -> Slice[Evaluator]:
    """A page of the list, the latest first."""
    rows = newest_evaluators(workspace)
    if q:
        rows = rows.filter(name__icontains=q)
    return page_by_time(rows, "created_at", size=size, after=after, before=before)


def uses_of(workspace: Workspace, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Comparisons and evaluations in which any version of these names was used."""
    wanted = {"evaluator__workspace": workspace, "evaluator__name__in": list(names)}
    comparisons = _counted(ComparisonEvaluator.objects.filter(**wanted))
    evaluations = _counted(Evaluation.objects.filter(**wanted))
    return {name: (comparisons.get(name, 0), evaluations.get(name, 0)) for name in names}


def _counted(rows: QuerySet[ComparisonEvaluator] | QuerySet[Evaluation]) -> dict[str, int]:
    found = rows.order_by().values("evaluator__name").annotate(uses=Count("pk"))
    return {row["evaluator__name"]: row["uses"] for row in found}


def versions_of(evaluator: Evaluator) -> list[Evaluator]:
    """Every version of an evaluator's name, the newest first."""
    rows = Evaluator.objects.filter(workspace=evaluator.workspace_id, name=evaluator.name)
    return list(rows.select_related("provider").order_by("-version")[:100])
