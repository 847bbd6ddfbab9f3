"""Signing in and out, the first run, and one's own password."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from tiebreak.accounts import throttle
from tiebreak.accounts.first_run import is_setup_token
from tiebreak.accounts.models import Role, User
from tiebreak.accounts.services import create_administrator
from tiebreak.web.http import HtmxHttpRequest, needs

WRONG = "That name and password do not fit together."


class SignInForm(forms.Form):
    """Name and password; one message for both causes of failure."""

    username = forms.CharField(label="Name", max_length=150)
    password = forms.CharField(
        label="Password", strip=False, max_length=1000, widget=forms.PasswordInput
    )
    username.widget.attrs.update(autocomplete="username", autocapitalize="none")
    password.widget.attrs.update(autocomplete="current-password")


class FirstRunForm(forms.Form):
    """The first administrator and workspace."""

    username = forms.CharField(label="Your name", max_length=150, initial="admin")
    password = forms.CharField(
        label="Password", strip=False, max_length=1000, widget=forms.PasswordInput
    )
    workspace = forms.CharField(label="Workspace", max_length=120, initial="Workspace")
    username.widget.attrs.update(autocomplete="username")
    password.widget.attrs.update(autocomplete="new-password")


@sensitive_post_parameters("password")
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in, and go on to where one wanted to go."""
    following = _safe_next(request)
    if not User.objects.exists():
        return render(request, "accounts/first_run_hint.html")
    if request.method != "POST":
        return render(request, "accounts/sign_in.html", {"form": SignInForm(), "next": following})
    form = SignInForm(request.POST)
    user = _authenticate(request, form) if form.is_valid() else None
    if user is None:
        context = {"form": form, "next": following}
        return render(request, "accounts/sign_in.html", context, status=422)
    login(request, user)
    return HttpResponseRedirect(following)


def _authenticate(request: HttpRequest, form: SignInForm) -> User | None:
    """The user, or None with the reason on the form; repeated failures have to wait."""
    name, address = form.cleaned_data["username"], request.META.get("REMOTE_ADDR", "")
    wait = throttle.seconds_to_wait(name, address)
    if wait:
        form.add_error(None, f"Too many tries. Wait {wait} seconds and try again.")
        return None
    user = authenticate(request, username=name, password=form.cleaned_data["password"])
    if isinstance(user, User):
        throttle.forget_failures(name, address)
        return user
    throttle.note_failure(name, address)
    form.add_error(None, WRONG)
    return None


def _safe_next(request: HttpRequest) -> str:
    target = request.POST.get("next") or request.GET.get("next") or ""
    if url_has_allowed_host_and_scheme(target, {request.get_host()}):
        return target
    return reverse("dataset_list")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return HttpResponseRedirect(reverse("sign_in"))


@sensitive_post_parameters("password")
def setup(request: HttpRequest) -> HttpResponse:
    """The first run; only for whoever has the address that `tiebreak serve` printed."""
    token = request.POST.get("token") or request.GET.get("token", "")
    if User.objects.exists() or not is_setup_token(token):
        raise Http404("There is nothing to set up")
    form = FirstRunForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = _create_first(form)
        if user is not None:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            return HttpResponseRedirect(reverse("dataset_list"))
    status = 422 if form.errors else 200
    return render(request, "accounts/setup.html", {"form": form, "token": token}, status=status)


def _create_first(form: FirstRunForm) -> User | None:
    cleaned = form.cleaned_data
    try:
        with transaction.atomic():
            return create_administrator(
                username=cleaned["username"],
                password=cleaned["password"],
                workspace_name=cleaned["workspace"],
            )
    except ValidationError as error:
        form.add_error("password", error)
    except IntegrityError:
        form.add_error(None, "Somebody else has just finished the first run: sign in.")
    return None


@sensitive_post_parameters()
@needs(Role.VIEWER)
def password(request: HtmxHttpRequest) -> HttpResponse:
    """Change one's own password; other sessions end."""
    form: Any = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, request.user)
        messages.success(request, "Your password was changed; other sessions have ended.")
        return HttpResponseRedirect(reverse("settings"))
    context = {"form": form, "section": "settings", "settings_tab": "password"}
    return render(request, "settings/password.html", context, status=422 if form.errors else 200)
