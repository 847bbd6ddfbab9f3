"""Writes of examples: each makes a version, and the earlier revision stays readable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from experiments.copying import reserve_ids
from experiments.errors import ConflictError, InvalidError
from experiments.filters.examples import SPLIT_KEY as SPLIT_KEY
from experiments.ids import uuid7s
from experiments.models import DEFAULT_SPLIT, Dataset, Example, ExampleRevision
from experiments.rawjson import dumps, loads_exact, search_text
from experiments.services.attachments import (
    KeptFile,
    attach_to_revisions,
    files_of_revisions,
)
from experiments.services.example_rows import (
    RevisionRow,
    Writer,
    example_block,
    revision_blocks,
    write_blocks,
)
from experiments.services.overrides import take_out_examples
from experiments.services.schemas import check_against
from experiments.services.versions import Change, new_version
from tiebreak.accounts.models import User


@dataclass(frozen=True)
class NewExample:
    """An example to be added; texts are JSON as sent. `metadata` may name splits by its own key."""

    inputs: str
    outputs: str | None = None
    metadata: str | None = None
    splits: Sequence[str] = ()
    uid: UUID | None = None
    created_at: datetime | None = None
    source_run_uid: UUID | None = None
    files: Sequence[KeptFile] = ()


@dataclass(frozen=True)
class ExampleChange:
    """What to change of an example; None leaves a part as it is.

    `keeps` says which attachments stay, by old name and new; without it new files replace all.
    """

    uid: UUID
    inputs: str | None = None
    outputs: str | None = None
    metadata: str | None = None
    splits: Sequence[str] | None = None
    files: Sequence[KeptFile] = ()
    keeps: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Written:
    """What a write of examples came to: the moment it stands from, and the ids in order."""

    as_of: datetime
    uids: list[UUID]


def add_examples(
    *,
    dataset: Dataset,
    examples: Sequence[NewExample],
    author: User | None = None,
    note: str = "",
) -> Written:
    """Add examples in the given order as one version; an id that exists already is a conflict."""
    for example in examples:
        check_against(dataset, example.inputs, example.outputs)
    try:
        with new_version(dataset, author=author, note=note) as change:
            uids = insert_examples(dataset, examples, change)
    except IntegrityError as error:
        raise ConflictError("An example with one of these ids already exists.") from error
    return Written(change.moment, uids)


def insert_examples(
    dataset: Dataset,
    examples: Sequence[NewExample],
    change: Change,
    writer: Writer | None = None,
) -> list[UUID]:
    """Write examples inside an open version, by COPY.

    With a `writer` the rows are written behind the caller's back, and what searches look at is
    left for `fill_search` to make.
    """
    if writer is not None:
        writer.wait()
    ids = reserve_ids(Example, len(examples))
    revision_ids = reserve_ids(ExampleRevision, len(examples))
    uids = [
        example.uid or fresh for example, fresh in zip(examples, uuid7s(len(examples)), strict=True)
    ]
    states = [State.of(example) for example in examples]
    blocks = [
        example_block(
            dataset,
            change.moment,
            [
                (pk, uid, example.created_at, example.source_run_uid)
                for pk, uid, example in zip(ids, uids, examples, strict=True)
            ],
        ),
        *revision_blocks(
            dataset,
            change.moment,
            [
                state.row(pk, example_id, later=writer is not None)
                for pk, example_id, state in zip(revision_ids, ids, states, strict=True)
            ],
        ),
    ]
    change.added += len(examples)
    if writer is not None:
        writer.write(blocks)
        return uids
    write_blocks(blocks)
    _attach(dataset, revision_ids, states)
    return uids


def update_examples(
    *,
    dataset: Dataset,
    changes: Sequence[ExampleChange],
    author: User | None = None,
    note: str = "",
) -> Written:
    """Change examples as one version; an example of another dataset is a conflict."""
    by_uid = {change.uid: change for change in changes}
    with new_version(dataset, author=author, note=note) as version:
        standing = _standing(dataset, by_uid)
        files = files_of_revisions([row.pk for row in standing])
        states = [
            (row.example_id, State.changed(row, by_uid[row.example.uid], files.get(row.pk, [])))
            for row in standing
        ]
        for _, state in states:
            check_against(dataset, state.inputs, state.outputs)
        close([row.pk for row in standing], version.moment)
        write_revisions(dataset, states, version.moment)
        version.changed += len(states)
    return Written(version.moment, list(by_uid))


def delete_examples(
    *,
    dataset: Dataset,
    uids: Sequence[UUID],
    author: User | None = None,
    missing_ok: bool = False,
) -> Written:
    """Take examples out of the dataset from now on; earlier moments still show them.

    Comparisons no longer count them. One that is gone already is an error, unless `missing_ok`.
    """
    with new_version(dataset, author=author) as version:
        standing = _standing(dataset, uids, missing_ok=missing_ok)
        close([row.pk for row in standing], version.moment)
        version.removed += len(standing)
        take_out_examples(dataset, uids)
    return Written(version.moment, list(uids))


@transaction.atomic
def erase_examples(*, dataset: Dataset, uids: Sequence[UUID]) -> Written:
    """Delete examples with their whole history, also those that were taken out before."""
    written = delete_examples(dataset=dataset, uids=uids, missing_ok=True)
    Example.objects.filter(dataset=dataset, uid__in=uids).delete()
    return written


@dataclass(frozen=True)
class State:
    """The content of a revision."""

    inputs: str
    outputs: str | None
    metadata: str | None
    splits: list[str]
    files: Sequence[KeptFile]

    @classmethod
    def of(cls, example: NewExample) -> State:
        metadata, named = split_off(example.metadata)
        splits = list(example.splits) or named or [DEFAULT_SPLIT]
        return cls(example.inputs, example.outputs, metadata, splits, example.files)

    @classmethod
    def changed(
        cls, row: ExampleRevision, change: ExampleChange, files: Sequence[KeptFile]
    ) -> State:
        metadata, named = split_off(change.metadata)
        splits = list(change.splits) if change.splits is not None else named or row.splits
        return cls(
            row.payload.inputs if change.inputs is None else change.inputs,
            row.payload.outputs if change.outputs is None else change.outputs,
            row.payload.metadata if change.metadata is None else metadata,
            splits or [DEFAULT_SPLIT],
            _kept(files, change),
        )

    def says_what(self, row: ExampleRevision) -> bool:
        """Whether a revision says the same already."""
        payload = row.payload
        return (self.inputs, self.outputs, self.metadata, self.splits) == (
            payload.inputs,
            payload.outputs,
            payload.metadata,
            row.splits,
        )

    def row(self, pk: int, example_id: int, *, later: bool = False) -> RevisionRow:
        """The revision as `revision_blocks` takes it."""
        search = None if later else search_text(self.inputs, self.outputs)
        return pk, example_id, self.inputs, self.outputs, self.metadata, self.splits, search


def _kept(files: Sequence[KeptFile], change: ExampleChange) -> list[KeptFile]:
    if change.keeps is None:
        return list(change.files or files)
    kept = {
        name: replace(file, name=name)
        for file in files
        if (name := change.keeps.get(file.name)) is not None
    }
    return list((kept | {file.name: file for file in change.files}).values())


def split_off(metadata: str | None) -> tuple[str | None, list[str]]:
    """Take the splits out of metadata, where the SDK keeps them under a key of its own."""
    if metadata is None:
        return None, []
    if metadata.startswith("{") and SPLIT_KEY not in metadata and "\\u" not in metadata:
        return metadata, []
    value = loads_exact(metadata)
    if not isinstance(value, dict):
        raise InvalidError("metadata", "must be an object")
    if SPLIT_KEY not in value:
        return metadata, []
    named = value.pop(SPLIT_KEY)
    splits = [named] if isinstance(named, str) else named or []
    return dumps(value), clean_splits(splits)


def clean_splits(splits: object) -> list[str]:
    """A list of distinct split names, or an error that says so."""
    if isinstance(splits, str):
        splits = [splits]
    if not isinstance(splits, list) or not all(isinstance(split, str) for split in splits):
        raise InvalidError("split", "must be a text or a list of texts")
    return list(dict.fromkeys(split for split in splits if split))


def _standing(dataset: Dataset, uids: object, *, missing_ok: bool = False) -> list[ExampleRevision]:
    """The standing revisions of these examples, in order; all of them must be of this dataset."""
    wanted = set(uids)  # type: ignore[call-overload]
    rows = list(
        ExampleRevision.objects.filter(
            example__workspace=dataset.workspace_id, example__uid__in=wanted, valid_to=None
        )
        .select_related("example", "payload")
        .order_by("example_id")
    )
    if any(row.dataset_id != dataset.pk for row in rows):
        raise ConflictError("An example belongs to another dataset; nothing was changed.")
    missing = wanted - {row.example.uid for row in rows}
    if missing and not missing_ok:
        raise LookupError(f"Example {min(missing)} not found")
    return rows


def close(revision_ids: list[int], moment: datetime) -> None:
    """End revisions at a moment."""
    ExampleRevision.objects.filter(pk__in=revision_ids).update(valid_to=moment)


def write_revisions(
    dataset: Dataset, states: Sequence[tuple[int, State]], moment: datetime
) -> None:
    """Write what examples say from a moment on."""
    ids = reserve_ids(ExampleRevision, len(states))
    rows = [state.row(pk, example_id) for pk, (example_id, state) in zip(ids, states, strict=True)]
    write_blocks(revision_blocks(dataset, moment, rows))
    _attach(dataset, ids, [state for _, state in states])


def _attach(dataset: Dataset, ids: Sequence[int], states: Sequence[State]) -> None:
    files = {pk: state.files for pk, state in zip(ids, states, strict=True) if state.files}
    if files:
        attach_to_revisions(dataset.workspace_id, files)
