"""People, the workspaces they share, and the keys that scripts use."""

import hashlib
import secrets
import uuid
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone


class Role(models.TextChoices):
    VIEWER = "viewer", "Viewer"
    ANNOTATOR = "annotator", "Annotator"
    EDITOR = "editor", "Editor"
    ADMIN = "admin", "Administrator"

    @property
    def rank(self) -> int:
        return list(Role).index(self)

    def allows(self, needed: "Role") -> bool:
        return self.rank >= needed.rank


class User(AbstractUser):
    """A person; `username` is what they sign in with."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)


class Workspace(models.Model):
    """What a team shares; every other row belongs to exactly one."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=120, unique=True)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's role in a workspace."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "workspace"], name="membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="membership_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace}: {self.role}"


class ApiKey(models.Model):
    """A key of a workspace; only its hash is kept, the key itself is shown once."""

    PREFIX = "tb_"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=120)
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.EDITOR)
    digest = models.BinaryField(max_length=32, unique=True)
    hint = models.CharField(max_length=16)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="api_keys"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="api_key_role"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @staticmethod
    def digest_of(key: str) -> bytes:
        return hashlib.sha256(key.encode()).digest()

    @classmethod
    def new_secret(cls) -> str:
        return cls.PREFIX + secrets.token_urlsafe(32)

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
