"""A file read in chunks: examples, and the rows that cannot become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import Any
from uuid import UUID

from experiments.formats.layouts import Layout, open_source
from experiments.formats.rows import BadRow, Row, Source
from experiments.models import Example, ExamplePayload, Upload
from experiments.rawjson import storable
from experiments.services.examples import NewExample
from experiments.services.uploading.building import RowBuilder, RowError
from experiments.services.uploading.columns import unpack
from experiments.services.uploading.files import path_of
from experiments.services.uploading.marks import Mark, is_results, marks_of, score_columns

CHUNK_ROWS = 2_000
CHUNK_CHARACTERS = 4_000_000
MAX_PROBLEMS = 100


@dataclass(frozen=True)
class Problem:
    """A row that is not stored: where, and why."""

    line: int
    column: str
    reason: str

    def stored(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "column": storable(self.column)[:200],
            "reason": storable(self.reason)[:500],
        }


@dataclass
class Chunk:
    """Some rows in the order of the file."""

    examples: list[NewExample] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    marks: list[list[Mark]] = field(default_factory=list)
    characters: int = 0

    @property
    def is_full(self) -> bool:
        rows = len(self.examples) + len(self.problems)
        return rows >= CHUNK_ROWS or self.characters >= CHUNK_CHARACTERS

    def add(self, example: NewExample, line: int) -> None:
        self.examples.append(example)
        self.lines.append(line)
        self.characters += len(example.inputs) + len(example.outputs or "")


def layout_of(upload: Upload) -> Layout:
    options = upload.options
    names = ("encoding", "delimiter", "quote", "sheet", "unguard")
    return Layout(upload.format, **{name: options[name] for name in names if name in options})


def namespace_of(upload: Upload) -> UUID:
    """Ids that are no UUIDs mean the same in every upload into one dataset."""
    return upload.dataset.uid if upload.dataset else upload.uid


class UploadReader:
    """An open upload; `chunks` gives all of it once."""

    def __init__(self, upload: Upload) -> None:
        self.upload = upload
        self.source: Source = open_source(path_of(upload), layout_of(upload))
        columns = unpack(upload.mapping)
        self.scores = score_columns(columns) if is_results(upload) else None
        self.builder = RowBuilder(
            columns,
            is_json=self.source.is_json,
            namespace=namespace_of(upload),
            dataset=None if is_results(upload) else upload.dataset,
        )

    def __enter__(self) -> UploadReader:
        return self

    def __exit__(self, *error: Any) -> None:
        self.source.__exit__(*error)

    def chunks(self) -> Iterator[Chunk]:
        """Chunks in the order of the file; raises BrokenFile where it cannot go on."""
        rows = self.source.rows()
        while True:
            chunk = Chunk()
            for row in islice(rows, CHUNK_ROWS):
                self._take(row, chunk)
                if chunk.is_full:
                    break
            if not chunk.examples and not chunk.problems:
                return
            yield chunk

    def _take(self, row: Row | BadRow, chunk: Chunk) -> None:
        if isinstance(row, BadRow):
            chunk.problems.append(Problem(row.line, row.column, row.reason))
            return
        try:
            chunk.add(self.builder.build(row), row.line)
            if self.scores is not None:
                chunk.marks.append(marks_of(self.scores, row, is_json=self.source.is_json))
        except RowError as error:
            chunk.problems.append(Problem(row.line, error.column, error.reason))


@dataclass
class IdCheck:
    """Finds ids that stand twice in the file or exist already.

    While rows are being stored the database knows the earlier lines: they have its `moment`.
    Before that, and when rows may change others, `seen` remembers them.
    """

    upload: Upload
    moment: datetime | None = None
    seen: set[int] = field(default_factory=set)

    @property
    def may_change(self) -> bool:
        return bool(self.upload.options.get("write", "append") != "append")

    def sift(self, chunk: Chunk) -> None:
        """Turn the examples whose id is taken into problems."""
        uids = [example.uid for example in chunk.examples if example.uid]
        if not uids:
            return
        taken = self._taken(uids)
        here: set[UUID] = set()
        examples, lines = chunk.examples, chunk.lines
        chunk.examples, chunk.lines = [], []
        for example, line in zip(examples, lines, strict=True):
            reason = self._reason(example.uid, taken, here) if example.uid else ""
            if reason:
                chunk.problems.append(Problem(line, self._column(), reason))
            else:
                chunk.examples.append(example)
                chunk.lines.append(line)
        if self.moment is None or self.may_change:
            self.seen.update(uid.int for uid in here)
        chunk.problems.sort(key=lambda problem: problem.line)

    def _taken(self, uids: Sequence[UUID]) -> dict[UUID, datetime]:
        rows = Example.objects.filter(workspace=self.upload.workspace_id, uid__in=uids)
        if self.may_change:
            rows = rows.exclude(dataset=self.upload.dataset_id)
        return dict(rows.values_list("uid", "created_at"))

    def _reason(self, uid: UUID, taken: dict[UUID, datetime], here: set[UUID]) -> str:
        ours = self.moment is not None and taken.get(uid) == self.moment
        if ours or uid in here or uid.int in self.seen:
            return "this id stands in an earlier line"
        if uid in taken:
            where = " in another dataset" if self.may_change else ""
            return f"an example with this id exists already{where}"
        here.add(uid)
        return ""

    def _column(self) -> str:
        columns = unpack(self.upload.mapping)
        return next((column.name for column in columns if column.role == "id"), "")


@dataclass
class ContentCheck:
    """Finds rows that say what another row of the file or of the dataset says.

    Rows with an id of their own are told apart by it. Eight bytes of a hash stand for a row.
    """

    upload: Upload
    counts: bool = False
    seen: set[int] = field(default_factory=set)
    _begun: bool = False

    def sift(self, chunk: Chunk) -> int:
        """How many repeat another; they are left out if the upload says so."""
        leaves_out = bool(self.upload.options.get("distinct"))
        if not (leaves_out or self.counts):
            return 0
        self._begin()
        kept = [not self._repeats(example) for example in chunk.examples]
        if leaves_out:
            chunk.lines = [line for line, keep in zip(chunk.lines, kept, strict=True) if keep]
            chunk.examples = [one for one, keep in zip(chunk.examples, kept, strict=True) if keep]
        return kept.count(False)

    def _begin(self) -> None:
        if self._begun or self.upload.dataset is None:
            return
        self._begun = True
        if self.upload.options.get("write", "append") == "replace":
            return
        rows = ExamplePayload.objects.filter(
            revision__dataset=self.upload.dataset, revision__valid_to=None
        ).values_list("inputs", "outputs")
        self.seen.update(content_hash(*row) for row in rows.iterator(chunk_size=CHUNK_ROWS))

    def _repeats(self, example: NewExample) -> bool:
        if example.uid is not None:
            return False
        found = content_hash(example.inputs, example.outputs)
        if found in self.seen:
            return True
        self.seen.add(found)
        return False


def content_hash(inputs: str, outputs: str | None) -> int:
    """Eight bytes that stand for what an example says."""
    text = f"{inputs}\x1f{outputs}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
