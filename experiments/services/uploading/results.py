"""Outputs that were made elsewhere: the rows of a file become the runs of an experiment."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from experiments.errors import InvalidError
from experiments.ids import uuid7s
from experiments.models import Dataset, ExampleRevision, Experiment, Upload
from experiments.rawjson import dumps, loads_exact, storable
from experiments.services.examples import NewExample
from experiments.services.experiments import create_experiment
from experiments.services.feedback import FeedbackEntry
from experiments.services.ingest import ingest
from experiments.services.run_pieces import RunPiece
from experiments.services.uploading.marks import Mark, is_results
from experiments.services.uploading.reading import Chunk, Problem, content_hash


@dataclass
class Matcher:
    """Finds the example of each row: by its id, or else by its inputs."""

    dataset: Dataset
    column: str = ""
    by_inputs: dict[int, UUID | None] | None = None

    def match(self, chunk: Chunk) -> list[ExampleRevision]:
        """The standing revisions, row by row; rows without one become problems."""
        wanted = [example.uid or self._of_inputs(example) for example in chunk.examples]
        rows = ExampleRevision.objects.filter(
            dataset=self.dataset, valid_to=None, example__uid__in=[uid for uid in wanted if uid]
        ).select_related("example", "payload")
        known = {row.example.uid: row for row in rows}
        found: list[ExampleRevision] = []
        kept: list[int] = []
        for number, (example, uid) in enumerate(zip(chunk.examples, wanted, strict=True)):
            row = known.get(uid) if uid else None
            if row is None:
                reason = self._reason(example)
                chunk.problems.append(Problem(chunk.lines[number], self.column, reason))
            else:
                found.append(row)
                kept.append(number)
        chunk.examples = [chunk.examples[number] for number in kept]
        chunk.marks = [chunk.marks[number] for number in kept]
        chunk.lines = [chunk.lines[number] for number in kept]
        chunk.problems.sort(key=lambda problem: problem.line)
        return found

    def _reason(self, example: NewExample) -> str:
        if example.uid is not None:
            return "no example of the dataset has this id"
        several = self._hash(example.inputs) in (self.by_inputs or {})
        return f"{'several examples have' if several else 'no example has'} these inputs"

    def _of_inputs(self, example: NewExample) -> UUID | None:
        if self.by_inputs is None:
            self.by_inputs = self._read()
        return self.by_inputs.get(self._hash(example.inputs))

    def _read(self) -> dict[int, UUID | None]:
        found: dict[int, UUID | None] = {}
        rows = ExampleRevision.objects.filter(dataset=self.dataset, valid_to=None)
        for uid, inputs in rows.values_list("example__uid", "payload__inputs").iterator():
            key = self._hash(inputs)
            found[key] = None if key in found else uid
        return found

    @staticmethod
    def _hash(inputs: str) -> int:
        """The same for objects that differ in the order of their keys or in white space."""
        value = loads_exact(inputs)
        plain = dict(sorted(value.items())) if isinstance(value, dict) else value
        return content_hash(dumps(plain), None)


@dataclass
class ResultWriter:
    """Writes chunks of results as root runs with their scores."""

    upload: Upload
    experiment: Experiment
    matcher: Matcher
    runs: int = 0
    seen: Counter[int] = field(default_factory=Counter)

    @classmethod
    def begin(cls, upload: Upload) -> ResultWriter:
        dataset = upload.dataset
        if dataset is None:
            raise InvalidError("dataset", "Results belong to a dataset that exists.")
        experiment = create_experiment(
            workspace=upload.workspace,
            name=upload.options["experiment"],
            dataset=dataset,
            description=f"Made of the file {upload.filename}",
            extra=dumps({"metadata": {"dataset_version": dataset.modified_at.isoformat()}}),
        )
        return cls(upload, experiment, Matcher(dataset))

    def write(self, chunk: Chunk) -> None:
        """Match a chunk with its examples and write what has one."""
        rows = self.matcher.match(chunk)
        uids = uuid7s(len(rows))
        pieces = [
            self._piece(uid, row, example)
            for uid, row, example in zip(uids, rows, chunk.examples, strict=True)
        ]
        feedback = [
            self._entry(uid, mark)
            for uid, marks in zip(uids, chunk.marks, strict=True)
            for mark in marks
        ]
        ingest(workspace=self.upload.workspace, pieces=pieces, feedback=feedback)
        self.seen.update(row.example_id for row in rows)
        self.runs += len(rows)

    def _piece(self, uid: UUID, row: ExampleRevision, example: NewExample) -> RunPiece:
        moment = self.experiment.start_time
        return RunPiece(
            uid=uid,
            opening=True,
            trace_uid=uid,
            dotted_order=f"{moment:%Y%m%dT%H%M%S%fZ}{uid}",
            name="imported",
            run_type="chain",
            start_time=moment,
            end_time=moment,
            experiment_uid=self.experiment.uid,
            example_uid=row.example.uid,
            inputs=row.payload.inputs,
            outputs=example.outputs,
            extra=f'{{"metadata":{example.metadata}}}' if example.metadata else None,
        )

    def _entry(self, uid: UUID, mark: Mark) -> FeedbackEntry:
        return FeedbackEntry(
            uid=uuid7s(1)[0],
            key=storable(mark.key),
            run_uid=uid,
            trace_uid=uid,
            experiment_uid=self.experiment.uid,
            score=float(mark.score) if mark.score is not None else None,
            score_text=mark.score,
            value=mark.value,
        )

    def finish(self) -> None:
        """Say how large the experiment is."""
        self.experiment.num_examples = len(self.seen)
        self.experiment.num_repetitions = max(self.seen.values(), default=1)
        self.experiment.end_time = self.experiment.start_time
        self.experiment.save(update_fields=["num_examples", "num_repetitions", "end_time"])


def matcher_of(upload: Upload) -> Matcher | None:
    """For a file of results, what finds the examples of its rows."""
    if not is_results(upload) or upload.dataset is None:
        return None
    return Matcher(upload.dataset)
