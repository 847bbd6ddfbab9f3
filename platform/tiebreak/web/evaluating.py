"""Evaluating experiments: the form, for one of them or for several that were ticked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db import transaction

from evaluators.kinds import Kind
from evaluators.registry import available
from experiments.errors import InvalidError
from experiments.models import Evaluator, Experiment, Provider
from experiments.queries.evaluator_list import newest_evaluators
from experiments.services.comparisons import create_evaluation
from experiments.services.evaluators import configure_evaluator
from experiments.services.jobs import MAX_CONCURRENCY
from experiments.tasks import start_job
from tiebreak.accounts.models import Workspace
from tiebreak.web.launching import MOST_SAVED, evaluator_choices
from tiebreak.web.steering import BudgetFields


def single_kinds() -> list[Kind]:
    """The kinds that score one output and need nothing that a form cannot give."""
    return [
        kind
        for kind in available()
        if kind.family == "string"
        and kind.available
        and not kind.needs_embeddings
        and not any(setting.required for setting in kind.settings)
    ]


class EvaluateForm(BudgetFields):
    """Score the outputs of experiments without running their systems again."""

    evaluator = forms.ChoiceField(label="Evaluator")
    provider = forms.ChoiceField(label="Model", required=False)
    max_concurrency = forms.IntegerField(
        label="Calls at once", min_value=1, max_value=MAX_CONCURRENCY, initial=8
    )

    def __init__(self, workspace: Workspace, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace
        self.kinds = {kind.name: kind for kind in single_kinds()}
        rows = Provider.objects.filter(workspace=workspace, archived_at=None)
        self.providers = {str(row.uid): row for row in rows.order_by("name")}
        evaluator, provider = self.fields["evaluator"], self.fields["provider"]
        assert isinstance(evaluator, forms.ChoiceField)
        assert isinstance(provider, forms.ChoiceField)
        known = [one.name for one in available() if one.family == "string" and one.available]
        saved = newest_evaluators(workspace, known).order_by("name")[:MOST_SAVED]
        self.saved = {str(row.uid): row for row in saved}
        evaluator.choices = evaluator_choices(self.kinds.values(), self.saved)
        models = [(uid, f"{row.name} · {row.model}") for uid, row in self.providers.items()]
        provider.choices = [("", "None"), *models]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = self.kinds.get(cleaned.get("evaluator", ""))
        if kind and kind.needs_model and not cleaned.get("provider"):
            self.add_error("provider", "This evaluator asks a model: choose one.")
        return cleaned

    @transaction.atomic
    def launch(self, experiments: Sequence[Experiment], author: Any) -> Evaluator:
        """Queue one evaluation for each of these; all of them or none."""
        cleaned = self.cleaned_data
        evaluator = self.saved.get(cleaned["evaluator"]) or configure_evaluator(
            workspace=self.workspace,
            kind=cleaned["evaluator"],
            provider=self.providers.get(cleaned["provider"]),
        )
        for experiment in experiments:
            evaluation = create_evaluation(
                experiment=experiment,
                evaluator=evaluator,
                max_concurrency=cleaned["max_concurrency"],
                budget=self.budget(),
                author=author,
            )
            start_job(evaluation.job)
        return evaluator

    def told(self, experiments: Sequence[Experiment], author: Any) -> Evaluator | None:
        """The same; what the domain refuses is told at its field."""
        try:
            return self.launch(experiments, author)
        except InvalidError as error:
            self.add_error(error.field if error.field in self.fields else None, error.message)
            return None
