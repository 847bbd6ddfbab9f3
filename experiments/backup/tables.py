"""The tables of a workspace in an order in which rows only point back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, Model, QuerySet

from experiments import models
from tiebreak.accounts.models import ApiKey, Membership, Workspace

FORMAT = 1


@dataclass(frozen=True)
class Table:
    """A table and the way from its rows to the workspace."""

    model: type[Model]
    path: str = "workspace"

    @property
    def name(self) -> str:
        return self.model.__name__

    @property
    def fields(self) -> Sequence[Field[Any, Any]]:
        return self.model._meta.concrete_fields

    def rows(self, workspace: Workspace) -> QuerySet[Model]:
        rows = self.model._default_manager.filter(**{self.path: workspace})
        done = models.Upload.State.COMPLETE
        return rows.filter(state=done) if self.model is models.Upload else rows


TABLES = (
    Table(Membership),
    Table(ApiKey),
    Table(models.Provider),
    Table(models.Evaluator),
    Table(models.Dataset),
    Table(models.Example),
    Table(models.ExampleRevision, "dataset__workspace"),
    Table(models.ExamplePayload, "revision__dataset__workspace"),
    Table(models.DatasetVersion, "dataset__workspace"),
    Table(models.DatasetTag, "dataset__workspace"),
    Table(models.Upload),
    Table(models.SavedMapping),
    Table(models.Experiment),
    Table(models.Run),
    Table(models.RunPayload, "run__workspace"),
    Table(models.Attachment),
    Table(models.Feedback),
    Table(models.FeedbackConfig),
    Table(models.FeedbackToken),
    Table(models.AnnotationQueue),
    Table(models.QueuedRun, "queue__workspace"),
    Table(models.SharedLink),
    Table(models.Job),
    Table(models.Evaluation),
    Table(models.JudgeReply),
    Table(models.Comparison),
    Table(models.ComparisonSide, "comparison__workspace"),
    Table(models.ComparisonEvaluator, "comparison__workspace"),
    Table(models.Pair, "comparison__workspace"),
    Table(models.Judgment, "comparison__workspace"),
    Table(models.JudgmentScore, "judgment__comparison__workspace"),
    Table(models.Game, "judgment__comparison__workspace"),
    Table(models.OutcomeDelta, "evaluator__comparison__workspace"),
    Table(models.Race, "evaluator__comparison__workspace"),
)
# What only says who is working on what at this moment (a restored job that was open is cancelled),
# and what is added up again from the rest.
LEFT_OUT = (
    models.Lane,
    models.QueueItem,
    models.Pace,
    models.WorkerSign,
    models.JudgingReport,
    models.ExperimentSummary,
    models.OpenQuestion,
)


def schema() -> list[str]:
    """The migrations that made the tables: archives fit only where these are the same."""
    rows = MigrationRecorder.Migration.objects.filter(app__in=["accounts", "experiments"])
    return sorted(f"{app}.{name}" for app, name in rows.values_list("app", "name"))
