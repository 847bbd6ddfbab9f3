"""Examples as they stood at a moment."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from experiments.filters.examples import example_condition
from experiments.models import Attachment, Dataset, ExampleRevision
from tiebreak.accounts.models import Workspace


def revisions_at(
    rows: QuerySet[ExampleRevision], moment: datetime | None
) -> QuerySet[ExampleRevision]:
    """What stood at a moment, which counts itself in; None is now."""
    if moment is None:
        return rows.filter(valid_to=None)
    later = Q(valid_to=None) | Q(valid_to__gt=moment)
    return rows.filter(later, valid_from__lte=moment)


def example_revisions(
    workspace: Workspace,
    *,
    dataset: Dataset | None = None,
    as_of: datetime | None = None,
    uids: Sequence[UUID] | None = None,
    splits: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    filter_text: str | None = None,
) -> QuerySet[ExampleRevision]:
    """Revisions with their payload; order them by `example_id`."""
    rows = ExampleRevision.objects.filter(dataset__workspace=workspace)
    if dataset is not None:
        rows = rows.filter(dataset=dataset)
    rows = revisions_at(rows, as_of).select_related("example", "payload", "dataset")
    if uids is not None:
        rows = rows.filter(example__uid__in=uids)
    if splits is not None:
        rows = rows.filter(splits__overlap=list(splits))
    if metadata is not None:
        rows = rows.filter(metadata__contains=metadata)
    return rows.filter(example_condition(filter_text)) if filter_text else rows


def moment_of_tag(dataset: Dataset, tag: str) -> datetime | None:
    """When a tag sits, or None if there is no such tag."""
    return dataset.tags.filter(tag=tag).values_list("as_of", flat=True).first()


def attachments_of(revision_ids: Sequence[int]) -> dict[int, list[Attachment]]:
    found: dict[int, list[Attachment]] = {}
    for row in Attachment.objects.filter(revision__in=revision_ids).order_by("pk"):
        if row.revision_id is not None:
            found.setdefault(row.revision_id, []).append(row)
    return found
