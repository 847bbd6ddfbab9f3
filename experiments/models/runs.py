"""Experiments and the runs they hold."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models.functions import Upper
from django.utils import timezone

from experiments.models.base import WorkspaceRow
from experiments.models.datasets import MAX_NAME, Dataset
from experiments.rawjson import RawJsonField


class Experiment(WorkspaceRow):
    """One system's runs over a dataset; without a dataset, an ordinary tracing project."""

    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(null=True)
    dataset = models.ForeignKey(
        Dataset, null=True, on_delete=models.CASCADE, related_name="experiments", db_index=False
    )
    start_time = models.DateTimeField(default=timezone.now)
    end_time = models.DateTimeField(null=True)
    extra = RawJsonField(default="{}")
    metadata = models.JSONField(default=dict)
    num_examples = models.BigIntegerField(null=True)
    num_repetitions = models.BigIntegerField(null=True)
    evaluator_keys = ArrayField(models.TextField(), default=list)
    dataset_version = models.DateTimeField(null=True)
    is_baseline = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="experiment_uid"),
            models.UniqueConstraint(fields=["workspace", "name"], name="experiment_name"),
            models.UniqueConstraint(
                fields=["dataset"],
                condition=models.Q(is_baseline=True),
                name="experiment_baseline",
            ),
        ]
        indexes = [
            models.Index(fields=["dataset", "-start_time", "-id"], name="experiment_of_dataset"),
            models.Index(fields=["workspace", "-start_time", "-id"], name="experiment_recent"),
            GinIndex(fields=["metadata"], name="experiment_metadata", opclasses=["jsonb_path_ops"]),
        ]

    def __str__(self) -> str:
        return self.name


class ExperimentSummary(models.Model):
    """What an experiment's runs and scores came to when they were added up last.

    It holds as long as `stale` is false and the counting that began last has ended.
    """

    experiment = models.OneToOneField(
        Experiment, on_delete=models.CASCADE, related_name="summary", primary_key=True
    )
    body = RawJsonField(default="{}")
    stale = models.BooleanField(default=True, help_text="runs or scores came since")
    begun_at = models.DateTimeField(null=True, help_text="when the last counting began")
    added_up_at = models.DateTimeField(null=True, help_text="when the one kept here began")

    def __str__(self) -> str:
        return f"summary of {self.experiment_id}"


class Run(WorkspaceRow):
    """One traced call. Parents and traces are plain ids: pieces arrive in any order."""

    class Status(models.TextChoices):
        PENDING = "pending", "Unfinished"
        SUCCESS = "success", "Done"
        ERROR = "error", "Failed"

    experiment = models.ForeignKey(
        Experiment, on_delete=models.CASCADE, related_name="runs", db_index=False
    )
    trace_uid = models.UUIDField()
    parent_uid = models.UUIDField(null=True)
    is_root = models.BooleanField(default=True)
    dotted_order = models.TextField(default="")
    name = models.TextField(default="")
    run_type = models.CharField(max_length=12, default="chain")
    start_time = models.DateTimeField()
    end_time = models.DateTimeField(null=True)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.PENDING)
    example_uid = models.UUIDField(null=True)
    tags = ArrayField(models.TextField(), default=list)
    metadata = models.JSONField(default=dict)
    thread_id = models.TextField(null=True)
    first_token_time = models.DateTimeField(null=True)
    prompt_tokens = models.BigIntegerField(null=True)
    completion_tokens = models.BigIntegerField(null=True)
    total_tokens = models.BigIntegerField(null=True)
    prompt_cost = models.DecimalField(null=True, max_digits=30, decimal_places=15)
    completion_cost = models.DecimalField(null=True, max_digits=30, decimal_places=15)
    total_cost = models.DecimalField(null=True, max_digits=30, decimal_places=15)
    modified_at = models.DateTimeField(default=timezone.now)
    opened = models.BooleanField(
        default=True, help_text="its opening has come; false after an update that came alone"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="run_uid"),
            models.CheckConstraint(
                condition=models.Q(status__in=["pending", "success", "error"]), name="run_status"
            ),
        ]
        indexes = [
            models.Index(fields=["experiment", "-start_time", "-id"], name="run_recent"),
            models.Index(
                fields=["experiment", "example_uid", "start_time", "id"],
                condition=models.Q(is_root=True),
                name="run_of_example",
            ),
            models.Index(
                fields=["experiment", "-start_time", "-id"],
                condition=models.Q(is_root=True),
                name="run_roots",
            ),
            models.Index(fields=["workspace", "trace_uid", "dotted_order"], name="run_trace"),
            models.Index(
                fields=["workspace", "parent_uid"],
                condition=models.Q(parent_uid__isnull=False),
                name="run_parent",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.uid}"


class RunPayload(models.Model):
    """The texts of a run, as sent; kept apart so that lists stay narrow."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, related_name="payload", primary_key=True
    )
    inputs = RawJsonField(null=True)
    outputs = RawJsonField(null=True)
    error = RawJsonField(null=True, help_text="a JSON string")
    events = RawJsonField(null=True)
    extra = RawJsonField(null=True)
    serialized = RawJsonField(null=True)
    search = models.TextField(default="")

    class Meta:
        indexes = [GinIndex(OpClass(Upper("search"), name="gin_trgm_ops"), name="run_search")]

    def __str__(self) -> str:
        return f"payload of {self.run_id}"


class Attachment(models.Model):
    """A file that came with a run or an example revision; the bytes lie in the files folder."""

    workspace = models.ForeignKey("accounts.Workspace", on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="attachments")
    revision = models.ForeignKey(
        "experiments.ExampleRevision",
        null=True,
        on_delete=models.CASCADE,
        related_name="attachments",
    )
    name = models.TextField()
    mime_type = models.TextField()
    path = models.TextField()
    size = models.BigIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(run__isnull=True) ^ models.Q(revision__isnull=True),
                name="attachment_owner",
            ),
            models.UniqueConstraint(fields=["run", "name"], name="attachment_of_run"),
            models.UniqueConstraint(fields=["revision", "name"], name="attachment_of_revision"),
        ]

    def __str__(self) -> str:
        return self.name
