"""What most tables share."""

from django.db import models
from django.utils import timezone

from experiments.ids import uuid7


class WorkspaceRow(models.Model):
    """A row of one workspace; `uid` is its id on the wire and in addresses.

    A client may choose the id, so it is unique in its workspace only.
    """

    workspace = models.ForeignKey(
        "accounts.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    uid = models.UUIDField(default=uuid7)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True
