"""Many examples at once: splits, metadata and deletion, of what is ticked or of all that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from experiments.models import Dataset, ExampleRevision
from experiments.rawjson import loads
from experiments.services.datasets import update_dataset
from tests.factories import example_ids, make_dataset
from tiebreak.accounts.models import Role, User, Workspace
from tiebreak.web import many_examples

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(
        workspace, ["x"] * 30, splits=[["odd" if n % 2 else "even"] for n in range(30)]
    )


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def standing(dataset: Dataset) -> list[ExampleRevision]:
    rows = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
    return list(rows.select_related("payload").order_by("example"))


def send(client: Client, dataset: Dataset, **data: Any) -> str:
    address = reverse("examples_many", args=[dataset.uid])
    return client.post(address, data, follow=True).content.decode()


def ids(dataset: Dataset, places: Sequence[int]) -> list[str]:
    known = example_ids(dataset)
    return [str(known[place]) for place in places]


def test_ticked_examples_go_into_a_split_and_out_of_it(
    alice_client: Client, dataset: Dataset, alice: User
) -> None:
    ticked = ids(dataset, [0, 27])
    page = send(alice_client, dataset, do="add_split", name=" hard ", example=ticked)
    assert "2 examples are in the split hard, as a new version." in page
    assert [n for n, row in enumerate(standing(dataset)) if "hard" in row.splits] == [0, 27]
    version = dataset.versions.order_by("-as_of")[0]
    assert (version.changed, version.author) == (2, alice)
    assert 'value="' + ticked[0] + '" form="tray" aria-label="Tick example 1" checked' in page
    send(alice_client, dataset, do="remove_split", name="hard", example=ticked[:1])
    assert [n for n, row in enumerate(standing(dataset)) if "hard" in row.splits] == [27]


def test_all_that_the_filters_leave_are_meant_also_on_other_pages(
    alice_client: Client, dataset: Dataset
) -> None:
    send(alice_client, dataset, do="describe", key="level", value="7", all="1", split="odd")
    said = [loads(row.payload.metadata or "{}") for row in standing(dataset)]
    assert said == [{"level": 7} if n % 2 else {} for n in range(30)]
    send(
        alice_client,
        dataset,
        do="describe",
        key="of",
        value="question one",
        all="1",
        q="question 1?",
    )
    assert loads(standing(dataset)[1].payload.metadata or "") == {"level": 7, "of": "question one"}
    page = send(alice_client, dataset, do="describe", key="level", value="7", all="1", split="odd")
    assert "They say so already: nothing was changed." in page
    page = send(alice_client, dataset, do="undescribe", key="level", all="1")
    assert "was changed in 15 examples" in page
    assert all("level" not in (row.payload.metadata or "") for row in standing(dataset))


def test_deleting_asks_first_and_says_how_many(alice_client: Client, dataset: Dataset) -> None:
    page = send(alice_client, dataset, do="delete", all="1", split="odd")
    assert f"Delete 15 examples of {dataset.name}?" in page
    assert len(standing(dataset)) == 30
    sent = {"do": "delete", "sure": "1", "all": "1", "split": "odd"}
    for name, value in sent.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in page
    assert "15 examples deleted." in send(alice_client, dataset, **sent)
    assert len(standing(dataset)) == 15
    one = ids(dataset, [0])
    assert one[0] in send(alice_client, dataset, do="delete", example=one)
    send(alice_client, dataset, do="delete", sure="1", example=one)
    assert len(standing(dataset)) == 14


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"do": "add_split", "name": "x"}, "tick one at least"),
        ({"do": "add_split", "name": " ", "all": "1"}, "the split has 1 to 400 characters"),
        ({"do": "describe", "key": "", "all": "1"}, "the metadata key has 1 to 400 characters"),
        ({"do": "describe", "key": "dataset_split", "all": "1"}, "stands for the splits"),
        ({"do": "explode", "all": "1"}, "must be add_split"),
        ({"do": "add_split", "name": "x", "example": ["x", "\x00"]}, "tick one at least"),
    ],
)
def test_what_cannot_be_is_told(
    alice_client: Client, dataset: Dataset, data: dict[str, Any], told: str
) -> None:
    assert told in send(alice_client, dataset, **data)
    assert dataset.versions.count() == 1


def test_too_many_at_once_are_refused(
    alice_client: Client, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_examples, "MOST_AT_ONCE", 20)
    page = send(alice_client, dataset, do="add_split", name="x", all="1")
    assert "at most 20 at once: narrow the filters" in page
    assert dataset.versions.count() == 1


def test_examples_of_another_dataset_are_left_alone(
    alice_client: Client, dataset: Dataset, workspace: Workspace
) -> None:
    other = make_dataset(workspace, ["x"])
    send(alice_client, dataset, do="delete", sure="1", example=ids(other, [0]))
    assert len(standing(other)) == 1


def test_a_schema_of_the_metadata_is_no_obstacle_but_one_of_inputs_is_checked(
    alice_client: Client, dataset: Dataset
) -> None:
    update_dataset(dataset, inputs_schema='{"required": ["nothing"]}')
    page = send(alice_client, dataset, do="add_split", name="x", all="1")
    assert "nothing" in page
    assert dataset.versions.count() == 1


def test_only_editors_change_many(
    client: Client, alice: User, mallory: User, dataset: Dataset
) -> None:
    address = reverse("examples_many", args=[dataset.uid])
    client.force_login(mallory)
    assert client.post(address, {"do": "delete", "all": "1", "sure": "1"}).status_code == 404
    alice.memberships.update(role=Role.ANNOTATOR)
    client.force_login(alice)
    assert client.post(address, {"do": "delete", "all": "1", "sure": "1"}).status_code == 403
    page = client.get(reverse("dataset_detail", args=[dataset.uid])).content.decode()
    assert 'id="tray"' not in page


@pytest.mark.django_db(transaction=True)
@pytest.mark.browser
def test_ticks_follow_over_pages(alice_page: Page, dataset: Dataset) -> None:
    alice_page.goto(reverse("dataset_detail", args=[dataset.uid]) + "?size=25")
    alice_page.locator("input[form=tray]").nth(0).click()
    alice_page.locator("input[form=tray]").nth(2).click(modifiers=["Shift"])
    alice_page.click("#page-older")
    alice_page.locator("input[form=tray]").nth(4).click()
    expect(alice_page.locator("#tray-told")).to_have_text("4 ticked, 3 of them on other pages")
    alice_page.fill("#many-split", "chosen")
    alice_page.get_by_role("button", name="Add", exact=True).click()
    expect(alice_page.locator(".messages")).to_contain_text("4 examples are in the split chosen")
    rows = [n for n, row in enumerate(standing(dataset)) if "chosen" in row.splits]
    assert rows == [0, 1, 2, 29]
