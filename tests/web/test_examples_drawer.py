"""One example in the drawer: read, edited with every mistake at its field, written anew."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from experiments.models import Dataset, ExampleRevision
from experiments.rawjson import loads
from experiments.services.datasets import update_dataset
from experiments.services.examples import (
    ExampleChange,
    NewExample,
    add_examples,
    update_examples,
)
from tests.factories import example_ids, make_dataset
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db

BIG = '{"id": 12345678901234567890, "price": 1.50, "text": "a\\u0000b \\ud83d \\u202e"}'


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, ["4", "Paris", "blue"], splits=[["train"], ["test"], ["test"]])


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def first(dataset: Dataset) -> UUID:
    return example_ids(dataset)[0]


def standing(uid: UUID) -> ExampleRevision:
    rows = ExampleRevision.objects.select_related("payload", "example")
    return rows.get(example__uid=uid, valid_to=None)


def drawer(client: Client, dataset: Dataset, row: object, **query: str) -> str:
    address = reverse("dataset_detail", args=[dataset.uid])
    return client.get(address, {"row": str(row), **query}).content.decode()


def fields(page: str) -> dict[str, str]:
    """What the form would send if nothing were touched."""
    areas = re.findall(r'<textarea name="(\w+)"[^>]*>\r?\n?(.*?)</textarea>', page, re.DOTALL)
    inputs = re.findall(r'<input type="\w+" name="(splits|seen)" (?:value="([^"]*)")?', page)
    return {name: _plain(value) for name, value in [*areas, *inputs]}


def _plain(text: str) -> str:
    for sign, code in (("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(code, sign)
    return text.replace("&amp;", "&")


def save(client: Client, dataset: Dataset, uid: UUID, **changes: str) -> tuple[int, str]:
    sent = {**fields(drawer(client, dataset, uid)), **changes}
    address = reverse("example_save", args=[dataset.uid, uid])
    answer = client.post(address, sent, follow=True)
    return answer.status_code, answer.content.decode()


def test_a_change_is_a_new_version_and_the_rest_stays(
    alice_client: Client, dataset: Dataset, alice: User
) -> None:
    uid = first(dataset)
    before = standing(uid)
    status, page = save(
        alice_client, dataset, uid, outputs='{"answer": "four"}', splits="train, hard,hard"
    )
    assert status == 200
    assert "Saved as a new version of the dataset." in page
    after = standing(uid)
    assert after.payload.outputs == '{"answer":"four"}'
    assert after.payload.inputs == before.payload.inputs
    assert after.splits == ["train", "hard"]
    version = dataset.versions.order_by("-as_of")[0]
    assert (version.changed, version.author) == (1, alice)
    assert page.count('<li><a class="link"') == 2
    old = drawer(alice_client, dataset, uid, ver=before.valid_from.isoformat())
    assert "&quot;answer&quot;: &quot;4&quot;" in old
    assert "<textarea" not in old


def test_what_is_not_touched_is_not_rewritten(alice_client: Client, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, [])
    add_examples(dataset=dataset, examples=[NewExample(BIG, None, '{"b": 1, "a": 2}')])
    uid = first(dataset)
    page = drawer(alice_client, dataset, uid)
    for shown in ("12345678901234567890", "1.50", "a\\u0000b \\ud83d \\u202e"):
        assert shown in page
    _, page = save(alice_client, dataset, uid)
    assert "Nothing was changed." in page
    assert dataset.versions.count() == 1
    save(alice_client, dataset, uid, metadata='{"b": 1}')
    assert standing(uid).payload.inputs == BIG
    assert standing(uid).payload.outputs is None


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("inputs", '{"question": }', "This is not JSON:"),
        ("inputs", "", "This field is required."),
        ("inputs", "[1]", "This must be a JSON object"),
        ("outputs", "seven", "This is not JSON:"),
        ("metadata", '"x"', "This must be a JSON object"),
        ("splits", "x" * 401, "A split&#x27;s name has at most 400 characters."),
    ],
)
def test_mistakes_are_told_at_their_field_and_nothing_is_lost(
    alice_client: Client, dataset: Dataset, field: str, text: str, told: str
) -> None:
    uid = first(dataset)
    status, page = save(alice_client, dataset, uid, **{field: text, "splits": text or "kept"})
    assert status == 422
    assert re.search(rf'id="id_{field}_error">{re.escape(told)}', page)
    assert f'<a href="#id_{field}">' in page
    assert _plain(text) in _plain(page)
    assert dataset.versions.count() == 1


def test_a_schema_names_the_place(alice_client: Client, dataset: Dataset) -> None:
    update_dataset(
        dataset,
        inputs_schema='{"type": "object", "properties": {"question": {"type": "string"}}}',
        outputs_schema='{"type": "object", "required": ["answer"]}',
    )
    status, page = save(alice_client, dataset, first(dataset), inputs='{"question": 7}')
    assert status == 422
    assert "At question: 7 is not of type &#x27;string&#x27;" in page
    status, page = save(alice_client, dataset, first(dataset), outputs='{"x": 1}')
    assert re.search(r'id="id_outputs_error">[^<]*answer', page)
    assert dataset.versions.count() == 1


def test_a_change_made_meanwhile_is_not_overwritten(alice_client: Client, dataset: Dataset) -> None:
    uid = first(dataset)
    sent = fields(drawer(alice_client, dataset, uid))
    update_examples(dataset=dataset, changes=[ExampleChange(uid=uid, outputs='{"answer":"x"}')])
    answer = alice_client.post(
        reverse("example_save", args=[dataset.uid, uid]), {**sent, "outputs": '{"answer": "mine"}'}
    )
    assert answer.status_code == 422
    assert "Somebody changed this example meanwhile" in answer.content.decode()
    assert "mine" in answer.content.decode()
    assert standing(uid).payload.outputs == '{"answer":"x"}'


def test_a_blank_dataset_gets_its_first_example(alice_client: Client, workspace: Workspace) -> None:
    made = alice_client.post(reverse("dataset_create"), {"name": "blank"}, follow=True)
    page = made.content.decode()
    assert "Write an example" in page
    dataset = Dataset.objects.get(name="blank")
    assert "Add the example" in drawer(alice_client, dataset, "new")
    address = reverse("example_new", args=[dataset.uid])
    refused = alice_client.post(address, {"inputs": "{", "outputs": '{"kept": 1}'})
    assert refused.status_code == 422
    assert "&quot;kept&quot;: 1" in refused.content.decode()
    added = alice_client.post(address, {"inputs": '{"q": "x"}', "splits": "a"}, follow=True)
    assert "The example was added" in added.content.decode()
    row = standing(first(dataset))
    assert (loads(row.payload.inputs), row.payload.outputs, row.splits) == ({"q": "x"}, None, ["a"])


def test_viewers_read_and_strangers_find_nothing(
    client: Client, alice: User, mallory: User, dataset: Dataset
) -> None:
    uid = first(dataset)
    address = reverse("example_save", args=[dataset.uid, uid])
    client.force_login(mallory)
    assert client.post(address, {"inputs": "{}"}).status_code == 404
    alice.memberships.update(role=Role.VIEWER)
    client.force_login(alice)
    assert client.post(address, {"inputs": "{}"}).status_code == 403
    page = drawer(client, dataset, uid)
    assert "<textarea" not in page
    assert "Question 0?" in page
    assert "<textarea" not in drawer(client, dataset, "new")


@pytest.mark.parametrize("row", ["x", "\x00", "00000000-0000-0000-0000-000000000000"])
def test_another_row_is_told_not_to_be_there(
    alice_client: Client, dataset: Dataset, row: str
) -> None:
    assert "There is no such example" in drawer(alice_client, dataset, row)


@pytest.mark.django_db(transaction=True)
@pytest.mark.browser
def test_the_drawer_walks_the_list_and_saves(alice_page: Page, dataset: Dataset) -> None:
    alice_page.goto(reverse("dataset_detail", args=[dataset.uid]))
    alice_page.locator(".row-link").first.click()
    expect(alice_page.locator("#drawer-title")).to_be_focused()
    alice_page.keyboard.press("j")
    expect(alice_page.locator("[name=inputs]")).to_have_value(re.compile("Question 1"))
    alice_page.fill("[name=outputs]", '{"answer": "Rome"}')
    alice_page.get_by_role("button", name="Save").click()
    expect(alice_page.locator(".messages")).to_contain_text("Saved as a new version")
    expect(alice_page.locator(".examples")).to_contain_text("Rome")
    alice_page.keyboard.press("Escape")
    expect(alice_page.locator("#drawer-title")).to_have_count(0)
