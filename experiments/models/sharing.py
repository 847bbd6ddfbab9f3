"""Links by which people outside the workspace read a dataset, a run or a comparison."""

from uuid import uuid4

from django.db import models
from django.utils import timezone


class SharedLink(models.Model):
    """Whoever has the token reads what it names, and nothing else."""

    class Kind(models.TextChoices):
        DATASET = "dataset", "Dataset"
        RUN = "run", "Run"
        COMPARISON = "comparison", "Comparison"

    class Shows(models.TextChoices):
        SUMMARY = "summary", "The verdict alone"
        ROWS = "rows", "The verdict and the rows"
        REASONS = "reasons", "Rows with reasons, prompts and replies"

    workspace = models.ForeignKey(
        "accounts.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    token = models.UUIDField(default=uuid4, unique=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    target_uid = models.UUIDField(help_text="of the dataset or run; no key, for those come and go")
    shows = models.CharField(max_length=8, choices=Shows.choices, default=Shows.REASONS)
    expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "target_uid"], name="shared_link_once"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=["dataset", "run", "comparison"]),
                name="shared_link_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target_uid}"
