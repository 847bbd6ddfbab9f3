"""Examples as they stood at a moment."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import (
    Avg,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
)

from experiments.filters.examples import described_by, example_condition
from experiments.models import (
    Attachment,
    Dataset,
    ExamplePayload,
    ExampleRevision,
    Experiment,
    Feedback,
    Run,
)
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
        described = described_by(metadata)
        # The index knows rows with a text for searches; the few others are looked through.
        rows = rows.filter(Q(described, search__isnull=False) | Q(described, search=None))
    return rows.filter(example_condition(filter_text)) if filter_text else rows


class SearchText(Func):
    """What a search looks at, made of payloads on the spot."""

    function = "tiebreak_search_text"
    output_field = TextField()


def mentions(q: str) -> Q:
    """The revisions whose inputs or outputs hold a text.

    Those of a fresh upload may have no text for searches yet: their payloads are looked into.
    """
    payload = ExamplePayload.objects.filter(revision=OuterRef("pk")).annotate(
        said=SearchText(F("inputs"), F("outputs"))
    )
    fresh = Q(Exists(payload.filter(said__icontains=q)), search=None)
    known = Q(search__isnull=False, search__icontains=q)
    return known | fresh


def moment_of_tag(dataset: Dataset, tag: str) -> datetime | None:
    """When a tag sits, or None if there is no such tag."""
    return dataset.tags.filter(tag=tag).values_list("as_of", flat=True).first()


def attachments_of(revision_ids: Sequence[int]) -> dict[int, list[Attachment]]:
    found: dict[int, list[Attachment]] = {}
    for row in Attachment.objects.filter(revision__in=revision_ids).order_by("pk"):
        if row.revision_id is not None:
            found.setdefault(row.revision_id, []).append(row)
    return found


def mean_of_example(experiment: Experiment, key: str) -> Subquery:
    """For revisions: the mean score that an experiment's root runs of the example got."""
    runs = Run.objects.filter(
        experiment=experiment, is_root=True, example_uid=OuterRef(OuterRef("example__uid"))
    )
    marks = Feedback.objects.filter(
        workspace=experiment.workspace_id,
        key=key,
        run_uid__in=runs.values("uid"),
        comparison_uid=None,
    )
    return Subquery(marks.order_by().values("key").annotate(mean=Avg("score")).values("mean"))
