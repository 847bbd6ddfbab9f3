"""Writes about people and workspaces."""

from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from tiebreak.accounts.models import ApiKey, Membership, Role, User, Workspace


class LastAdministratorError(Exception):
    """A workspace must keep at least one administrator."""


@transaction.atomic
def create_workspace(*, name: str, owner: User | None = None) -> Workspace:
    """Create a workspace, with its owner as administrator."""
    workspace = Workspace.objects.create(name=name)
    if owner is not None:
        Membership.objects.create(user=owner, workspace=workspace, role=Role.ADMIN)
    return workspace


@transaction.atomic
def create_administrator(*, username: str, password: str, workspace_name: str) -> User:
    """Create the first user and workspace of an installation."""
    user = User(username=username, is_staff=True, is_superuser=True)
    validate_password(password, user)
    user.set_password(password)
    user.save()
    create_workspace(name=workspace_name, owner=user)
    return user


@transaction.atomic
def add_member(*, workspace: Workspace, username: str, password: str, role: Role) -> Membership:
    """Add somebody to a workspace; who has no account yet gets one with this password."""
    user = User.objects.filter(username=username).first()
    if user is None:
        user = User(username=username)
        if not password:
            raise ValidationError("Nobody here has this name: give a first password as well.")
        user.full_clean(exclude=["password"])
        validate_password(password, user)
        user.set_password(password)
        user.save()
    if user.memberships.filter(workspace=workspace).exists():
        raise ValidationError(f"{username} is a member already.")
    return Membership.objects.create(user=user, workspace=workspace, role=role)


def create_api_key(
    *,
    workspace: Workspace,
    name: str,
    role: Role,
    created_by: User | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Create a key; the second value is the key itself, which nobody can read again."""
    secret = ApiKey.new_secret()
    key = ApiKey.objects.create(
        workspace=workspace,
        name=name,
        role=role,
        digest=ApiKey.digest_of(secret),
        hint=secret[:7],
        created_by=created_by,
        expires_at=expires_at,
    )
    return key, secret


def revoke_api_key(key: ApiKey) -> None:
    """End a key at once; it stays listed."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())


@transaction.atomic
def set_role(membership: Membership, role: Role) -> Membership:
    """Change a member's role, but never leave the workspace without an administrator."""
    if role != Role.ADMIN:
        _keep_an_administrator(membership)
    membership.role = role
    membership.save(update_fields=["role"])
    return membership


@transaction.atomic
def remove_member(membership: Membership) -> None:
    """Take a person out of a workspace; what they made stays."""
    _keep_an_administrator(membership)
    membership.delete()


def _keep_an_administrator(membership: Membership) -> None:
    workspace = Workspace.objects.select_for_update().get(pk=membership.workspace_id)
    others = workspace.memberships.filter(role=Role.ADMIN).exclude(pk=membership.pk)
    if membership.role == Role.ADMIN and not others.exists():
        raise LastAdministratorError("This workspace needs another administrator first.")
