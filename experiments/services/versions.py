"""The clock of a dataset: every write happens at a moment of its own and makes a version."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from experiments.errors import InvalidError
from experiments.models import Dataset, DatasetTag, DatasetVersion
from tiebreak.accounts.models import User


@dataclass
class Change:
    """What one write did to a dataset; the counts are filled in while it happens."""

    moment: datetime
    added: int = 0
    changed: int = 0
    removed: int = 0


@contextmanager
def new_version(
    dataset: Dataset,
    *,
    author: User | None = None,
    note: str = "",
    at: datetime | None = None,
) -> Iterator[Change]:
    """Lock the dataset, hand out a strictly later moment, and note the version at the end.

    `at` is the moment of a version that was made elsewhere; it must be later than the last one.
    """
    with transaction.atomic():
        locked = Dataset.objects.select_for_update().only("modified_at").get(pk=dataset.pk)
        moment = max(at or timezone.now(), locked.modified_at + timedelta(microseconds=1))
        change = Change(moment)
        yield change
        if change.added or change.changed or change.removed:
            _note(dataset, change, author, note)


def _note(dataset: Dataset, change: Change, author: User | None, note: str) -> None:
    DatasetVersion.objects.create(
        dataset=dataset,
        as_of=change.moment,
        author=author,
        note=note,
        added=change.added,
        changed=change.changed,
        removed=change.removed,
    )
    Dataset.objects.filter(pk=dataset.pk).update(
        modified_at=change.moment,
        example_count=F("example_count") + change.added - change.removed,
    )
    dataset.refresh_from_db(fields=["modified_at", "example_count"])


def set_tag(*, dataset: Dataset, tag: str, as_of: datetime) -> DatasetTag:
    """Put a tag on the newest version at or before a moment; it leaves its earlier place."""
    if tag == "latest":
        raise InvalidError("tag", "'latest' always means the newest version")
    version = dataset.versions.filter(as_of__lte=as_of).order_by("-as_of").first()
    moment = version.as_of if version else dataset.created_at
    placed, _ = DatasetTag.objects.update_or_create(
        dataset=dataset, tag=tag, defaults={"as_of": moment}
    )
    return placed
