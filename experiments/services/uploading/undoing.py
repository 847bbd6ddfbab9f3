"""An upload taken back: its examples go from now on, and earlier moments still show them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from experiments.errors import ConflictError
from experiments.models import ExampleRevision, Upload
from experiments.services.versions import new_version
from tiebreak.accounts.models import User


def standing_of(upload: Upload) -> QuerySet[ExampleRevision]:
    """What stands of the examples that the upload added; none once it was undone."""
    as_of = upload.options.get("stored", {}).get("as_of")
    if upload.state != Upload.State.COMPLETE or not as_of or "undone" in upload.options:
        return ExampleRevision.objects.none()
    # Every write of a dataset has a moment of its own, and an upload only adds.
    added = ExampleRevision.objects.filter(
        dataset=upload.dataset_id, valid_from=datetime.fromisoformat(as_of)
    )
    return ExampleRevision.objects.filter(
        dataset=upload.dataset_id, valid_to=None, example__in=added.values("example")
    )


@transaction.atomic
def undo_upload(upload: Upload, *, author: User | None = None) -> int:
    """Take its examples out of the dataset as a new version; says how many went."""
    locked = Upload.objects.select_for_update().get(pk=upload.pk)
    dataset = locked.dataset
    if dataset is None or not standing_of(locked).exists():
        raise ConflictError("Nothing of this upload is left to be undone.")
    note = f"Undo of the upload of {locked.filename}"
    with new_version(dataset, author=author, note=note) as change:
        change.removed = standing_of(locked).update(valid_to=change.moment)
    locked.options["undone"] = change.moment.isoformat()
    locked.save(update_fields=["options"])
    return change.removed
