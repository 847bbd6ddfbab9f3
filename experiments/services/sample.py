"""The sample that ships: a dataset, and the answers of two versions of an assistant."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db import transaction

from experiments.ids import uuid7
from experiments.models import Comparison, Dataset, Experiment, Order, Run, RunPayload
from experiments.rawjson import dumps, search_text
from experiments.services.comparisons import create_comparison
from experiments.services.datasets import create_dataset
from experiments.services.evaluators import configure_evaluator
from experiments.services.examples import NewExample, add_examples
from tiebreak.accounts.models import User, Workspace

FOLDER = Path(__file__).resolve().parent.parent / "sample"
DATASET = "assistant-questions"
VERSIONS = ("assistant-v1", "assistant-v2")


def sample_lines(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The lines of one of the sample's files."""
    text = (folder / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@transaction.atomic
def load_sample(workspace: Workspace, folder: Path = FOLDER) -> Dataset:
    """The sample dataset with its two experiments; loaded once, then only found."""
    found = Dataset.objects.filter(workspace=workspace, name=DATASET).first()
    if found is not None:
        return found
    dataset = create_dataset(
        workspace=workspace,
        name=DATASET,
        description="Questions to an assistant, written for this project, with reference answers.",
        metadata={"source": "sample"},
    )
    questions = sample_lines("questions", folder)
    ids = {line["id"]: _uid(workspace, line["id"]) for line in questions}
    examples = [_example(line, ids[line["id"]]) for line in questions]
    add_examples(dataset=dataset, examples=examples, note="Sample")
    inputs = {line["id"]: line["inputs"] for line in questions}
    for version in VERSIONS:
        _load_version(dataset, version, sample_lines(version, folder), inputs, ids)
    return dataset


def compare_sample(
    dataset: Dataset, *, swap: bool = False, author: User | None = None
) -> tuple[Comparison, bool]:
    """The comparison of the sample's two experiments, and whether it is new and must be started."""
    names = list(VERSIONS if swap else reversed(VERSIONS))
    title = " vs ".join(names)
    found = Comparison.objects.filter(dataset=dataset, name=title).first()
    if found is not None:
        return found, False
    evaluator = configure_evaluator(workspace=dataset.workspace, kind="nearer_by_string_distance")
    comparison = create_comparison(
        dataset=dataset,
        experiments=[dataset.experiments.get(name=name) for name in names],
        evaluators=[evaluator],
        order=Order.OFF,
        name=title,
        description="Which answer is nearer to the reference, by Levenshtein distance.",
        author=author,
    )
    return comparison, True


def _uid(workspace: Workspace, slug: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"tiebreak:{workspace.uid}:{slug}")


def _example(line: dict[str, Any], uid: UUID) -> NewExample:
    return NewExample(
        uid=uid,
        inputs=dumps(line["inputs"]),
        outputs=dumps(line["outputs"]),
        metadata=dumps(line["metadata"]),
        splits=[line["split"]],
    )


def _load_version(
    dataset: Dataset,
    name: str,
    lines: Iterable[dict[str, Any]],
    inputs: dict[str, dict[str, Any]],
    ids: dict[str, UUID],
) -> None:
    experiment = Experiment.objects.create(
        workspace=dataset.workspace,
        name=name,
        description=f"The sample's {name.replace('-', ' ')}.",
        dataset=dataset,
        start_time=dataset.modified_at,
        metadata={"version": name.rpartition("-")[2]},
        extra=dumps({"metadata": {"version": name.rpartition("-")[2]}}),
        num_examples=len(ids),
        num_repetitions=1,
        dataset_version=dataset.modified_at,
    )
    moment = dataset.modified_at
    pieces = [_run(experiment, line, inputs, ids, moment) for line in lines]
    Run.objects.bulk_create([run for run, _ in pieces])
    payloads = [make(run=run) for run, make in pieces]
    RunPayload.objects.bulk_create(payloads)


def _run(
    experiment: Experiment,
    line: dict[str, Any],
    inputs: dict[str, dict[str, Any]],
    ids: dict[str, UUID],
    moment: datetime,
) -> tuple[Run, Any]:
    uid = uuid7()
    error = line.get("error")
    run = Run(
        workspace=experiment.workspace,
        uid=uid,
        experiment=experiment,
        trace_uid=uid,
        dotted_order=f"{moment.astimezone(UTC):%Y%m%dT%H%M%S%fZ}{uid}",
        name="assistant",
        start_time=moment,
        end_time=moment + timedelta(milliseconds=line["latency_ms"]),
        status=Run.Status.ERROR if error else Run.Status.SUCCESS,
        example_uid=ids[line["example"]],
    )
    given = dumps(inputs[line["example"]])
    output = None if error else dumps(line["outputs"])
    make = partial(
        RunPayload,
        inputs=given,
        outputs=output,
        error=dumps(error) if error else None,
        search=search_text(given, output),
    )
    return run, make
