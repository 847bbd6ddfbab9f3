"""Scores and remarks on runs and experiments."""

from django.db import models
from django.utils import timezone

from experiments.models.base import WorkspaceRow
from experiments.models.runs import Experiment
from experiments.rawjson import RawJsonField


class Feedback(WorkspaceRow):
    """A score, value, comment or correction; it may come before the run it is about."""

    run_uid = models.UUIDField(null=True)
    trace_uid = models.UUIDField(null=True)
    experiment = models.ForeignKey(
        Experiment, null=True, on_delete=models.CASCADE, related_name="feedback", db_index=False
    )
    key = models.CharField(max_length=400)
    score = models.FloatField(null=True)
    score_text = models.TextField(null=True, help_text="the score as sent: true, 1, 0.5")
    value = RawJsonField(null=True)
    comment = RawJsonField(null=True, help_text="a JSON string")
    correction = RawJsonField(null=True)
    source_type = models.CharField(max_length=40, default="api")
    source = RawJsonField(default="{}", help_text="feedback_source as sent")
    extra = RawJsonField(null=True)
    is_error = models.BooleanField(default=False)
    comparison_uid = models.UUIDField(null=True)
    group_uid = models.UUIDField(null=True)
    modified_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="feedback_uid"),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "run_uid", "key"],
                condition=models.Q(run_uid__isnull=False),
                name="feedback_of_run",
            ),
            models.Index(fields=["experiment", "key"], name="feedback_of_experiment"),
            models.Index(
                fields=["experiment", "key"],
                condition=models.Q(run_uid__isnull=True),
                name="feedback_of_whole_experiment",
            ),
            models.Index(
                fields=["workspace", "comparison_uid", "group_uid"],
                condition=models.Q(comparison_uid__isnull=False),
                name="feedback_of_comparison",
            ),
            models.Index(fields=["workspace", "-created_at", "-id"], name="feedback_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.score_text}"
