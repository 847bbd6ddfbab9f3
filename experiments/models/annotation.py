"""How feedback is to be read, who may give it without a key, and runs that wait for a person."""

from django.db import models
from django.utils import timezone

from experiments.models.base import WorkspaceRow
from experiments.models.datasets import MAX_NAME
from experiments.rawjson import RawJsonField


class FeedbackConfig(WorkspaceRow):
    """What the scores of a feedback key mean: their range or their categories."""

    key = models.CharField(max_length=MAX_NAME)
    config = RawJsonField()
    is_lower_score_better = models.BooleanField(default=False)
    is_enforced = models.BooleanField(default=False)
    modified_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="feedback_config_uid"),
            models.UniqueConstraint(fields=["workspace", "key"], name="feedback_config_key"),
        ]

    def __str__(self) -> str:
        return self.key


class FeedbackToken(WorkspaceRow):
    """Lets whoever has its address give feedback on one run under one key, until it expires."""

    run_uid = models.UUIDField()
    key = models.CharField(max_length=MAX_NAME)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["uid"], name="feedback_token_uid"),
        ]
        indexes = [models.Index(fields=["workspace", "run_uid"], name="feedback_token_run")]

    def __str__(self) -> str:
        return f"{self.key} on {self.run_uid}"


class AnnotationQueue(WorkspaceRow):
    """Runs that people are to look at one after the other, and what to look for."""

    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(null=True)
    rubric_instructions = models.TextField(null=True)
    rubric_items = RawJsonField(null=True)
    modified_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="annotation_queue_uid"),
        ]
        indexes = [models.Index(fields=["workspace", "-id"], name="annotation_queue_recent")]

    def __str__(self) -> str:
        return self.name


class QueuedRun(models.Model):
    """A run in a queue; it is reviewed once somebody has said so."""

    queue = models.ForeignKey(AnnotationQueue, on_delete=models.CASCADE, related_name="runs")
    uid = models.UUIDField()
    run_uid = models.UUIDField()
    added_at = models.DateTimeField(default=timezone.now)
    reviewed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "run_uid"], name="queued_run_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_uid} in {self.queue_id}"
