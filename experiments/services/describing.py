"""Metadata of many examples at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from experiments.models import Dataset, ExampleRevision
from experiments.rawjson import dumps, loads_exact
from experiments.services.examples import ExampleChange, Written, update_examples
from tiebreak.accounts.models import User

GONE = object()


@transaction.atomic
def describe_examples(
    *, dataset: Dataset, uids: Sequence[UUID], key: str, value: Any, author: User | None = None
) -> Written:
    """Give examples a value under one key of their metadata (`GONE` takes it away), as one version.

    Examples that say so already are left alone.
    """
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    standing = ExampleRevision.objects.filter(
        dataset=dataset, valid_to=None, example__uid__in=uids
    ).values_list("example__uid", "payload__metadata")
    changes = []
    for uid, text in standing.order_by("example"):
        before = loads_exact(text) if text else {}
        after = {name: said for name, said in before.items() if name != key}
        if value is not GONE:
            after = {**before, key: value}
        if after != before:
            changes.append(ExampleChange(uid=uid, metadata=dumps(after)))
    return update_examples(dataset=dataset, changes=changes, author=author)
