"""Settings of a workspace: members and roles, API keys."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from tiebreak.accounts.models import ApiKey, Membership, Role
from tiebreak.accounts.services import (
    LastAdministratorError,
    add_member,
    create_api_key,
    remove_member,
    revoke_api_key,
    set_role,
)
from tiebreak.web.http import HtmxHttpRequest, needs

LIFETIMES = {"": "never", "30": "in 30 days", "90": "in 90 days", "365": "in a year"}


class MemberForm(forms.Form):
    """Somebody new, or somebody who has an account already."""

    username = forms.CharField(label="Name", max_length=150)
    password = forms.CharField(
        label="First password",
        required=False,
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="For somebody without an account here; they can change it.",
    )
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.EDITOR)


class KeyForm(forms.Form):
    """A new API key."""

    name = forms.CharField(label="Name", max_length=120)
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.EDITOR)
    expires = forms.ChoiceField(label="Expires", choices=LIFETIMES.items(), required=False)


@require_GET
@needs(Role.VIEWER)
def settings(request: HtmxHttpRequest) -> HttpResponse:
    """Where to begin: how scripts reach this workspace."""
    return settings_page(request, "settings/index.html", "general", endpoint=_endpoint(request))


def settings_page(
    request: HtmxHttpRequest, template: str, tab: str, *, status: int = 200, **context: object
) -> HttpResponse:
    context = {"section": "settings", "settings_tab": tab, **context}
    return render(request, template, context, status=status)


def _endpoint(request: HttpRequest) -> str:
    """What LANGSMITH_ENDPOINT must be; on this machine the SDK keeps the port only after a name."""
    host = request.get_host()
    local = host.partition(":")[0] in ("127.0.0.1", "localhost")
    return f"{request.scheme}://{'tiebreak@' if local else ''}{host}/api"


@needs(Role.ADMIN)
@sensitive_post_parameters("password")
def members(request: HtmxHttpRequest) -> HttpResponse:
    """Who is in this workspace."""
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            member = add_member(
                workspace=request.workspace,
                username=form.cleaned_data["username"],
                password=form.cleaned_data["password"],
                role=Role(form.cleaned_data["role"]),
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"{member.user} is a member now.")
            return HttpResponseRedirect(reverse("member_list"))
    rows = request.workspace.memberships.select_related("user").order_by("user__username")
    return settings_page(
        request,
        "settings/members.html",
        "members",
        status=422 if form.errors else 200,
        form=form,
        members=rows,
        roles=Role.choices,
    )


def _member(request: HtmxHttpRequest, pk: int) -> Membership:
    row = request.workspace.memberships.filter(pk=pk).first()
    if row is None:
        raise Http404("Member not found")
    return row


@require_POST
@needs(Role.ADMIN)
def member_role(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Give a member another role."""
    member = _member(request, pk)
    role = request.POST.get("role", "")
    if role not in Role.values:
        messages.error(request, f"The role must be one of {', '.join(Role.values)}.")
        return HttpResponseRedirect(reverse("member_list"))
    try:
        set_role(member, Role(role))
        messages.success(request, f"{member.user} is {Role(role).label.lower()} now.")
    except LastAdministratorError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(reverse("member_list"))


@require_POST
@needs(Role.ADMIN)
def member_remove(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Take a member out; what they made stays."""
    member = _member(request, pk)
    try:
        remove_member(member)
        messages.success(request, f"{member.user} is no longer a member. What they made stays.")
    except LastAdministratorError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(reverse("member_list"))


@needs(Role.ADMIN)
def keys(request: HtmxHttpRequest) -> HttpResponse:
    """API keys; a new one is shown once, on the answer to its form."""
    form = KeyForm(request.POST or None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        days = form.cleaned_data["expires"]
        _, secret = create_api_key(
            workspace=request.workspace,
            name=form.cleaned_data["name"],
            role=Role(form.cleaned_data["role"]),
            created_by=request.user,
            expires_at=timezone.now() + timedelta(days=int(days)) if days else None,
        )
        form = KeyForm()
    rows = request.workspace.api_keys.select_related("created_by").order_by("-created_at")
    return settings_page(
        request,
        "settings/keys.html",
        "keys",
        status=422 if form.errors else 200,
        form=form,
        keys=rows,
        secret=secret,
        endpoint=_endpoint(request),
        now=timezone.now(),
    )


@require_POST
@needs(Role.ADMIN)
def key_revoke(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """End a key at once."""
    key = ApiKey.objects.filter(workspace=request.workspace, uid=uid).first()
    if key is None:
        raise Http404("API key not found")
    revoke_api_key(key)
    messages.success(request, f"The key {key.name} was revoked.")
    return HttpResponseRedirect(reverse("key_list"))
