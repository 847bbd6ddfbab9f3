"""Several experiments of one dataset side by side, a line per example and repetition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from experiments.exports.experiments import scores_json
from experiments.exports.records import CHUNK, Export, Record, cell, flatten
from experiments.models import Experiment
from experiments.queries.side_by_side import Wanted, examples_page
from experiments.queries.side_by_side_rows import Cell, Line, lines_of

OF_EXAMPLE = ("example_id", "repetition", "inputs", "reference_outputs")
OF_SIDE = ("name", "run_id", "outputs", "error", "scores")


def side_by_side_export(
    experiments: Sequence[Experiment], wanted: Wanted, lower: Collection[str]
) -> Export:
    """The examples that are asked for, with what every experiment gave."""
    letters = [chr(ord("a") + place) for place in range(len(experiments))]
    columns = (*OF_EXAMPLE, *(f"{letter}_{part}" for letter in letters for part in OF_SIDE))
    spread = tuple(f"{letter}_scores" for letter in letters)

    def read() -> Iterator[Record]:
        return flatten(
            _records(line, letters, experiments) for line in _lines(experiments, wanted, lower)
        )

    name = " vs ".join(row.name for row in experiments)[:200]
    return Export(name, columns, read, spread=spread)


def _lines(
    experiments: Sequence[Experiment], wanted: Wanted, lower: Collection[str]
) -> Iterator[Line]:
    after = None
    while True:
        page = examples_page(experiments, wanted, lower, size=CHUNK, after=after)
        yield from lines_of(experiments, page.ids, (), lower)
        if not page.has_after:
            return
        after = page.ids[-1]


def _records(
    line: Line, letters: Sequence[str], experiments: Sequence[Experiment]
) -> Iterator[Record]:
    payload = line.revision.payload
    for number, cells in enumerate(line.repetitions):
        record: Record = {
            "example_id": cell(line.example.uid),
            "repetition": cell(number),
            "inputs": payload.inputs,
            "reference_outputs": payload.outputs,
        }
        for letter, one, experiment in zip(letters, cells, experiments, strict=True):
            record |= {f"{letter}_{part}": text for part, text in _side(one, experiment).items()}
        yield record


def _side(one: Cell, experiment: Experiment) -> Record:
    marks = [row for rows in one.feedback.values() for row in rows]
    return {
        "name": cell(experiment.name),
        "run_id": cell(one.side.run_uid),
        "outputs": one.side.raw,
        "error": cell(one.side.lack or None),
        "scores": scores_json(marks),
    }
