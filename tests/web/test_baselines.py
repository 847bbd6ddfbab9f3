"""One experiment of a dataset as its baseline: chosen, shown, and compared with."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from experiments.models import Dataset, Experiment, FeedbackConfig
from experiments.services.experiments import choose_baseline, update_experiment
from tests.factories import add_scores, make_dataset, make_experiment
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db

LOW, HIGH = [0.0, 0.1] * 10, [0.8, 0.9] * 10


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, ["x"] * 20)


@pytest.fixture
def systems(dataset: Dataset) -> list[Experiment]:
    made = [make_experiment(dataset, ["x"] * 20, name=name) for name in ("old", "new", "newest")]
    for one, scores in zip(made, (LOW, HIGH, [0.05, 0.1] * 10), strict=True):
        add_scores(one, scores, key="f1")
    return made


def choose(client: Client, experiment: Experiment, **data: str) -> str:
    address = reverse("experiment_baseline", args=[experiment.uid])
    return client.post(address, data, follow=True).content.decode()


def chosen(dataset: Dataset) -> list[str]:
    return [row.name for row in dataset.experiments.filter(is_baseline=True)]


def test_one_is_chosen_at_a_time_and_can_be_given_up(
    alice_client: Client, dataset: Dataset, systems: list[Experiment]
) -> None:
    other = make_experiment(make_dataset(dataset.workspace, ["x"]), ["x"])
    choose(alice_client, other)
    page = choose(alice_client, systems[0])
    assert "old is the baseline now." in page
    assert "No longer the baseline" in page
    choose(alice_client, systems[1])
    assert chosen(dataset) == ["new"]
    choose(alice_client, systems[1], end="1")
    assert chosen(dataset) == []
    assert other.dataset is not None
    assert chosen(other.dataset) == [other.name]


def test_lists_show_changes_against_it_grey_where_they_may_be_chance(
    alice_client: Client, dataset: Dataset, systems: list[Experiment]
) -> None:
    address = reverse("dataset_experiments", args=[dataset.uid])
    before = alice_client.get(address).content.decode()
    assert "against old" not in before
    choose(alice_client, systems[0])
    for page in (
        alice_client.get(address).content.decode(),
        alice_client.get(reverse("experiment_list")).content.decode(),
    ):
        cells = re.findall(r'<small class="([^"]+)" title="(against [^"]+)">([^<]+)</small>', page)
        assert cells == [
            ("muted", "against old: 0.050, mean of 20; here of 20", "+0.025"),
            ("way better", "against old: 0.050, mean of 20; here of 20", "▲ +0.800 better"),
        ]
        assert page.count('<span class="chip">baseline</span>') == 1


def test_less_is_better_where_the_score_says_so(
    alice_client: Client, dataset: Dataset, systems: list[Experiment]
) -> None:
    FeedbackConfig.objects.create(
        workspace=dataset.workspace, key="f1", config="{}", is_lower_score_better=True
    )
    choose(alice_client, systems[0])
    page = alice_client.get(reverse("experiment_list")).content.decode()
    assert "▼ +0.800 worse" in page


def test_a_page_without_it_compares_with_it_all_the_same_in_as_many_queries(
    alice_client: Client, dataset: Dataset, systems: list[Experiment]
) -> None:
    choose(alice_client, systems[0])
    address = reverse("dataset_experiments", args=[dataset.uid])
    alice_client.get(address)
    asked = []
    for q in ("newest", "new"):
        with CaptureQueriesContext(connection) as context:
            page = alice_client.get(address, {"q": q}).content.decode()
        assert "against old" in page
        asked.append(len(context))
    assert asked[0] == asked[1]


def test_it_is_first_side_by_side_and_b_in_the_launch_form(
    alice_client: Client, dataset: Dataset, systems: list[Experiment]
) -> None:
    choose(alice_client, systems[1])
    ids = [str(one.uid) for one in systems]
    answer = alice_client.get(reverse("experiments_ticked"), {"exp": ids, "do": "compare"})
    order = re.findall(r"exp=([^&]+)", answer.headers["Location"])
    assert order == [ids[1], ids[0], ids[2]]
    form = alice_client.get(reverse("dataset_comparisons", args=[dataset.uid])).content.decode()
    assert re.findall(r'<option value="([^"]+)" selected>', form)[:2] == [ids[2], ids[1]]
    tab = alice_client.get(reverse("dataset_experiments", args=[dataset.uid])).content.decode()
    offer = re.search(r'id="offer" href="([^"]+)"', tab)
    assert offer
    assert re.findall(r"exp=([^&]+)", offer[1].replace("&amp;", "&")) == [ids[1], ids[2]]
    detail = alice_client.get(reverse("experiment_detail", args=[systems[2].uid])).content.decode()
    assert "Compare with new" in detail


def test_it_stays_behind_when_it_moves_to_another_dataset(
    alice_client: Client, dataset: Dataset, systems: list[Experiment]
) -> None:
    elsewhere = make_dataset(dataset.workspace, ["x"])
    choose_baseline(make_experiment(elsewhere, ["x"]))
    choose_baseline(systems[0])
    moved = update_experiment(systems[0], dataset=elsewhere)
    assert not moved.is_baseline


def test_only_editors_choose_and_strangers_find_nothing(
    client: Client, alice: User, mallory: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    address = reverse("experiment_baseline", args=[systems[0].uid])
    client.force_login(mallory)
    assert client.post(address).status_code == 404
    alice.memberships.update(role=Role.VIEWER)
    client.force_login(alice)
    assert client.post(address).status_code == 403
    page = client.get(reverse("experiment_detail", args=[systems[0].uid])).content.decode()
    assert "Make it the baseline" not in page
    assert chosen(dataset) == []


def test_it_leads_back_to_the_page_it_came_from_and_nowhere_else(
    alice_client: Client, systems: list[Experiment]
) -> None:
    address = reverse("experiment_baseline", args=[systems[0].uid])
    own = reverse("experiment_detail", args=[systems[0].uid])
    for back, target in (
        ("/experiments?q=x", "/experiments?q=x"),
        ("//evil.example/", own),
        ("https://evil.example/", own),
        ("/\\evil.example", own),
    ):
        answer = alice_client.post(address, {"back": back})
        assert answer.headers["Location"] == target
