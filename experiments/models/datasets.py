"""Datasets, their examples with every earlier revision, and versions."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models.functions import Upper
from django.utils import timezone

from experiments.models.base import WorkspaceRow
from experiments.rawjson import RawJsonField

MAX_NAME = 400
DEFAULT_SPLIT = "base"


class DataType(models.TextChoices):
    KV = "kv", "Key–value"
    LLM = "llm", "Text in, text out"
    CHAT = "chat", "Chat messages"


class Dataset(WorkspaceRow):
    """A named collection of examples.

    `modified_at` is the clock of its versions: a write locks this row and takes a later moment.
    """

    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(null=True)
    data_type = models.CharField(max_length=4, choices=DataType.choices, default=DataType.KV)
    metadata = models.JSONField(default=dict)
    inputs_schema = RawJsonField(null=True)
    outputs_schema = RawJsonField(null=True)
    transformations = RawJsonField(null=True)
    example_count = models.BigIntegerField(default=0)
    modified_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="dataset_uid"),
            models.UniqueConstraint(fields=["workspace", "name"], name="dataset_name"),
            models.CheckConstraint(
                condition=models.Q(data_type__in=DataType.values), name="dataset_type"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "-modified_at", "-id"], name="dataset_recent"),
        ]

    def __str__(self) -> str:
        return self.name


class Example(WorkspaceRow):
    """The identity of an example; what it says stands in its revisions. `id` gives the order."""

    dataset = models.ForeignKey(
        Dataset,
        on_delete=models.CASCADE,
        related_name="examples",
        db_index=False,
        db_constraint=False,
    )
    source_run_uid = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="example_uid"),
        ]
        indexes = [models.Index(fields=["dataset", "id"], name="example_order")]

    def __str__(self) -> str:
        return str(self.uid)


class ExampleRevision(models.Model):
    """What an example said from one moment until another; `valid_to` is empty for what stands.

    Examples, revisions and payloads are written together under the lock of their dataset, so the
    database does not check a million references again at the end of an upload. `search` is null
    until `fill_search` has made it.
    """

    example = models.ForeignKey(
        Example, on_delete=models.CASCADE, related_name="revisions", db_constraint=False
    )
    dataset = models.ForeignKey(
        Dataset,
        on_delete=models.CASCADE,
        related_name="revisions",
        db_index=False,
        db_constraint=False,
    )
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    splits = ArrayField(models.TextField(), default=list)
    metadata = models.JSONField(default=dict)
    search = models.TextField(null=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["example"],
                condition=models.Q(valid_to=None),
                name="example_revision_stands",
            ),
        ]
        indexes = [
            models.Index(
                fields=["dataset", "example"],
                condition=models.Q(valid_to=None),
                name="revision_standing",
            ),
            models.Index(fields=["dataset", "valid_from"], name="revision_from"),
            models.Index(
                fields=["dataset", "valid_to"],
                condition=models.Q(valid_to__isnull=False),
                name="revision_to",
            ),
            GinIndex(
                fields=["metadata"],
                name="revision_described",
                opclasses=["jsonb_path_ops"],
                condition=models.Q(search__isnull=False),
            ),
            GinIndex(
                OpClass(Upper("search"), name="gin_trgm_ops"),
                name="revision_searchable",
                condition=models.Q(search__isnull=False),
            ),
            models.Index(
                fields=["dataset", "id"],
                name="revision_unsearched",
                condition=models.Q(search=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.example_id} from {self.valid_from.isoformat()}"


class ExamplePayload(models.Model):
    """The texts of a revision, as sent; kept apart so that lists stay narrow."""

    revision = models.OneToOneField(
        ExampleRevision,
        on_delete=models.CASCADE,
        related_name="payload",
        primary_key=True,
        db_constraint=False,
    )
    inputs = RawJsonField()
    outputs = RawJsonField(null=True)
    metadata = RawJsonField(null=True)

    def __str__(self) -> str:
        return f"payload of {self.revision_id}"


class DatasetVersion(models.Model):
    """One change of a dataset: when, who, and how much."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="versions")
    as_of = models.DateTimeField()
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    note = models.TextField(default="")
    added = models.BigIntegerField(default=0)
    changed = models.BigIntegerField(default=0)
    removed = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "as_of"], name="version_once"),
        ]

    def __str__(self) -> str:
        return self.as_of.isoformat()


class DatasetTag(models.Model):
    """A name for a moment of a dataset; one tag sits on one version."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=MAX_NAME)
    as_of = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "tag"], name="tag_once"),
        ]

    def __str__(self) -> str:
        return self.tag


class Upload(WorkspaceRow):
    """A file on its way into a dataset, with the mapping of its columns and how far it has come."""

    class State(models.TextChoices):
        MAPPING = "mapping", "Waiting for the mapping"
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        COMPLETE = "complete", "Complete"
        FAILED = "failed", "Failed"

    dataset = models.ForeignKey(
        Dataset, null=True, on_delete=models.CASCADE, related_name="uploads"
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.MAPPING)
    filename = models.TextField()
    path = models.TextField(help_text="inside the files folder")
    size = models.BigIntegerField()
    format = models.CharField(max_length=8)
    options = models.JSONField(default=dict, help_text="delimiter, encoding")
    mapping = models.JSONField(default=dict, help_text="column → role, key, parse")
    dataset_name = models.TextField(default="")
    bytes_done = models.BigIntegerField(default=0)
    rows_done = models.BigIntegerField(default=0)
    problems = models.JSONField(default=list, help_text="line, column, reason; the first hundred")
    error = models.TextField(default="")
    heartbeat_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="upload_uid"),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=["mapping", "queued", "running", "complete", "failed"]
                ),
                name="upload_state",
            ),
        ]

    def __str__(self) -> str:
        return self.filename


class SavedMapping(WorkspaceRow):
    """What becomes of the columns of a file; offered again when the same columns come."""

    signature = models.CharField(max_length=64, help_text="SHA-256 of the names of the columns")
    mapping = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "signature"], name="mapping_once"),
        ]

    def __str__(self) -> str:
        return self.signature
