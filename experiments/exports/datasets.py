"""Examples of a dataset, as they stand or stood at a moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from experiments.exports.records import Export, Record, fetched, flatten, texts
from experiments.models import Dataset, ExampleRevision
from experiments.queries.examples import mentions, revisions_at

COLUMNS = ("id", "inputs", "outputs", "metadata", "splits")


def dataset_export(
    dataset: Dataset, *, as_of: datetime | None = None, split: str = "", q: str = ""
) -> Export:
    """The examples in their order at a moment; without one, at the newest version.

    The moment is fixed, so that a second reading finds the same rows.
    """
    moment = as_of or dataset.modified_at
    rows = revisions_at(ExampleRevision.objects.filter(dataset=dataset), moment)
    if split:
        rows = rows.filter(splits__contains=[split])
    if q:
        rows = rows.filter(mentions(q))
    found = rows.order_by("example_id")

    def read() -> Iterator[Record]:
        return flatten(fetched(found, _records))

    return Export(dataset.name, COLUMNS, read, spread=("inputs", "outputs", "metadata"))


def _records(keys: list[int]) -> dict[int, Record]:
    """Plain values: making three objects of every row takes most of the time."""
    rows = ExampleRevision.objects.filter(pk__in=keys).values_list(
        "pk",
        "example__uid",
        "payload__inputs",
        "payload__outputs",
        "payload__metadata",
        "splits",
    )
    return {
        pk: {
            "id": f'"{uid}"',
            "inputs": inputs,
            "outputs": outputs,
            "metadata": metadata,
            "splits": texts(splits),
        }
        for pk, uid, inputs, outputs, metadata, splits in rows
    }
