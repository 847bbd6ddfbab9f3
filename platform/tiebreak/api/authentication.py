"""Who is asking: an API key stands for a workspace and a role."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotFound
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from experiments.columns import columns_of, fetch, made
from tiebreak.accounts.models import ApiKey, Role, User, Workspace

NOTE_USE_EVERY = timedelta(minutes=1)


class ApiKeyAuthentication(BaseAuthentication):
    """Reads `X-API-Key` or `Authorization: Bearer`; sets `workspace` and `role` on the request."""

    def authenticate(self, request: Request) -> tuple[Any, ApiKey] | None:
        secret = _secret_of(request)
        if secret is None:
            return None
        now = timezone.now()
        key = _find(ApiKey.digest_of(secret))
        if key is None or not key.is_valid(now):
            raise AuthenticationFailed("This API key is not known, has expired or was revoked.")
        _must_be_its_workspace(request, key)
        _note_use(key, now)
        request.workspace = key.workspace  # type: ignore[attr-defined]
        request.role = Role(key.role)  # type: ignore[attr-defined]
        return SimpleLazyObject(lambda: key.created_by), key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _find(digest: bytes) -> ApiKey | None:
    """The key with its workspace; asked by every request, so its statement is prepared."""
    found = fetch(_FIND, [digest])
    if not found:
        return None
    split = len(ApiKey._meta.concrete_fields)
    key = made(ApiKey, found[0][:split])
    key.workspace = made(Workspace, found[0][split:])
    return key


_FIND = (
    f"SELECT {columns_of(ApiKey, 'k')}, {columns_of(Workspace, 'w')} "  # noqa: S608
    f"FROM {ApiKey._meta.db_table} k JOIN {Workspace._meta.db_table} w ON w.id = k.workspace_id "
    f"LEFT JOIN {User._meta.db_table} u ON u.id = k.created_by_id "
    "WHERE k.digest = $1 AND (u.id IS NULL OR u.is_active)"
)


def _secret_of(request: Request) -> str | None:
    header = request.headers.get("X-API-Key")
    if header:
        return header.strip()
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _must_be_its_workspace(request: Request, key: ApiKey) -> None:
    """A script that names a workspace means that one; another one is not there for this key."""
    named = request.headers.get("X-Tenant-Id", "").strip().lower()
    if named and named != str(key.workspace.uid):
        raise NotFound("The workspace that X-Tenant-Id names is not the one of this API key.")


def _note_use(key: ApiKey, now: datetime) -> None:
    if key.last_used_at is None or now - key.last_used_at > NOTE_USE_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - NOTE_USE_EVERY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)


class RoleAllows(BasePermission):
    """Reading needs any valid key, writing one with the role of an editor."""

    message = "The role of this API key does not allow that."
    needed = Role.EDITOR

    def has_permission(self, request: Request, view: Any) -> bool:
        role: Role | None = getattr(request, "role", None)
        if role is None:
            return False
        return request.method in SAFE_METHODS or role.allows(self.needed)


class AnyRole(RoleAllows):
    """For questions that are put by POST, such as a query with a long filter."""

    needed = Role.VIEWER


class MayAnnotate(RoleAllows):
    """For feedback, which an annotator may give."""

    needed = Role.ANNOTATOR
