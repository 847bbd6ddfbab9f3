"""The forms of an upload: where it goes, how the file is read, what becomes of each column."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from experiments.formats.encodings import ENCODINGS
from experiments.formats.layouts import (
    BINARY_FORMATS,
    DELIMITERS,
    QUOTES,
    TEXT_FORMATS,
    Layout,
)
from experiments.formats.workbooks import sheet_names
from experiments.models import MAX_NAME, Dataset, DataType, Upload
from experiments.services.uploading.columns import KEYED, Column, Role, nested, paths_in
from experiments.services.uploading.files import path_of
from experiments.services.uploading.previewing import Mapped
from experiments.services.uploading.reading import layout_of
from tiebreak.accounts.models import Workspace
from tiebreak.templatetags.tiebreak import visible

SHOWN_DATASETS = 200


class TargetForm(forms.Form):
    """Where the rows go: into a new dataset, or into one that exists."""

    target = forms.ChoiceField(
        label="Where the rows go",
        choices=[
            ("new", "A new dataset"),
            ("existing", "A dataset that exists"),
            ("results", "An experiment: the rows are what a system answered to a dataset"),
        ],
        widget=forms.RadioSelect,
        initial="new",
    )
    dataset_name = forms.CharField(label="Name", max_length=MAX_NAME, required=False)
    data_type = forms.ChoiceField(label="Type", choices=DataType.choices, required=False)
    dataset = forms.ChoiceField(label="Dataset", required=False)
    answered = forms.ChoiceField(label="Dataset", required=False)
    experiment = forms.CharField(label="Experiment", max_length=MAX_NAME, required=False)

    def __init__(self, workspace: Workspace, chosen: Dataset | None, *args: Any) -> None:
        super().__init__(*args)
        self.workspace = workspace
        rows = Dataset.objects.filter(workspace=workspace).order_by("-modified_at", "-pk")
        self.datasets = {str(row.uid): row for row in rows[:SHOWN_DATASETS]}
        if chosen is not None:
            self.datasets.setdefault(str(chosen.uid), chosen)
            self.initial.update(target="existing", dataset=str(chosen.uid))
            self.initial.update(answered=str(chosen.uid))
        for name in ("dataset", "answered"):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            known = [(uid, row.name) for uid, row in self.datasets.items()]
            field.choices = [("", "Choose …"), *known]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("target") == "existing" and not cleaned.get("dataset"):
            self.add_error("dataset", "Choose a dataset.")
        if cleaned.get("target") == "results":
            if not cleaned.get("answered"):
                self.add_error("answered", "Choose the dataset that was answered.")
            if not (cleaned.get("experiment") or "").strip():
                self.add_error("experiment", "Give the experiment a name.")
        return cleaned

    def clean_data_type(self) -> str:
        return self.cleaned_data["data_type"] or DataType.KV

    @property
    def chosen(self) -> Dataset | None:
        """The dataset that was chosen; None for a new one."""
        field = {"existing": "dataset", "results": "answered"}.get(self.cleaned_data["target"], "")
        return self.datasets.get(self.cleaned_data.get(field, ""))

    @property
    def experiment_name(self) -> str:
        """The experiment that the rows make; empty when they are examples."""
        is_one = self.cleaned_data["target"] == "results"
        return str(self.cleaned_data["experiment"]) if is_one else ""


class FileForm(TargetForm):
    """A file, or pasted text, and where its rows go."""

    file = forms.FileField(label="File", required=False, allow_empty_file=True)
    text = forms.CharField(
        label="Paste text instead",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.files.get("file") and not (cleaned.get("text") or "").strip():
            self.add_error("file", "Choose a file, or paste its text.")
        return cleaned


class LayoutForm(forms.Form):
    """How the file is read; delimiters go by their code, since some are no visible characters."""

    format = forms.ChoiceField(label="Format", choices=TEXT_FORMATS)
    encoding = forms.ChoiceField(label="Encoding", choices=ENCODINGS, required=False)
    delimiter = forms.ChoiceField(label="Delimiter", required=False)
    other = forms.CharField(label="Other delimiter", required=False, max_length=1, strip=False)
    quote = forms.ChoiceField(label="Quotation mark", choices=QUOTES, required=False)
    sheet = forms.ChoiceField(label="Sheet", required=False)
    unguard = forms.BooleanField(
        label="Take away apostrophes that an export put before formulas", required=False
    )

    def __init__(self, upload: Upload, data: QueryDict | None = None) -> None:
        layout = layout_of(upload)
        super().__init__(
            data,
            initial={
                "format": layout.format,
                "encoding": layout.encoding,
                "delimiter": str(ord(layout.delimiter)),
                "quote": layout.quote,
                "sheet": layout.sheet,
                "unguard": layout.unguard,
            },
        )
        if not layout.is_text:
            self._choices("format").choices = [
                (name, label) for name, label in BINARY_FORMATS if name == layout.format
            ]
        if layout.format == "workbook":
            names = sheet_names(path_of(upload))
            self._choices("sheet").choices = [(name, name) for name in names]
        known = [(str(ord(character)), label) for character, label in DELIMITERS]
        if layout.delimiter not in dict(DELIMITERS):
            known.append((str(ord(layout.delimiter)), visible(layout.delimiter)))
        self._choices("delimiter").choices = known
        self.before = layout

    def _choices(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field

    def layout(self) -> Layout:
        cleaned = self.cleaned_data
        code = cleaned["delimiter"]
        return Layout(
            cleaned["format"],
            cleaned["encoding"] or self.before.encoding,
            cleaned["other"] or (chr(int(code)) if code else self.before.delimiter),
            cleaned["quote"] if "quote" in self.data else self.before.quote,
            cleaned["sheet"] or self.before.sheet,
            cleaned["unguard"],
        )


@dataclass(frozen=True)
class ColumnLine:
    """One line of the mapping form."""

    number: int
    column: Column
    samples: Sequence[str]
    problem: str

    @property
    def key_shown(self) -> str:
        return visible(self.column.key)

    @property
    def has_key(self) -> bool:
        return self.column.role in KEYED


def column_lines(mapped: Mapped, problems: dict[int, str]) -> list[ColumnLine]:
    return [
        ColumnLine(number, column, mapped.survey.samples(column.name)[:1], problems.get(number, ""))
        for number, column in enumerate(mapped.columns)
    ]


def fingerprint(columns: Sequence[Column]) -> str:
    """Tells a form made for these columns from one made for others."""
    names = "\x00".join(column.name for column in columns)
    return f"{zlib.crc32(names.encode('utf-8', 'surrogatepass')):08x}"


def posted_columns(data: QueryDict, columns: Sequence[Column]) -> list[Column]:
    """The mapping as posted; a key that was not touched keeps characters no form can carry."""
    posted = []
    for number, column in enumerate(columns):
        role = data.get(f"role-{number}", column.role)
        key = data.get(f"key-{number}", visible(column.key)).strip()
        if key == visible(column.key).strip():
            key = column.key
        parse = f"parse-{number}" in data
        posted.append(Column(column.name, _role(role), key, parse, column.path))
    return posted


def chosen_path(data: QueryDict, found: Mapped, columns: Sequence[Column]) -> list[Column]:
    """The column of the nested value that was chosen; none when it is there already."""
    paths, number = paths_in(found.survey), data.get("path", "")
    if data.get("then") != "path" or not number.isdecimal() or int(number) >= len(paths):
        return []
    fresh = nested(paths[int(number)])
    return [] if any(column.name == fresh.name for column in columns) else [fresh]


def _role(text: str) -> str:
    return text if text in Role.values else Role.IGNORE
