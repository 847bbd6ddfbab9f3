"""Examples written by id: those that are there are changed, the others are added."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from experiments.models import Dataset, Example, ExampleRevision
from experiments.services.attachments import files_of_revisions
from experiments.services.example_rows import Writer
from experiments.services.examples import (
    ExampleChange,
    NewExample,
    State,
    close,
    insert_examples,
    write_revisions,
)
from experiments.services.reinstating import settle_removed
from experiments.services.versions import Change


@dataclass
class Upserter:
    """Writes chunks of examples into a dataset inside one version.

    Of a row that is there, parts that are None stay: what no column stands for is not touched.
    `unchanged` holds the keys of rows that say what they said before.
    """

    dataset: Dataset
    change: Change
    writer: Writer | None = None
    keeps_metadata: bool = False
    by_id: bool = True
    unchanged: array[int] = field(default_factory=lambda: array("q"))

    def write(self, examples: Sequence[NewExample]) -> None:
        """Write a chunk; without `by_id` all of it is new."""
        if not self.by_id:
            insert_examples(self.dataset, examples, self.change, self.writer)
            return
        uids = [example.uid for example in examples if example.uid]
        known = Example.objects.filter(dataset=self.dataset, uid__in=uids)
        keys = dict(known.values_list("uid", "pk"))
        self._change([one for one in examples if one.uid in keys], keys)
        fresh = [one for one in examples if one.uid not in keys]
        if fresh:
            insert_examples(self.dataset, fresh, self.change, self.writer)

    def _change(self, examples: Sequence[NewExample], keys: dict[UUID, int]) -> None:
        rows = {
            row.example_id: row
            for row in ExampleRevision.objects.filter(
                example__in=[keys[one.uid] for one in examples if one.uid], valid_to=None
            ).select_related("example", "payload")
        }
        files = files_of_revisions([row.pk for row in rows.values()])
        written: list[tuple[int, State]] = []
        ended: list[int] = []
        for example in examples:
            assert example.uid is not None
            key = keys[example.uid]
            row = rows.get(key)
            if row is None:
                written.append((key, State.of(example)))
                self.change.added += 1
                continue
            state = State.changed(row, self._as_change(example), files.get(row.pk, []))
            if state.says_what(row):
                self.unchanged.append(key)
            else:
                written.append((key, state))
                ended.append(row.pk)
        close(ended, self.change.moment)
        write_revisions(self.dataset, written, self.change.moment)
        self.change.changed += len(ended)

    def _as_change(self, example: NewExample) -> ExampleChange:
        assert example.uid is not None
        return ExampleChange(
            uid=example.uid,
            inputs=example.inputs,
            outputs=example.outputs,
            metadata=None if self.keeps_metadata else example.metadata,
            splits=list(example.splits) or None,
            files=example.files,
        )

    def end_the_others(self) -> None:
        """Take out what stood before and was not written: the file replaces the dataset."""
        rows = ExampleRevision.objects.filter(
            dataset=self.dataset, valid_to=None, valid_from__lt=self.change.moment
        )
        rows.exclude(example__in=self.unchanged.tolist()).update(valid_to=self.change.moment)
        self.change.removed += settle_removed(self.dataset, self.change)
