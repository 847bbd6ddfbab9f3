"""The rows of the side-by-side: an example, and what each experiment gave for it, repeats apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from uuid import UUID

from experiments.models import Example, ExampleRevision, Experiment, Feedback, Run
from experiments.queries.comparison_table import Side, side_of
from experiments.texts import text_of

MOST_REPETITIONS = 20


@dataclass(frozen=True)
class Mark:
    """A score of an example: the mean of its runs, and how it stands to the baseline's."""

    key: str
    score: float
    n: int
    way: str = ""


@dataclass(frozen=True)
class Cell:
    """One run of one experiment, with its feedback by key."""

    side: Side
    feedback: Mapping[str, Sequence[Feedback]] = field(default_factory=dict)


NO_RUN = Cell(Side(None, None, "No run"))


@dataclass(frozen=True)
class Line:
    """An example: `repetitions` holds a list of cells, one per experiment, for each repetition."""

    revision: ExampleRevision
    input: str | None
    reference: str | None
    repetitions: Sequence[Sequence[Cell]]
    marks: Sequence[Mapping[str, Mark]]
    left_out: int = 0

    @property
    def example(self) -> Example:
        return self.revision.example

    @property
    def key(self) -> str:
        """How the address names this row."""
        return str(self.example.uid)


def lines_of(
    experiments: Sequence[Experiment],
    example_ids: Sequence[int],
    keys: Collection[str],
    lower: Collection[str],
) -> list[Line]:
    """These examples in their order, in three queries."""
    revisions = _revisions(experiments, example_ids)
    examples = [revisions[pk].example for pk in example_ids if pk in revisions]
    runs = _runs(experiments, [one.uid for one in examples])
    feedback = _feedback(experiments, [run for of in runs.values() for run in of])
    return [
        _line(
            revisions[one.pk],
            [[(run, feedback.get(run.uid, {})) for run in runs.get((row.pk, one.uid), ())]
             for row in experiments],
            keys,
            lower,
        )
        for one in examples
    ]  # fmt: skip


def line_of(
    experiments: Sequence[Experiment], uid: UUID, keys: Collection[str], lower: Collection[str]
) -> Line | None:
    """The example that the address names, whatever the filters say."""
    dataset = experiments[0].dataset_id
    found = Example.objects.filter(dataset=dataset, uid=uid).values_list("pk", flat=True)
    return next(iter(lines_of(experiments, list(found), keys, lower)), None)


def _revisions(
    experiments: Sequence[Experiment], example_ids: Sequence[int]
) -> dict[int, ExampleRevision]:
    """What the examples said when the last of the experiments ran."""
    rows = ExampleRevision.objects.filter(example__in=example_ids)
    moments = [row.dataset_version for row in experiments]
    known: list[datetime] = [moment for moment in moments if moment]
    if len(known) == len(moments):
        rows = rows.filter(valid_from__lte=max(known))
    return {
        row.example_id: row
        for row in rows.select_related("example", "payload").order_by("valid_from")
    }


def _runs(
    experiments: Sequence[Experiment], uids: Sequence[UUID]
) -> dict[tuple[int, UUID | None], list[Run]]:
    rows = (
        Run.objects.filter(
            experiment__in=[row.pk for row in experiments], is_root=True, example_uid__in=uids
        )
        .select_related("payload")
        .only("uid", "experiment", "example_uid", "status", "payload__outputs", "payload__error")
        .order_by("start_time", "pk")
    )
    found: dict[tuple[int, UUID | None], list[Run]] = {}
    for row in rows:
        found.setdefault((row.experiment_id, row.example_uid), []).append(row)
    return found


def _feedback(
    experiments: Sequence[Experiment], runs: Sequence[Run]
) -> dict[UUID | None, dict[str, list[Feedback]]]:
    rows = Feedback.objects.filter(
        workspace=experiments[0].workspace_id,
        run_uid__in=[run.uid for run in runs],
        comparison_uid=None,
    )
    found: dict[UUID | None, dict[str, list[Feedback]]] = {}
    for row in rows.defer("source", "extra", "correction").order_by("key", "created_at"):
        found.setdefault(row.run_uid, {}).setdefault(row.key, []).append(row)
    return found


Given = Sequence[Sequence[tuple[Run, Mapping[str, Sequence[Feedback]]]]]


def _line(
    revision: ExampleRevision, given: Given, keys: Collection[str], lower: Collection[str]
) -> Line:
    repetitions = max((len(runs) for runs in given), default=0)
    means = [_means(runs, keys) for runs in given]
    return Line(
        revision=revision,
        input=text_of(revision.payload.inputs),
        reference=text_of(revision.payload.outputs),
        repetitions=[
            [_cell(runs[n]) if n < len(runs) else NO_RUN for runs in given]
            for n in range(min(repetitions, MOST_REPETITIONS))
        ],
        marks=[means[0], *(_against(one, means[0], lower) for one in means[1:])],
        left_out=max(0, repetitions - MOST_REPETITIONS),
    )


def _cell(given: tuple[Run, Mapping[str, Sequence[Feedback]]]) -> Cell:
    run, feedback = given
    return Cell(side_of(run), feedback)


def _means(
    runs: Iterable[tuple[Run, Mapping[str, Sequence[Feedback]]]], keys: Collection[str]
) -> dict[str, Mark]:
    scores: dict[str, list[float]] = {}
    for _, feedback in runs:
        for key in feedback.keys() & keys:
            good = (row.score for row in feedback[key] if not row.is_error)
            scores.setdefault(key, []).extend(score for score in good if score is not None)
    return {key: Mark(key, fmean(of), len(of)) for key, of in sorted(scores.items()) if of}


def _against(
    ours: Mapping[str, Mark], baseline: Mapping[str, Mark], lower: Collection[str]
) -> dict[str, Mark]:
    return {
        key: Mark(key, mark.score, mark.n, _way(mark, baseline.get(key), lower))
        for key, mark in ours.items()
    }


def _way(mark: Mark, baseline: Mark | None, lower: Collection[str]) -> str:
    if baseline is None:
        return ""
    if mark.score == baseline.score:
        return "same"
    return "better" if (mark.score > baseline.score) != (mark.key in lower) else "worse"
