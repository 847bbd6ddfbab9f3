"""The request as our pages see it, and what every page needs."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import quote

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django_htmx.middleware import HtmxDetails

from tiebreak.accounts.models import Role, User, Workspace

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
Arguments = ParamSpec("Arguments")


class HtmxHttpRequest(HttpRequest):
    """A request of a signed-in person; `workspace` and `role` come from the middleware."""

    htmx: HtmxDetails
    user: User
    workspace: Workspace
    role: Role


class ContentSecurityPolicyMiddleware:
    """Nothing that does not come from our own server, and no page kept by caches."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store, private")
        return response


View = Callable[Concatenate[HtmxHttpRequest, Arguments], HttpResponseBase]


def needs(
    role: Role,
) -> Callable[[View[Arguments]], Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase]]:
    """A view for members with at least this role; strangers sign in first."""

    def decorate(
        view: View[Arguments],
    ) -> Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase]:
        @wraps(view)
        def guarded(
            request: HttpRequest, /, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return to_sign_in(request)
            member: HtmxHttpRequest = request  # type: ignore[assignment]
            if member.workspace is None:
                return render(request, "errors/no_workspace.html", status=403)
            if not member.role.allows(role):
                raise PermissionDenied(f"This needs the role {role.label.lower()} or higher.")
            return view(member, *args, **kwargs)

        return guarded

    return decorate


def to_sign_in(request: HttpRequest) -> HttpResponse:
    """Send a stranger to the sign-in page, and a fragment's whole page with it."""
    target = f"{reverse('sign_in')}?next={quote(request.get_full_path())}"
    if getattr(request, "htmx", False):
        return HttpResponse(status=204, headers={"HX-Redirect": target})
    return HttpResponseRedirect(target)


def site(request: HttpRequest) -> dict[str, Any]:
    """Context of every template: the workspace and what the person may do."""
    role: Role | None = getattr(request, "role", None)
    return {
        "workspace": getattr(request, "workspace", None),
        "role": role,
        "may_annotate": role is not None and role.allows(Role.ANNOTATOR),
        "may_edit": role is not None and role.allows(Role.EDITOR),
        "may_administer": role is not None and role.allows(Role.ADMIN),
    }


def healthz(request: HttpRequest) -> HttpResponse:
    """Says that the web server answers."""
    return HttpResponse("ok", content_type="text/plain")
