"""Moving examples in and out of splits."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from experiments.models import Dataset, ExampleRevision
from experiments.services.examples import ExampleChange, Written, update_examples


@transaction.atomic
def change_splits(
    *,
    dataset: Dataset,
    uids: Sequence[UUID],
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
) -> Written:
    """Add splits to examples and take others away, as one version."""
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    standing = dict(
        ExampleRevision.objects.filter(
            dataset=dataset, valid_to=None, example__uid__in=uids
        ).values_list("example__uid", "splits")
    )
    changes = [
        ExampleChange(uid=uid, splits=_changed(standing.get(uid, []), add, remove)) for uid in uids
    ]
    return update_examples(dataset=dataset, changes=changes)


def _changed(splits: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys([*splits, *add]) if name not in remove]
