"""Versions of a dataset: which there are, what stood in them, what changed between two."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from experiments.models import Dataset, DatasetVersion, ExampleRevision
from experiments.queries.examples import revisions_at


@dataclass(frozen=True)
class Difference:
    """Ids of examples that differ between two moments."""

    added: list[UUID]
    modified: list[UUID]
    removed: list[UUID]


def difference(dataset: Dataset, before: datetime | None, after: datetime | None) -> Difference:
    """What changed from one moment to another; None is now."""
    earlier, later = _standing(dataset, before), _standing(dataset, after)
    return Difference(
        added=[uid for uid in later if uid not in earlier],
        modified=[uid for uid, pk in later.items() if earlier.get(uid, pk) != pk],
        removed=[uid for uid in earlier if uid not in later],
    )


def _standing(dataset: Dataset, moment: datetime | None) -> dict[UUID, int]:
    rows = revisions_at(ExampleRevision.objects.filter(dataset=dataset), moment)
    return dict(rows.order_by("example_id").values_list("example__uid", "pk"))


def splits_at(dataset: Dataset, moment: datetime | None) -> list[str]:
    """The names of the splits that examples are in."""
    return split_names(revisions_at(ExampleRevision.objects.filter(dataset=dataset), moment))


def split_names(rows: QuerySet[ExampleRevision]) -> list[str]:
    """The names of the splits that any of these revisions is in."""
    found = rows.values_list("splits", flat=True).distinct()
    return sorted({name for names in found for name in names})


def version_at(dataset: Dataset, moment: datetime | None) -> DatasetVersion | None:
    """The newest version at or before a moment."""
    rows = dataset.versions.all()
    if moment is not None:
        rows = rows.filter(as_of__lte=moment)
    return rows.order_by("-as_of").first()


def tags_of(dataset: Dataset, versions: list[DatasetVersion]) -> dict[datetime, list[str]]:
    """Tags by version; `latest` is always on the newest."""
    found: dict[datetime, list[str]] = {version.as_of: [] for version in versions}
    for tag, as_of in dataset.tags.order_by("tag").values_list("tag", "as_of"):
        if as_of in found:
            found[as_of].append(tag)
    newest = version_at(dataset, None)
    if newest is not None and newest.as_of in found:
        found[newest.as_of].insert(0, "latest")
    return found


def versions_of(dataset: Dataset, search: str | None) -> QuerySet[DatasetVersion]:
    rows = DatasetVersion.objects.filter(dataset=dataset)
    if search:
        tagged = dataset.tags.filter(tag__icontains=search).values("as_of")
        rows = rows.filter(as_of__in=tagged)
    return rows
