"""The baseline of a dataset, and how far the means of other experiments are from its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from experiments.models import Dataset, Experiment
from experiments.queries.experiment_pages import ExperimentRow
from experiments.queries.experiment_summaries import Metric


@dataclass(frozen=True)
class Change:
    """The mean of a score against the baseline's, each over its own runs."""

    baseline: str
    theirs: Metric
    ours: Metric
    lower_is_better: bool

    @property
    def difference(self) -> float:
        return self.ours.mean - self.theirs.mean

    @property
    def text(self) -> str:
        """As long as the means beside it."""
        return f"{self.difference:+.3f}".replace("-", "−")

    @property
    def settled(self) -> bool:
        """Whether the 95% interval of the difference of two independent means leaves out zero."""
        margins = (self.ours.margin, self.theirs.margin)
        known = [margin for margin in margins if margin is not None]
        return len(known) == 2 and abs(self.difference) > hypot(*known)

    @property
    def way(self) -> str:
        """Better or worse where that is settled, else nothing."""
        if not self.settled:
            return ""
        return "better" if (self.difference > 0) != self.lower_is_better else "worse"


Changes = Mapping[int, Mapping[str, Change]]


def baseline_of(dataset: Dataset) -> Experiment | None:
    """The experiment that the others are compared with, if one was chosen."""
    return dataset.experiments.filter(is_baseline=True).first()


def baselines_of(experiments: Iterable[Experiment]) -> list[Experiment]:
    """The baselines of the datasets that these experiments ran over."""
    datasets = {row.dataset_id for row in experiments}
    return list(Experiment.objects.filter(dataset__in=datasets - {None}, is_baseline=True))


def changes_to(
    baselines: Sequence[ExperimentRow], rows: Sequence[ExperimentRow], lower: Collection[str]
) -> Changes:
    """By experiment and score, against the baseline of its dataset."""
    theirs = {row.experiment.dataset_id: row for row in baselines}
    return {
        row.experiment.pk: _changes(row, theirs[row.experiment.dataset_id], lower)
        for row in rows
        if row.experiment.dataset_id in theirs and not row.experiment.is_baseline
    }


def _changes(
    row: ExperimentRow, baseline: ExperimentRow, lower: Collection[str]
) -> dict[str, Change]:
    ours, theirs = row.summary.metrics, baseline.summary.metrics
    return {
        key: Change(baseline.experiment.name, theirs[key], ours[key], key in lower)
        for key in ours.keys() & theirs.keys()
    }
