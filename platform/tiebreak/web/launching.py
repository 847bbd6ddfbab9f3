"""The launch form: two experiments, an evaluator, a budget."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from django import forms
from django.db import IntegrityError, transaction
from django.http import QueryDict

from evaluators.kinds import Kind
from experiments.models import Comparison, Dataset, Evaluator, Experiment, Order, Provider
from experiments.queries.baselines import baseline_of
from experiments.queries.evaluator_list import newest_evaluators
from experiments.services.comparisons import create_comparison
from experiments.services.evaluators import configure_evaluator
from experiments.services.jobs import MAX_CONCURRENCY
from experiments.tasks import start_job
from tiebreak.web.forecasts import Forecast, forecast, pairwise_kinds
from tiebreak.web.steering import BudgetFields

MOST_SAVED = 300


def evaluator_choices(kinds: Iterable[Kind], saved: Mapping[str, Evaluator]) -> list[Any]:
    """Kinds as they are, and what this workspace has configured."""
    plain = [(kind.name, kind.title) for kind in kinds]
    own = [(uid, f"{row.name} · version {row.version}") for uid, row in saved.items()]
    return [("Configured here", own), ("As they are", plain)] if own else plain


class LaunchForm(BudgetFields):
    """A new pairwise experiment on one dataset."""

    experiment_a = forms.ChoiceField(label="A")
    experiment_b = forms.ChoiceField(label="B")
    evaluator = forms.ChoiceField(label="Evaluator")
    provider = forms.ChoiceField(label="Model", required=False)
    order = forms.ChoiceField(label="Order shown", choices=Order.choices, initial=Order.BOTH)
    max_concurrency = forms.IntegerField(
        label="Calls at once", min_value=1, max_value=MAX_CONCURRENCY, initial=8
    )
    margin = forms.FloatField(
        label="Smallest difference that matters, points",
        min_value=0.5,
        max_value=49,
        initial=5,
        required=False,
    )
    stop_when_certain = forms.BooleanField(label="Stop when certain", required=False)
    sure = forms.BooleanField(label="Make so many calls", required=False)
    name = forms.CharField(label="Name", max_length=400, required=False)
    description = forms.CharField(label="Description", max_length=2000, required=False)
    metadata = forms.CharField(label="Metadata", required=False, max_length=20_000)
    # Made with the form, so that sending it twice launches once.
    launch_id = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, dataset: Dataset, *args: Any, spends: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dataset = dataset
        self.spends = spends
        self.experiments = {
            str(row.uid): row
            for row in dataset.experiments.order_by("-start_time", "-pk").only(
                "uid", "name", "dataset", "dataset_version"
            )[:500]
        }
        self.kinds = {kind.name: kind for kind in pairwise_kinds()}
        providers = Provider.objects.filter(workspace=dataset.workspace_id, archived_at=None)
        self.providers = {str(row.uid): row for row in providers.order_by("name")}
        names = [(uid, row.name) for uid, row in self.experiments.items()]
        self._choices("experiment_a", [("", "Choose …"), *names])
        self._choices("experiment_b", [("", "Choose …"), *names])
        saved = newest_evaluators(dataset.workspace, self.kinds)
        self.saved = {str(row.uid): row for row in saved.order_by("name")[:MOST_SAVED]}
        self._choices("evaluator", evaluator_choices(self.kinds.values(), self.saved))
        models = [(uid, f"{row.name} · {row.model}") for uid, row in self.providers.items()]
        self._choices("provider", [("", "Choose …"), *models])

    def _choices(self, field: str, choices: list[Any]) -> None:
        chosen = self.fields[field]
        assert isinstance(chosen, forms.ChoiceField)
        chosen.choices = choices

    def clean_metadata(self) -> dict[str, Any]:
        text = self.cleaned_data["metadata"].strip()
        try:
            value = json.loads(text) if text else {}
        except ValueError as error:
            raise forms.ValidationError(f"This is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise forms.ValidationError('Metadata is a JSON object, such as {"ticket": 7}.')
        return value

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = self.kinds.get(cleaned.get("evaluator", ""))
        if kind and kind.needs_model and not cleaned.get("provider"):
            self.add_error("provider", "This evaluator asks a model: choose one.")
        a, b = cleaned.get("experiment_a"), cleaned.get("experiment_b")
        if a and a == b:
            self.add_error("experiment_b", "B must differ from A.")
        limited = cleaned.get("max_calls") or cleaned.get("max_cost")
        if self.spends and not (self.errors or limited or cleaned.get("sure")):
            self._ask_whether_sure(forecast(self.dataset, self.data))
        return cleaned

    def _ask_whether_sure(self, found: Forecast | None) -> None:
        if found and found.asks_first:
            calls = f"These are {found.calls:,} calls to a model"
            self.add_error("sure", f"{calls}: tick this, or set a budget.")

    def launched_before(self) -> Comparison | None:
        """The comparison that this very form has launched already."""
        rows = Comparison.objects.filter(dataset=self.dataset)
        return rows.filter(uid=self.cleaned_data["launch_id"] or uuid4()).first()

    def launch(self, author: Any) -> Comparison:
        """Create the comparison; raises InvalidError for what only the domain can see."""
        cleaned = self.cleaned_data
        return create_comparison(
            dataset=self.dataset,
            experiments=self.chosen(),
            evaluators=[self.evaluator_row()],
            order=cleaned["order"],
            max_concurrency=cleaned["max_concurrency"],
            margin=(cleaned["margin"] or 5) / 100,
            budget=self.budget(),
            stop_when_certain=cleaned["stop_when_certain"],
            name=cleaned["name"],
            description=cleaned["description"] or None,
            metadata=cleaned["metadata"],
            author=author,
            uid=cleaned["launch_id"],
        )

    def chosen(self) -> list[Experiment]:
        """A and B."""
        return [self.experiments[self.cleaned_data[f"experiment_{side}"]] for side in "ab"]

    def evaluator_row(self) -> Evaluator:
        """The evaluator with what was chosen; the newest version if nothing changed."""
        saved = self.saved.get(self.cleaned_data["evaluator"])
        if saved is not None:
            return saved
        kind = self.kinds[self.cleaned_data["evaluator"]]
        provider = self.providers.get(self.cleaned_data["provider"])
        return configure_evaluator(
            workspace=self.dataset.workspace,
            kind=kind.name,
            name=f"{kind.name} ({provider.name})" if provider and kind.needs_model else kind.name,
            provider=provider,
        )


def launch_context(dataset: Dataset, data: QueryDict, form: LaunchForm | None) -> dict[str, Any]:
    """What the launch form needs; from an address, `a` and `b` choose the experiments.

    The pairs are counted when the panel asks for them, or with `forecast` in the address.
    """
    counts = form is not None or "forecast" in data
    if form is None:
        given = _first_choice(dataset, data)
        form = LaunchForm(dataset, initial=given)
        data = QueryDict(mutable=True)
        data.update({**given, "evaluator": next(iter(form.kinds), "")})
    return {
        "form": form,
        "forecast": forecast(dataset, data) if counts else None,
        "forecast_waits": not counts,
        "kinds": form.kinds.values(),
        "has_providers": bool(form.providers),
    }


def _first_choice(dataset: Dataset, data: QueryDict) -> dict[str, str]:
    """What the address chooses; most people want the newest against the one before."""
    newest = [
        str(uid)
        for uid in dataset.experiments.order_by("-start_time", "-pk").values_list("uid", flat=True)[
            :3
        ]
    ]
    baseline = baseline_of(dataset)
    known = [str(baseline.uid)] if baseline else []
    a = data.get("a") or next((uid for uid in newest if uid not in (data.get("b"), *known)), "")
    b = data.get("b") or next((uid for uid in [*known, *newest] if uid != a), "")
    return {"experiment_a": a, "experiment_b": b, "launch_id": str(uuid4())}


def start(form: LaunchForm, author: Any) -> Comparison:
    """Launch once, however often the form is sent."""
    try:
        return form.launched_before() or _start(form, author)
    except IntegrityError:
        launched = form.launched_before()
        if launched is None:
            raise
        return launched


@transaction.atomic
def _start(form: LaunchForm, author: Any) -> Comparison:
    comparison = form.launch(author)
    assert comparison.job is not None
    start_job(comparison.job)
    return comparison
