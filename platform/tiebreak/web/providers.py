"""Settings of a workspace: the models that judges may ask."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.models import Provider
from experiments.services.prices import price_of
from experiments.services.providers import (
    Options,
    Trial,
    archive_provider,
    save_provider,
    try_provider,
)
from tiebreak import access
from tiebreak.accounts.models import Role, Workspace
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.workspace import settings_page

PLAIN = ("name", "base_url", "model", "key")


def _price(label: str) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, required=False, min_value=Decimal(0), max_digits=14, decimal_places=6
    )


def _limit(label: str) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=1, max_value=1_000_000_000)


class ProviderForm(forms.Form):
    """An OpenAI-compatible endpoint."""

    name = forms.CharField(label="Name", max_length=120)
    base_url = forms.CharField(label="Base URL", max_length=500)
    model = forms.CharField(label="Model", max_length=200)
    key = forms.CharField(
        label="API key",
        required=False,
        max_length=2000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    timeout = forms.FloatField(label="Time limit of a call", min_value=1, max_value=600, initial=60)
    max_tokens = forms.IntegerField(
        label="Longest reply", required=False, min_value=16, max_value=100_000
    )
    structured = forms.BooleanField(label="Keeps to a JSON schema", required=False)
    input_price = _price("Price of input")
    output_price = _price("Price of output")
    requests_per_minute = _limit("Requests a minute")
    tokens_per_minute = _limit("Tokens a minute")
    fallback = forms.ChoiceField(label="If it does not answer, ask", required=False)

    def __init__(
        self, workspace: Workspace, *args: Any, provider: Provider | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        others = Provider.objects.filter(workspace=workspace, archived_at=None)
        if provider is not None:
            others = others.exclude(pk=provider.pk)
        self.others = {str(row.uid): row for row in others.order_by("name")}
        chosen = self.fields["fallback"]
        assert isinstance(chosen, forms.ChoiceField)
        names = [(uid, f"{row.name} · {row.model}") for uid, row in self.others.items()]
        chosen.choices = [("", "Nobody"), *names]

    def options(self) -> Options:
        values = {name: value for name, value in self.cleaned_data.items() if name not in PLAIN}
        fallback = self.others.get(self.cleaned_data["fallback"])
        return Options(**{**values, "fallback": fallback})  # type: ignore[typeddict-item]


def _initial(row: Provider) -> dict[str, Any]:
    names = [name for name in ProviderForm.base_fields if name not in ("key", "fallback")]
    values = {name: getattr(row, name) for name in names}
    for name in ("input_price", "output_price"):
        values[name] = None if values[name] is None else f"{values[name].normalize():f}"
    return {**values, "fallback": str(row.fallback.uid) if row.fallback else ""}


@needs(Role.ADMIN)
@sensitive_post_parameters("key")
def providers(request: HtmxHttpRequest) -> HttpResponse:
    """Models that judges may ask."""
    form = ProviderForm(request.workspace, request.POST or None)
    if request.method == "POST" and form.is_valid() and _save(request, form, None):
        return HttpResponseRedirect(reverse("provider_list"))
    rows = Provider.objects.filter(workspace=request.workspace, archived_at=None)
    listed = rows.select_related("fallback").order_by("name")
    return settings_page(
        request,
        "settings/providers.html",
        "providers",
        status=422 if form.errors else 200,
        form=form,
        providers=[(row, price_of(row)) for row in listed],
    )


@needs(Role.ADMIN)
@sensitive_post_parameters("key")
def provider_edit(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Change a provider; its key is never shown, and not sent to another address."""
    row = access.provider(request.workspace, uid)
    form = ProviderForm(
        request.workspace, request.POST or None, provider=row, initial=_initial(row)
    )
    if request.method == "POST" and form.is_valid() and _save(request, form, row):
        return HttpResponseRedirect(reverse("provider_list"))
    return settings_page(
        request,
        "settings/provider.html",
        "providers",
        status=422 if form.errors else 200,
        form=form,
        provider=row,
        price=price_of(row),
    )


def _save(request: HtmxHttpRequest, form: ProviderForm, row: Provider | None) -> bool:
    plain = {name: form.cleaned_data[name] for name in PLAIN}
    try:
        saved = save_provider(
            workspace=request.workspace, provider=row, options=form.options(), **plain
        )
    except InvalidError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return False
    except ConflictError as error:
        form.add_error("name", str(error))
        return False
    messages.success(request, f"{saved.name} was saved.")
    return True


@require_POST
@needs(Role.ADMIN)
def provider_test(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """One small call, and what came of it."""
    row = access.provider(request.workspace, uid)
    trial = try_provider(row)
    if trial.error:
        messages.error(request, f"{row.name}: {trial.error}")
    else:
        messages.success(request, f"{row.name}: {_told(trial, row)}")
    return HttpResponseRedirect(reverse("provider_list"))


def _told(trial: Trial, row: Provider) -> str:
    shape = "keeps" if trial.keeps_to_schema else "does not keep"
    told = f"{trial.model} answered in {trial.latency:.2f} s and {shape} to a JSON schema."
    if trial.keeps_to_schema and not row.structured:
        return f"{told} You may switch that on."
    if row.structured and not trial.keeps_to_schema:
        return f"{told} Switch that off."
    return told


@require_POST
@needs(Role.ADMIN)
def provider_remove(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Take a provider out of use and forget its key."""
    row = access.provider(request.workspace, uid)
    archive_provider(row)
    messages.success(request, f"{row.name} was removed, and its key forgotten.")
    return HttpResponseRedirect(reverse("provider_list"))
