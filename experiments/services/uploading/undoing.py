"""An upload taken back: its examples go from now on, and earlier moments still show them."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from experiments.errors import ConflictError
from experiments.models import ExampleRevision, Upload
from experiments.services.reinstating import reinstate, settle_removed
from experiments.services.versions import new_version
from tiebreak.accounts.models import User


def written_at(upload: Upload) -> datetime | None:
    """The moment of its version; None when nothing of it can be taken back."""
    as_of = upload.options.get("stored", {}).get("as_of")
    if upload.state != Upload.State.COMPLETE or not as_of or "undone" in upload.options:
        return None
    return datetime.fromisoformat(as_of)


def standing_of(upload: Upload) -> QuerySet[ExampleRevision]:
    """What stands of the examples that the upload added; none once it was undone."""
    moment = written_at(upload)
    if moment is None:
        return ExampleRevision.objects.none()
    # Every write of a dataset has a moment of its own.
    touched = ExampleRevision.objects.filter(dataset=upload.dataset_id, valid_from=moment)
    if upload.options["stored"].get("changed"):
        before = ExampleRevision.objects.filter(dataset=upload.dataset_id, valid_to=moment)
        touched = touched.exclude(example__in=before.values("example"))
    return ExampleRevision.objects.filter(
        dataset=upload.dataset_id, valid_to=None, example__in=touched.values("example")
    )


def returning_to(upload: Upload) -> QuerySet[ExampleRevision]:
    """What the upload changed or took out, and nobody has touched since."""
    moment = written_at(upload)
    if moment is None:
        return ExampleRevision.objects.none()
    rows = ExampleRevision.objects.filter(dataset=upload.dataset_id)
    later = rows.filter(valid_from__gte=moment).exclude(valid_from=moment, valid_to=None)
    return rows.filter(valid_to=moment).exclude(example__in=later.values("example"))


@transaction.atomic
def undo_upload(upload: Upload, *, author: User | None = None) -> int:
    """Take back what it did as a new version; says how many examples it touches.

    What it added goes, what it changed or took out is as before; what others did since stays.
    """
    locked = Upload.objects.select_for_update().get(pk=upload.pk)
    dataset, moment = locked.dataset, written_at(locked)
    if dataset is None or moment is None:
        raise ConflictError("Nothing of this upload is left to be undone.")
    note = f"Undo of the upload of {locked.filename}"
    with new_version(dataset, author=author, note=note) as change:
        back = returning_to(locked).values_list("example", flat=True)
        before, added = list(back), list(standing_of(locked).values_list("pk", flat=True))
        rows = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
        change.removed = rows.filter(pk__in=added).update(valid_to=change.moment)
        change.changed = rows.filter(example__in=before, valid_from=moment).update(
            valid_to=change.moment
        )
        at = moment - timedelta(microseconds=1)
        change.added = reinstate(dataset, change, at=at, closed=moment) - change.changed
        if not (change.removed or change.changed or change.added):
            raise ConflictError("Nothing of this upload is left to be undone.")
        settle_removed(dataset, change)
    locked.options["undone"] = change.moment.isoformat()
    locked.save(update_fields=["options"])
    return change.removed + change.changed + change.added
