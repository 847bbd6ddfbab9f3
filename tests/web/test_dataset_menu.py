"""What is done to a dataset as a whole, from its menu."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, Dataset, SharedLink
from experiments.services.sharing import share, share_comparison
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    made = make_dataset(workspace, ["4"] * 30, name="numbers", splits=[["a"]] * 29 + [["b"]])
    make_experiment(made, ["4"] * 30, name="secret system")
    return made


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def test_the_list_offers_what_can_be_done(alice_client: Client, dataset: Dataset) -> None:
    page = alice_client.get(reverse("dataset_list")).content.decode()
    for name in ("dataset_rename", "dataset_share", "dataset_delete"):
        address = reverse(name, args=[dataset.uid])
        assert f'href="{address}"' in page
        assert alice_client.get(address).status_code == 200
    assert f'href="{reverse("dataset_export", args=[dataset.uid])}?format=parquet"' in page


def test_it_is_renamed_unless_the_name_is_taken(alice_client: Client, dataset: Dataset) -> None:
    make_dataset(dataset.workspace, ["x"], name="taken")
    address = reverse("dataset_rename", args=[dataset.uid])
    assert 'value="numbers"' in alice_client.get(address).content.decode()
    for name, told in (("taken", "already exists"), ("", "required"), (" ", "required")):
        answer = alice_client.post(address, {"name": name, "description": "kept"})
        page = answer.content.decode()
        assert answer.status_code == 422
        assert re.search(rf'id="id_name_error">[^<]*{told}', page)
        assert 'value="kept"' in page
        assert "Rename numbers" in page
    answer = alice_client.post(address, {"name": "digits", "description": "all"}, follow=True)
    assert "It is called digits now." in answer.content.decode()
    dataset.refresh_from_db()
    assert (dataset.name, dataset.description) == ("digits", "all")


def test_a_link_shows_the_examples_and_nothing_else(alice_client: Client, dataset: Dataset) -> None:
    address = reverse("dataset_share", args=[dataset.uid])
    page = alice_client.post(address, follow=True).content.decode()
    link = SharedLink.objects.get()
    shown = reverse("shared_dataset", args=[link.token])
    assert f"http://testserver{shown}" in page
    public = Client()
    for place in (shown, f"/public/{link.token}/d"):
        answer = public.get(place)
        assert answer.status_code == 200
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        seen = answer.content.decode()
        assert "Question 0?" in seen
        for private in (
            "alice",
            "secret system",
            "/experiments",
            'href="/datasets',
            "Export",
            "tray",
        ):
            assert private not in seen
    assert "Question 29?" in public.get(shown, {"split": "b"}).content.decode()
    assert "Question 0?" not in public.get(shown, {"split": "b"}).content.decode()
    older = re.search(
        r'id="page-older" href="([^"]+)"', public.get(shown, {"size": "25"}).content.decode()
    )
    assert older
    assert "Question 29?" in public.get(older[1].replace("&amp;", "&")).content.decode()
    alice_client.post(address, {"end": "1"})
    assert public.get(shown).status_code == 404


def test_a_link_shows_only_what_it_names(
    client: Client, dataset: Dataset, comparison: Comparison
) -> None:
    link = share(workspace=dataset.workspace, kind="dataset", target_uid=dataset.uid)
    assert client.get(reverse("shared_report", args=[link.token])).status_code == 404
    other = share_comparison(comparison=comparison, shows="rows")
    page = client.get(reverse("shared_comparison", args=[other.token])).content.decode()
    assert "system a" in page


def test_only_editors_and_no_strangers(
    client: Client, alice: User, mallory: User, dataset: Dataset
) -> None:
    for name in ("dataset_rename", "dataset_share", "dataset_delete"):
        address = reverse(name, args=[dataset.uid])
        client.force_login(mallory)
        assert client.post(address, {"name": "x", "sure": dataset.name}).status_code == 404
        alice.memberships.update(role=Role.VIEWER)
        client.force_login(alice)
        assert client.post(address, {"name": "x", "sure": dataset.name}).status_code == 403
    page = client.get(reverse("dataset_list")).content.decode()
    assert "Rename" not in page
    assert "JSONL" in page
