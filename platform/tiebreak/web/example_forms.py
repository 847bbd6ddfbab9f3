"""Editing one example: JSON in, every mistake at its field."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import transaction

from experiments.errors import ConflictError, InvalidError
from experiments.models import MAX_NAME, Dataset, ExampleRevision
from experiments.rawjson import NotJsonError, dumps, dumps_editable, loads_exact
from experiments.services.examples import (
    ExampleChange,
    NewExample,
    add_examples,
    update_examples,
)
from tiebreak.accounts.models import User

MOST_TEXT = 5_000_000
JSON = forms.Textarea(attrs={"rows": 6, "class": "mono", "spellcheck": "false"})


class JsonObject(forms.CharField):
    """A JSON object as text, checked and kept as it was written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=JSON, max_length=MOST_TEXT, strip=True, **options)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            found = loads_exact(text)
        except NotJsonError as error:
            raise forms.ValidationError(f"This is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise forms.ValidationError('This must be a JSON object, such as {"question": "…"}.')
        return found


class ExampleForm(forms.Form):
    """What an example says; `seen` is the revision that was edited."""

    inputs = JsonObject(label="Inputs")
    outputs = JsonObject(label="Reference outputs", required=False)
    metadata = JsonObject(label="Metadata", required=False)
    splits = forms.CharField(label="Splits", required=False, max_length=4000)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_splits(self) -> list[str]:
        names = [name.strip() for name in self.cleaned_data["splits"].split(",")]
        if any(len(name) > MAX_NAME for name in names):
            raise forms.ValidationError(f"A split's name has at most {MAX_NAME} characters.")
        return list(dict.fromkeys(name for name in names if name))

    @classmethod
    def of(cls, revision: ExampleRevision) -> ExampleForm:
        """The form with what stands."""
        payload = revision.payload
        texts = {name: getattr(payload, name) for name in ("inputs", "outputs", "metadata")}
        return cls(
            initial={
                **{name: _editable(text) for name, text in texts.items()},
                "splits": ", ".join(revision.splits),
                "seen": str(revision.pk),
            }
        )

    def add(self, dataset: Dataset, author: User) -> str | None:
        """Add a new example; its id, or None when the form says what is wrong."""
        given = self.cleaned_data
        example = NewExample(
            inputs=dumps(given["inputs"]),
            outputs=_text(given["outputs"]),
            metadata=_text(given["metadata"]),
            splits=given["splits"],
        )
        try:
            written = add_examples(dataset=dataset, examples=[example], author=author)
        except (InvalidError, ConflictError) as error:
            self._tell(error)
            return None
        return str(written.uids[0])

    def save(self, dataset: Dataset, revision: ExampleRevision, author: User) -> bool:
        """Write what differs as a new version; False when the form says what is wrong."""
        change = self._change(revision)
        if change is None:
            return True
        try:
            with transaction.atomic():
                Dataset.objects.select_for_update().get(pk=dataset.pk)
                self._check_unchanged(revision)
                update_examples(dataset=dataset, changes=[change], author=author)
        except (InvalidError, ConflictError, LookupError) as error:
            self._tell(error)
            return False
        return True

    def _change(self, revision: ExampleRevision) -> ExampleChange | None:
        """What differs; texts whose value stands are left as they were sent."""
        payload, given = revision.payload, self.cleaned_data
        texts: dict[str, str | None] = {
            name: dumps(given[name])
            for name in ("inputs", "outputs", "metadata")
            if given[name] != _value(getattr(payload, name))
        }
        splits = given["splits"] if given["splits"] != revision.splits else None
        if not texts and splits is None:
            return None
        return ExampleChange(
            uid=revision.example.uid,
            inputs=texts.get("inputs"),
            outputs=texts.get("outputs"),
            metadata=texts.get("metadata"),
            splits=splits,
        )

    def _check_unchanged(self, revision: ExampleRevision) -> None:
        stands = ExampleRevision.objects.filter(example=revision.example_id, valid_to=None)
        if str(stands.values_list("pk", flat=True).get()) != self.cleaned_data["seen"]:
            raise ConflictError(
                "Somebody changed this example meanwhile. Copy your text, then open it again."
            )

    def _tell(self, error: Exception) -> None:
        """An error at the field it is about, with the place inside its JSON."""
        if not isinstance(error, InvalidError):
            self.add_error(None, str(error))
            return
        field, _, place = error.field.partition(".")
        known = field if field in self.fields else None
        message = error.message if known else str(error)
        self.add_error(known, f"At {place}: {message}" if known and place else message)


def _editable(text: str | None) -> str:
    return "" if text in (None, "null") else dumps_editable(loads_exact(text))


def _value(text: str | None) -> Any:
    return None if text is None else loads_exact(text)


def _text(value: Any) -> str | None:
    return None if value is None else dumps(value)
