"""The pairwise experiments of a dataset, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from experiments.models import Comparison, Dataset


@dataclass(frozen=True)
class ComparisonPage:
    """Some comparisons, and the cursor of the next page, empty at the end."""

    rows: Sequence[Comparison]
    next_cursor: str


def comparisons_of(dataset: Dataset, *, size: int, after: str = "") -> ComparisonPage:
    """A page of comparisons with their sides, evaluators and jobs, in four queries."""
    rows = (
        Comparison.objects.filter(dataset=dataset)
        .select_related("job", "author")
        .prefetch_related("sides__experiment", "evaluators__evaluator")
        .order_by("-created_at", "-pk")
    )
    place = _place(after)
    if place:
        moment, pk = place
        rows = rows.filter(Q(created_at__lt=moment) | Q(created_at=moment, pk__lt=pk))
    found = list(rows[: size + 1])
    last = found[size - 1] if len(found) > size else None
    cursor = f"{last.created_at.isoformat()}_{last.pk}" if last else ""
    return ComparisonPage(found[:size], cursor)


def _place(cursor: str) -> tuple[datetime, int] | None:
    moment, _, pk = cursor.rpartition("_")
    try:
        return datetime.fromisoformat(moment), int(pk)
    except ValueError:
        return None
