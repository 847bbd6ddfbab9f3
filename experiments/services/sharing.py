"""Shared links: made, kept and taken back."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from experiments.errors import InvalidError
from experiments.models import Comparison, SharedLink
from tiebreak.accounts.models import Workspace

MOST_DAYS = 3650


def share(
    *, workspace: Workspace, kind: str, target_uid: UUID, token: UUID | None = None
) -> SharedLink:
    """Share a dataset or run; shared already, it keeps its first token."""
    link, _ = SharedLink.objects.get_or_create(
        workspace=workspace,
        kind=kind,
        target_uid=target_uid,
        defaults={"token": token or uuid4()},
    )
    return link


def unshare(*, workspace: Workspace, kind: str, target_uid: UUID) -> None:
    """End a link at once."""
    SharedLink.objects.filter(workspace=workspace, kind=kind, target_uid=target_uid).delete()


def share_comparison(*, comparison: Comparison, shows: str, days: int | None = None) -> SharedLink:
    """Share a comparison, or change what its link shows and how long it lasts."""
    if shows not in SharedLink.Shows.values:
        raise InvalidError("shows", f"must be one of {', '.join(SharedLink.Shows.values)}")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise InvalidError("days", f"must be between 1 and {MOST_DAYS:,}")
    link, _ = SharedLink.objects.update_or_create(
        workspace=comparison.workspace,
        kind=SharedLink.Kind.COMPARISON,
        target_uid=comparison.uid,
        defaults={
            "shows": shows,
            "expires_at": timezone.now() + timedelta(days=days) if days else None,
        },
    )
    return link


def link_of(comparison: Comparison) -> SharedLink | None:
    """The link that shares a comparison, also when it has run out."""
    return SharedLink.objects.filter(
        workspace=comparison.workspace_id,
        kind=SharedLink.Kind.COMPARISON,
        target_uid=comparison.uid,
    ).first()
