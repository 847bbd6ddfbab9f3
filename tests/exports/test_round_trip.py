"""What goes out comes in again the same, whatever the texts hold."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from experiments.exports.datasets import dataset_export
from experiments.exports.writing import WRITERS, blocks, json_lines
from experiments.formats.formulas import guarded, unguarded
from experiments.ids import uuid7
from experiments.models import Dataset, Upload
from experiments.services.datasets import create_dataset
from experiments.services.examples import SPLIT_KEY, NewExample, add_examples
from experiments.services.uploading.columns import guess_columns
from experiments.services.uploading.files import Receiver
from experiments.services.uploading.previewing import survey_of
from experiments.services.uploading.reading import layout_of
from experiments.services.uploading.storing import store_upload
from experiments.services.uploads import create_upload, queue_upload, set_layout, set_mapping
from tiebreak.accounts.models import Workspace

TEXTS = st.text(
    st.characters() | st.sampled_from('\x00\ud83d\ude00\x1f\u2028\r\n\t"\\/=+-@\ufeff'), max_size=12
)
NUMBERS = st.sampled_from(["12345678901234567890123", "1.0", "1e5", "-0", "0.10", "1E+2"])
SPACES = st.sampled_from(["", " ", "\n", "\r\n", "\t"])


@st.composite
def raw_values(draw: st.DrawFn, depth: int = 2) -> str:
    """A JSON text as strange as clients may send it."""
    kinds = ["text", "number", "word", *(["list", "object"] if depth else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "number":
        return draw(NUMBERS)
    if kind == "word":
        return draw(st.sampled_from(["null", "true", "false"]))
    if kind == "list":
        return "[" + ",".join(draw(st.lists(raw_values(depth - 1), max_size=3))) + "]"
    return draw(raw_objects(depth - 1)) if kind == "object" else draw(raw_texts())


@st.composite
def raw_texts(draw: st.DrawFn) -> str:
    return _spelt(draw(TEXTS), escaped=draw(st.booleans()))


def _spelt(text: str, *, escaped: bool) -> str:
    if not escaped:
        plain = json.dumps(text, ensure_ascii=False)
        if plain.isprintable():
            return plain
    return json.dumps(text)


@st.composite
def raw_objects(draw: st.DrawFn, depth: int = 2) -> str:
    keys = draw(st.lists(TEXTS.filter(lambda key: key != SPLIT_KEY), unique=True, max_size=3))
    space = draw(SPACES)
    members = [
        f"{space}{_spelt(key, escaped=True)}:{space}{draw(raw_values(depth))}" for key in keys
    ]
    return "{" + ",".join(members) + space + "}"


EXAMPLES = st.builds(
    NewExample,
    inputs=raw_objects(),
    outputs=st.none() | raw_objects(),
    metadata=st.none() | raw_objects(),
    splits=st.lists(st.sampled_from(["base", "hard", 'ünter, "x"']), unique=True, max_size=2),
)


def exported(dataset: Dataset) -> bytes:
    return b"".join(blocks(json_lines(dataset_export(dataset))))


def imported(workspace: Workspace, data: bytes, **layout: Any) -> Dataset:
    receiver = Receiver()
    receiver.write(data)
    upload = create_upload(workspace=workspace, file=receiver.finish(), filename="back.jsonl")
    if layout:
        set_layout(upload, replace(layout_of(upload), **layout))
    set_mapping(upload, guess_columns(survey_of(upload)))
    store_upload(queue_upload(upload, policy="stop").pk, threading.Event())
    upload.refresh_from_db()
    assert upload.state == Upload.State.COMPLETE, (upload.error, upload.problems)
    assert upload.dataset is not None
    return upload.dataset


@pytest.fixture
def own_files(settings: Any, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path


@pytest.mark.django_db(transaction=True)
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(examples=st.lists(EXAMPLES, min_size=1, max_size=4))
@example(examples=[NewExample('{ "b":"\\u0000\\ud83d", "a" : 12345678901234567890 }', "{}", "{}")])
@example(examples=[NewExample("{}"), NewExample('{"inputs":{"id":"x"}}', '{"a\\u0000":null}')])
def test_an_import_of_an_export_exports_the_same(
    own_files: None,
    workspace: Workspace,
    other_workspace: Workspace,
    examples: list[NewExample],
) -> None:
    dataset = create_dataset(workspace=workspace, name=str(uuid7()))
    add_examples(dataset=dataset, examples=examples)
    first = exported(dataset)
    again = imported(other_workspace, first)
    assert exported(again) == first
    assert first.count(b"\n") == len(examples)


TEXTS_BY_KEY = st.fixed_dictionaries({"question": TEXTS, "=cmd": TEXTS}).map(json.dumps)
TEXT_EXAMPLES = st.builds(
    NewExample, inputs=TEXTS_BY_KEY, outputs=st.none() | TEXTS_BY_KEY, metadata=TEXTS_BY_KEY
)


@pytest.mark.django_db(transaction=True)
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(examples=st.lists(TEXT_EXAMPLES, min_size=1, max_size=4))
@example(
    examples=[NewExample('{"question":"\'=1+1","=cmd":"-0.5"}', None, '{"question":"\'\'@x"}')]
)
def test_a_csv_with_its_apostrophes_undone_exports_the_same(
    own_files: None,
    workspace: Workspace,
    other_workspace: Workspace,
    examples: list[NewExample],
) -> None:
    dataset = create_dataset(workspace=workspace, name=str(uuid7()))
    add_examples(dataset=dataset, examples=examples)
    first = b"".join(WRITERS["csv"](dataset_export(dataset)))
    again = imported(other_workspace, first, format="csv", delimiter=",", quote='"', unguard=True)
    assert b"".join(WRITERS["csv"](dataset_export(again))) == first


@pytest.mark.django_db(transaction=True)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(examples=st.lists(EXAMPLES, min_size=1, max_size=4))
def test_a_parquet_file_exports_the_same(
    own_files: None,
    workspace: Workspace,
    other_workspace: Workspace,
    examples: list[NewExample],
) -> None:
    dataset = create_dataset(workspace=workspace, name=str(uuid7()))
    add_examples(dataset=dataset, examples=examples)
    first = exported(dataset)
    again = imported(other_workspace, b"".join(WRITERS["parquet"](dataset_export(dataset))))
    assert exported(again) == first


@given(TEXTS)
def test_guarded_cells_are_no_formulas_and_can_be_undone(text: str) -> None:
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(guarded(text)) == text
