"""What the pages of datasets list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery

from experiments.models import (
    Comparison,
    Dataset,
    DatasetVersion,
    Example,
    ExampleRevision,
    Experiment,
)
from experiments.queries.examples import mentions, revisions_at
from experiments.queries.paging import Slice, page_by_time
from experiments.queries.versions import split_names
from experiments.rawjson import loads_exact
from experiments.texts import text_of
from tiebreak.accounts.models import Workspace


def dataset_list(
    workspace: Workspace, *, q: str, size: int, after: str = "", before: str = ""
) -> Slice[Dataset]:
    """Datasets by last change, with what hangs on each."""
    rows = Dataset.objects.filter(workspace=workspace).annotate(
        experiments_count=_count(Experiment), comparisons_count=_count(Comparison)
    )
    if q:
        rows = rows.filter(name__icontains=q)
    return page_by_time(rows, "modified_at", size=size, after=after, before=before)


def _count(model: type[Experiment] | type[Comparison]) -> Subquery:
    rows = model.objects.filter(dataset=OuterRef("pk")).order_by().values("dataset")
    return Subquery(rows.annotate(total=Count("pk")).values("total"), output_field=IntegerField())


@dataclass(frozen=True)
class ExampleRow:
    """An example as a list shows it."""

    example: Example
    revision: ExampleRevision
    input: str | None
    reference: str | None
    metadata: dict[str, object]


@dataclass(frozen=True)
class ExamplePage:
    """Examples in the dataset's order; the cursors are example keys."""

    rows: list[ExampleRow]
    newer: str
    older: str


def example_page(
    dataset: Dataset,
    *,
    q: str = "",
    split: str = "",
    as_of: datetime | None = None,
    size: int,
    after: str = "",
    before: str = "",
) -> ExamplePage:
    """A page of examples as they stood at a moment."""
    rows = fitting(dataset, q=q, split=split, as_of=as_of)
    return _example_slice(rows.select_related("example", "payload"), size, after, before)


def fitting(
    dataset: Dataset, *, q: str = "", split: str = "", as_of: datetime | None = None
) -> QuerySet[ExampleRevision]:
    """What the filters of the page leave of the examples, as they stood at a moment."""
    rows = revisions_at(ExampleRevision.objects.filter(dataset=dataset), as_of)
    if q:
        rows = rows.filter(mentions(q))
    return rows.filter(splits__contains=[split]) if split else rows


def find_example(dataset: Dataset, key: str, as_of: datetime | None = None) -> ExampleRow | None:
    """The example that the address names, as it stood at a moment, whatever the filters say."""
    try:
        rows = fitting(dataset, as_of=as_of).filter(example__uid=UUID(key))
    except ValueError:
        return None
    found = rows.select_related("example", "payload").first()
    return _example_row(found) if found else None


def history_of(example: Example) -> list[ExampleRevision]:
    """The latest revisions of an example, the newest first."""
    return list(example.revisions.order_by("-valid_from")[:20])


def _example_slice(
    rows: QuerySet[ExampleRevision], size: int, after: str, before: str
) -> ExamplePage:
    back = before.isdigit() and len(before) < 19
    onward = not back and after.isdigit() and len(after) < 19
    if back:
        rows = rows.filter(example__lt=int(before))
    elif onward:
        rows = rows.filter(example__gt=int(after))
    found = list(rows.order_by("-example_id" if back else "example_id")[: size + 1])
    more, shown = len(found) > size, found[:size][::-1] if back else found[:size]
    newer = str(shown[0].example_id) if shown and (more if back else onward) else ""
    older = str(shown[-1].example_id) if shown and (back or more) else ""
    return ExamplePage([_example_row(row) for row in shown], newer, older)


def _example_row(revision: ExampleRevision) -> ExampleRow:
    payload = revision.payload
    return ExampleRow(
        example=revision.example,
        revision=revision,
        input=text_of(payload.inputs),
        reference=text_of(payload.outputs),
        metadata=loads_exact(payload.metadata) if payload.metadata else {},
    )


def splits_of(dataset: Dataset) -> list[str]:
    """The names of the splits that the standing examples are in."""
    return list(_splits_at(dataset.pk, dataset.modified_at))


@lru_cache(maxsize=1024)
def _splits_at(dataset_id: int, modified_at: datetime) -> tuple[str, ...]:
    """Looks at every standing example; every change of them makes a later moment."""
    rows = ExampleRevision.objects.filter(dataset=dataset_id, valid_to=None)
    return tuple(split_names(rows))


def version_page(
    dataset: Dataset, *, size: int, after: str = "", before: str = ""
) -> Slice[DatasetVersion]:
    """Versions, the newest first."""
    rows = dataset.versions.select_related("author")
    return page_by_time(rows, "as_of", size=size, after=after, before=before)
