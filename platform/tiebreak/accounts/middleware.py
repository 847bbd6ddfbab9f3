"""Puts the workspace and the role of a signed-in person on the request."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from tiebreak.accounts.models import Membership, Role, User

SESSION_KEY = "workspace"


class WorkspaceMiddleware:
    """Sets `request.workspace` and `request.role`; both None for strangers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.workspace = None  # type: ignore[attr-defined]
        request.role = None  # type: ignore[attr-defined]
        if not request.path.startswith(("/api/", "/static/")) and isinstance(request.user, User):
            membership = current_membership(request.user, request.session.get(SESSION_KEY))
            if membership is not None:
                request.workspace = membership.workspace  # type: ignore[attr-defined]
                request.role = Role(membership.role)  # type: ignore[attr-defined]
        return self.get_response(request)


def current_membership(user: User, workspace_uid: str | None) -> Membership | None:
    """The membership in the chosen workspace, else in the oldest one."""
    memberships = user.memberships.select_related("workspace").order_by("pk")
    chosen = memberships.filter(workspace__uid=workspace_uid).first() if workspace_uid else None
    return chosen or memberships.first()
