"""Shared links: made, kept and taken back."""

from uuid import UUID, uuid4

from experiments.models import SharedLink
from tiebreak.accounts.models import Workspace


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
