"""The form of an evaluator, made from its kind's own settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms

from evaluators.kinds import Kind, Setting
from evaluators.registry import available
from experiments.models import Evaluator, Provider
from experiments.services.evaluators import configure_evaluator
from tiebreak.accounts.models import Workspace

PREFIX = "set_"
LONGEST = 100_000
LABELS = {"prompt": "Prompt", "criteria": "Criteria", "normalize_by": "Divide scores by"}


def offered_kinds() -> dict[str, Kind]:
    """The kinds that can be configured in a form, by name."""
    return {
        kind.name: kind
        for kind in available()
        if kind.available and not kind.needs_embeddings and kind.family != "trajectory"
    }


class EvaluatorForm(forms.Form):
    """Name, model and the settings of one kind; what is left at its default is not stored."""

    name = forms.CharField(label="Name", max_length=120)
    provider = forms.ChoiceField(label="Model", required=False)

    def __init__(
        self,
        workspace: Workspace,
        kind: Kind,
        *args: Any,
        evaluator: Evaluator | None = None,
        **kwargs: Any,
    ) -> None:
        if evaluator is not None:
            kwargs.setdefault("initial", _initial(evaluator))
        super().__init__(*args, **kwargs)
        self.workspace, self.kind = workspace, kind
        models = Provider.objects.filter(workspace=workspace, archived_at=None).order_by("name")
        self.providers = {str(row.uid): row for row in models}
        if kind.needs_model:
            chosen = self.fields["provider"]
            assert isinstance(chosen, forms.ChoiceField)
            names = [(uid, f"{row.name} · {row.model}") for uid, row in self.providers.items()]
            chosen.choices = [("", "Choose …"), *names]
        else:
            del self.fields["provider"]
        if evaluator is not None:
            self.fields["name"].disabled = True
        self.settings = [one for one in kind.settings if one.type != "python"]
        for setting in self.settings:
            self.fields[PREFIX + setting.name] = _field(setting)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.kind.needs_model and not cleaned.get("provider"):
            self.add_error("provider", "This evaluator asks a model: choose one.")
        for setting in self.settings:
            self._read(setting, cleaned)
        return cleaned

    def _read(self, setting: Setting, cleaned: dict[str, Any]) -> None:
        name = PREFIX + setting.name
        try:
            if name in cleaned:
                cleaned[name] = _value(setting, cleaned[name])
        except ValueError as error:
            self.add_error(name, f"This is not JSON: {error}")

    def wanted_settings(self) -> dict[str, Any]:
        """What differs from the kind's defaults."""
        values = {one.name: self.cleaned_data[PREFIX + one.name] for one in self.settings}
        defaults = {one.name: one.default for one in self.settings}
        return {
            name: value
            for name, value in values.items()
            if value not in ("", None) and value != defaults[name]
        }

    def setting_fields(self) -> list[forms.BoundField]:
        """The fields of the kind's settings, in their order."""
        return [self[PREFIX + one.name] for one in self.settings]

    def save(self) -> Evaluator:
        """The evaluator with these settings: a new version if anything changed."""
        return configure_evaluator(
            workspace=self.workspace,
            kind=self.kind.name,
            name=self.cleaned_data["name"],
            settings=self.wanted_settings(),
            provider=self.providers.get(self.cleaned_data.get("provider", "")),
        )

    def unsaved(self) -> Evaluator:
        """The same without storing it, to be tried."""
        return Evaluator(
            workspace=self.workspace,
            name=self.cleaned_data["name"],
            kind=self.kind.name,
            settings=self.wanted_settings(),
            provider=self.providers.get(self.cleaned_data.get("provider", "")),
        )


def _initial(evaluator: Evaluator) -> dict[str, Any]:
    values = {PREFIX + name: _shown(value) for name, value in evaluator.settings.items()}
    provider = str(evaluator.provider.uid) if evaluator.provider else ""
    return {"name": evaluator.name, "provider": provider, **values}


def _shown(value: Any) -> Any:
    return (
        json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict | list) else value
    )


def _field(setting: Setting) -> forms.Field:
    about: Mapping[str, Any] = {
        "label": LABELS.get(setting.name, setting.name.replace("_", " ").capitalize()),
        "help_text": setting.help,
        "required": setting.required,
    }
    match setting.type:
        case "bool":
            return forms.BooleanField(**{**about, "required": False}, initial=setting.default)
        case "int":
            return forms.IntegerField(**about, initial=setting.default)
        case "float":
            return forms.FloatField(**about, initial=setting.default)
        case "choice":
            empty = [] if setting.default is not None or setting.required else [("", "–")]
            names = [(one, one) for one in setting.choices]
            return forms.ChoiceField(**about, choices=[*empty, *names], initial=setting.default)
        case "prompt" | "json" | "criteria":
            area = forms.Textarea(attrs={"rows": 3 if setting.type == "criteria" else 8})
            return forms.CharField(**about, widget=area, max_length=LONGEST, strip=False)
        case _:
            return forms.CharField(**about, initial=setting.default, max_length=LONGEST)


def _value(setting: Setting, value: Any) -> Any:
    """A setting as the library takes it; ValueError for text that should be JSON and is not."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if setting.type == "json":
        return json.loads(text) if text else None
    if setting.type == "criteria":
        if text.startswith(("{", "[")):
            return json.loads(text)
        names = [one.strip() for one in text.split(",") if one.strip()]
        return names[0] if len(names) == 1 else names or None
    return value
