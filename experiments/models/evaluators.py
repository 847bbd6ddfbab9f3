"""Configured evaluators and the model providers they may call."""

from django.db import models
from django.utils import timezone

from experiments.models.base import WorkspaceRow
from experiments.models.datasets import MAX_NAME


class Provider(WorkspaceRow):
    """An OpenAI-compatible endpoint; its key is stored encrypted and never read back to a page."""

    name = models.CharField(max_length=120)
    base_url = models.TextField()
    model = models.CharField(max_length=200)
    sealed_key = models.BinaryField(default=b"")
    key_hint = models.CharField(max_length=8, default="")
    timeout = models.FloatField(default=60, help_text="seconds for one call")
    max_tokens = models.PositiveIntegerField(null=True, help_text="longest reply; empty: no limit")
    structured = models.BooleanField(default=False, help_text="the server keeps to a JSON schema")
    input_price = models.DecimalField(
        null=True, max_digits=14, decimal_places=6, help_text="US dollars for a million tokens read"
    )
    output_price = models.DecimalField(
        null=True, max_digits=14, decimal_places=6, help_text="and for a million tokens written"
    )
    requests_per_minute = models.PositiveIntegerField(null=True, help_text="empty: no limit")
    tokens_per_minute = models.PositiveIntegerField(null=True, help_text="empty: no limit")
    fallback = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="asked when this one is limited, late, overrun or unreadable",
    )
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="provider_uid"),
            models.UniqueConstraint(
                fields=["workspace", "name"],
                condition=models.Q(archived_at=None),
                name="provider_name",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Pace(models.Model):
    """When a provider may be called next: shared by all lanes of all workers."""

    provider = models.OneToOneField(
        Provider, on_delete=models.CASCADE, related_name="pace", primary_key=True
    )
    next_at = models.DateTimeField(default=timezone.now, help_text="the next free moment")
    blocked_until = models.DateTimeField(null=True, help_text="the provider asked to wait")

    def __str__(self) -> str:
        return f"pace of {self.provider_id}"


class Evaluator(WorkspaceRow):
    """A kind of the evaluators library with its settings; a change makes a new version.

    `name` is also the key of the feedback and the judgments it gives.
    """

    name = models.CharField(max_length=MAX_NAME)
    version = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=200)
    settings = models.JSONField(default=dict)
    provider = models.ForeignKey(
        Provider, null=True, on_delete=models.PROTECT, related_name="evaluators"
    )
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="evaluator_uid"),
            models.UniqueConstraint(
                fields=["workspace", "name", "version"], name="evaluator_version"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"
