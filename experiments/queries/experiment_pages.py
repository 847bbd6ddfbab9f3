"""What the pages of experiments list: experiments with their metrics, runs with their feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import QuerySet

from experiments.models import ExampleRevision, Experiment, Feedback, Run
from experiments.queries.experiment_summaries import Summary
from experiments.queries.paging import Slice, page_by_time
from experiments.rawjson import loads
from experiments.texts import text_of


@dataclass(frozen=True)
class ExperimentRow:
    """An experiment with what its runs come to, as far as that is added up."""

    experiment: Experiment
    summary: Summary

    @property
    def is_known(self) -> bool:
        """Whether it was ever added up."""
        return self.summary.added_up_at is not None

    @property
    def expected(self) -> int | None:
        """Runs to come in all, where the script said so."""
        row = self.experiment
        return row.num_examples * (row.num_repetitions or 1) if row.num_examples else None


def experiment_page(
    rows: QuerySet[Experiment], *, q: str, size: int, after: str = "", before: str = ""
) -> Slice[Experiment]:
    """A page of experiments, the newest first."""
    rows = rows.select_related("dataset")
    if q:
        rows = rows.filter(name__icontains=q)
    return page_by_time(rows, "start_time", size=size, after=after, before=before)


@dataclass(frozen=True)
class RunRow:
    """A root run with its example and its feedback."""

    run: Run
    input: str | None
    reference: str | None
    output: str | None
    error: str
    feedback: dict[str, list[Feedback]] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """Latency; None while it has not ended, or when its clock was wrong."""
        end, start = self.run.end_time, self.run.start_time
        return (end - start).total_seconds() if end and end >= start else None


def run_page(
    experiment: Experiment,
    *,
    q: str = "",
    status: str = "",
    size: int,
    after: str = "",
    before: str = "",
) -> tuple[Slice[Run], list[RunRow]]:
    """Root runs, the newest first, with examples and feedback in two further queries."""
    rows = Run.objects.filter(experiment=experiment, is_root=True).select_related("payload")
    if status in Run.Status.values:
        rows = rows.filter(status=status)
    if q:
        rows = rows.filter(payload__search__icontains=q)
    page = page_by_time(rows, "start_time", size=size, after=after, before=before)
    return page, run_rows(experiment, page.rows)


def run_rows(experiment: Experiment, runs: Sequence[Run]) -> list[RunRow]:
    """These runs with their examples as the experiment saw them."""
    examples = _examples(experiment, runs)
    feedback = _feedback(experiment, runs)
    return [_run_row(run, examples.get(run.example_uid), feedback.get(run.uid, {})) for run in runs]


def _run_row(
    run: Run, revision: ExampleRevision | None, feedback: dict[str, list[Feedback]]
) -> RunRow:
    payload = run.payload
    return RunRow(
        run=run,
        input=text_of(revision.payload.inputs if revision else payload.inputs),
        reference=text_of(revision.payload.outputs) if revision else None,
        output=text_of(payload.outputs),
        error=str(loads(payload.error)) if payload.error else "",
        feedback=feedback,
    )


def _examples(experiment: Experiment, runs: Sequence[Run]) -> dict[UUID | None, ExampleRevision]:
    rows = ExampleRevision.objects.filter(
        example__workspace=experiment.workspace_id,
        example__uid__in={run.example_uid for run in runs if run.example_uid},
    ).select_related("example", "payload")
    if experiment.dataset_version:
        rows = rows.filter(valid_from__lte=experiment.dataset_version)
    return {row.example.uid: row for row in rows.order_by("valid_from")}


def _feedback(
    experiment: Experiment, runs: Sequence[Run]
) -> dict[UUID | None, dict[str, list[Feedback]]]:
    rows = Feedback.objects.filter(
        workspace=experiment.workspace_id,
        run_uid__in=[run.uid for run in runs],
        comparison_uid=None,
    ).order_by("key", "created_at")
    found: dict[UUID | None, dict[str, list[Feedback]]] = {}
    for row in rows:
        found.setdefault(row.run_uid, {}).setdefault(row.key, []).append(row)
    return found


def session_scores(experiment: Experiment) -> list[Feedback]:
    """Scores of the experiment as a whole, as summary evaluators give them."""
    rows = Feedback.objects.filter(experiment=experiment, run_uid=None)
    return list(rows.order_by("key", "-created_at"))


def child_runs(run: Run) -> list[Run]:
    """The trace of a root run in the order of execution."""
    rows = Run.objects.filter(workspace=run.workspace_id, trace_uid=run.trace_uid)
    return list(rows.exclude(pk=run.pk).order_by("dotted_order")[:500])
