"""What a large upload leaves for later is found all the same, before and after it is made."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from experiments.exports.datasets import dataset_export
from experiments.models import Dataset, ExampleRevision
from experiments.queries.dataset_pages import example_page
from experiments.queries.examples import example_revisions
from experiments.rawjson import dumps, search_text
from experiments.services.datasets import create_dataset
from experiments.services.example_rows import Writer
from experiments.services.examples import NewExample, insert_examples
from experiments.services.searching import fill_search, search_waits
from experiments.services.versions import new_version
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)

INPUTS = (
    '{"question":"Where is Zürich?"}',
    '{"question":"half \\ud83d and \\udc00, whole \\ud83d\\ude00, nul \\u0000 end"}',
    '{"deep":{"list":["first",{"second":"hidden"},12345678901234567890123]}}',
    '{"huge":1e999999,"word":"giant"}',
    '{"backslash":"C:\\\\u0000\\\\new"}',
    '{"empty":null}',
)


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    made = create_dataset(workspace=workspace, name="fresh")
    examples = [
        NewExample(inputs=text, outputs=dumps({"answer": "yes"}), metadata=dumps({"n": number}))
        for number, text in enumerate(INPUTS)
    ]
    with new_version(made) as change, Writer() as writer:
        insert_examples(made, examples, change, writer)
    return made


WORDS = [
    ("zürich", [0]),
    ("nul \ufffd end", [1]),
    ("whole 😀", [1]),
    ("half \ufffd and", [1]),
    ("hidden", [2]),
    ("12345678901234567890123", [2]),
    ("giant", [3]),
    ("question", []),
    ("yes", [0, 1, 2, 3, 4, 5]),
]


def found(dataset: Dataset, word: str) -> list[int]:
    return [int(str(row.metadata["n"])) for row in example_page(dataset, q=word, size=50).rows]


def test_everything_is_found_before_and_after(dataset: Dataset) -> None:
    assert ExampleRevision.objects.filter(search=None).count() == len(INPUTS)
    assert search_waits()
    for word, expected in WORDS:
        assert found(dataset, word) == expected, word
    assert len(list(dataset_export(dataset, q="hidden").read())) == 1
    assert not fill_search(threading.Event())
    assert not search_waits()
    assert not ExampleRevision.objects.filter(search=None).exists()
    for word, expected in WORDS:
        assert found(dataset, word) == expected, word


def test_the_text_is_the_one_that_smaller_writes_make(dataset: Dataset) -> None:
    with connection.cursor() as cursor:
        for text in (INPUTS[0], INPUTS[1], INPUTS[5]):
            cursor.execute("SELECT tiebreak_search_text(%s::json, NULL)", [text])
            assert cursor.fetchone()[0] == search_text(text)


def test_keys_of_metadata_are_found_too(dataset: Dataset) -> None:
    rows = example_revisions(dataset.workspace, dataset=dataset, metadata={"n": 3})
    assert rows.count() == 1
    fill_search(threading.Event())
    assert rows.count() == 1


def test_a_stopped_worker_leaves_the_rest(dataset: Dataset) -> None:
    stopping = threading.Event()
    stopping.set()
    assert not fill_search(stopping)
    assert search_waits()
