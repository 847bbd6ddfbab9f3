"""The request as our pages see it, and what every page needs."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django_htmx.middleware import HtmxDetails

from tiebreak.accounts.models import Role, User, Workspace

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class HtmxHttpRequest(HttpRequest):
    """A request of a signed-in person; `workspace` and `role` come from the middleware."""

    htmx: HtmxDetails
    user: User
    workspace: Workspace
    role: Role


class ContentSecurityPolicyMiddleware:
    """No script, style or request that does not come from our own server."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response


def site(request: HttpRequest) -> dict[str, Any]:
    """Context of every template: the workspace and what the person may do."""
    role: Role | None = getattr(request, "role", None)
    return {
        "workspace": getattr(request, "workspace", None),
        "role": role,
        "may_edit": role is not None and role.allows(Role.EDITOR),
        "may_administer": role is not None and role.allows(Role.ADMIN),
    }


def healthz(request: HttpRequest) -> HttpResponse:
    """Says that the web server answers."""
    return HttpResponse("ok", content_type="text/plain")
