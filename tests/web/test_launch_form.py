"""The launch form: says beforehand what will be judged, and names what is wrong at its field."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from experiments.models import Comparison, Dataset, Experiment
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, ["1", "2", "3", "4", "5"])


@pytest.fixture
def pair(dataset: Dataset) -> tuple[Experiment, Experiment]:
    return (
        make_experiment(dataset, ["1", "2", "3", None, "5"], name="older"),
        make_experiment(dataset, ["1", "2", ValueError("x"), "4", "5"], name="newer"),
    )


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def send(client: Client, dataset: Dataset, **fields: Any) -> Any:
    return client.post(reverse("comparison_launch", args=[dataset.uid]), fields)


def filled(pair: tuple[Experiment, Experiment], **changes: Any) -> dict[str, Any]:
    return {
        "experiment_a": str(pair[0].uid),
        "experiment_b": str(pair[1].uid),
        "evaluator": "nearer_by_string_distance",
        "order": "both",
        "max_concurrency": "4",
        **changes,
    }


def test_it_launches_with_everything_that_was_filled_in(
    alice_client: Client, alice: User, dataset: Dataset, pair: tuple[Experiment, Experiment]
) -> None:
    answer = send(
        alice_client,
        dataset,
        **filled(pair, name="first try", description="why", metadata='{"ticket": 7}'),
    )
    comparison = Comparison.objects.get()
    assert answer.url == reverse("comparison_detail", args=[comparison.uid])
    assert (comparison.name, comparison.description) == ("first try", "why")
    assert comparison.metadata == {"ticket": 7}
    assert (comparison.order, comparison.author) == ("both", alice)
    assert comparison.job is not None
    assert comparison.job.max_concurrency == 4
    assert [side.experiment for side in comparison.sides.all()] == list(pair)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"experiment_a": ""}, "experiment_a", "required"),
        ({"experiment_b": "11111111-1111-4111-8111-111111111111"}, "experiment_b", "valid choice"),
        ({"evaluator": "no_such"}, "evaluator", "valid choice"),
        ({"evaluator": "pairwise_string"}, "provider", "choose one"),
        ({"max_concurrency": "0"}, "max_concurrency", "greater than or equal to 1"),
        ({"metadata": "[1]"}, "metadata", "JSON object"),
        ({"metadata": "{"}, "metadata", "not JSON"),
        ({"order": "sideways"}, "order", "valid choice"),
        ({"name": "x" * 401}, "name", "at most 400"),
    ],
)
def test_it_names_what_is_wrong_at_its_field(
    alice_client: Client,
    dataset: Dataset,
    pair: tuple[Experiment, Experiment],
    changes: dict[str, str],
    field: str,
    words: str,
) -> None:
    answer = send(alice_client, dataset, **filled(pair, **changes))
    assert answer.status_code == 422
    assert words in " ".join(answer.context["form"].errors[field])
    assert f'href="#id_{field}"' in answer.content.decode()
    assert Comparison.objects.count() == 0


def test_it_refuses_an_experiment_against_itself(
    alice_client: Client, dataset: Dataset, pair: tuple[Experiment, Experiment]
) -> None:
    answer = send(alice_client, dataset, **filled((pair[0], pair[0])))
    assert "must differ from A" in " ".join(answer.context["form"].errors["experiment_b"])


def test_it_refuses_what_shares_nothing(alice_client: Client, dataset: Dataset) -> None:
    a = make_experiment(dataset, ["1", None, None, None, None])
    b = make_experiment(dataset, [None, "2", None, None, None])
    answer = send(alice_client, dataset, **filled((a, b)))
    assert answer.status_code == 422
    assert "no example in common" in answer.content.decode()


def test_it_offers_only_experiments_of_this_dataset(
    alice_client: Client, workspace: Workspace, dataset: Dataset,
    pair: tuple[Experiment, Experiment],
) -> None:  # fmt: skip
    foreign = make_experiment(make_dataset(workspace), ["4", "Paris", "blue"], name="foreign")
    page = alice_client.get(reverse("dataset_comparisons", args=[dataset.uid])).content.decode()
    assert "older" in page
    assert "foreign" not in page
    assert send(alice_client, dataset, **filled((pair[0], foreign))).status_code == 422


def test_it_says_beforehand_how_many_pairs_there_are_and_what_has_no_partner(
    alice_client: Client, dataset: Dataset, pair: tuple[Experiment, Experiment]
) -> None:
    address = reverse("comparison_forecast", args=[dataset.uid])
    text = alice_client.get(address, filled(pair)).content.decode()
    assert "<b>3 pairs</b>" in text
    assert "1 of B has no run in A" in text
    assert "1 pair left out" in text
    judged = alice_client.get(address, filled(pair, evaluator="pairwise_string")).content.decode()
    assert "6 calls to the model" in judged
    once = filled(pair, evaluator="pairwise_string", order="random")
    assert "3 calls to the model" in alice_client.get(address, once).content.decode()


def test_it_begins_with_the_newest_against_the_one_before(
    alice_client: Client, dataset: Dataset, pair: tuple[Experiment, Experiment]
) -> None:
    page = alice_client.get(reverse("dataset_comparisons", args=[dataset.uid]))
    initial = page.context["form"].initial
    assert (initial["experiment_a"], initial["experiment_b"]) == (
        str(pair[1].uid),
        str(pair[0].uid),
    )


def test_pairs_are_counted_after_the_page_has_opened_or_on_request(
    alice_client: Client, dataset: Dataset, pair: tuple[Experiment, Experiment]
) -> None:
    address = reverse("dataset_comparisons", args=[dataset.uid])
    with CaptureQueriesContext(connection) as queries:
        page = alice_client.get(address)
    assert not any("met AS" in query["sql"] for query in queries)
    link = re.search(r'href="(\?a=[^"]+forecast=1)"', page.content.decode())
    assert link
    counted = alice_client.get(address + unescape(link[1])).content.decode()
    assert "<b>3 pairs</b>" in counted
    assert "Count the pairs" not in counted


def test_strangers_see_404(client: Client, mallory: User, dataset: Dataset) -> None:
    client.force_login(mallory)
    for name in ("dataset_comparisons", "comparison_forecast"):
        assert client.get(reverse(name, args=[dataset.uid])).status_code == 404
    assert send(client, dataset).status_code == 404


@pytest.mark.parametrize(
    ("rows", "told"),
    [(3, "Too few to show any difference"), (30, "a win rate 25.6 points from 50%")],
)
def test_the_forecast_says_what_so_many_pairs_can_show(
    client: Client, alice: User, workspace: Workspace, rows: int, told: str
) -> None:
    dataset = make_dataset(workspace, ["x"] * rows)
    a, b = (make_experiment(dataset, ["o"] * rows) for _ in range(2))
    client.force_login(alice)
    query = {"experiment_a": str(a.uid), "experiment_b": str(b.uid)}
    address = reverse("comparison_forecast", args=[dataset.uid])
    assert told in client.get(address, query).content.decode()


def test_sending_the_form_twice_launches_once(
    alice_client: Client, dataset: Dataset, pair: tuple[Experiment, Experiment]
) -> None:
    page = alice_client.get(reverse("dataset_comparisons", args=[dataset.uid]))
    launch_id = page.context["form"].initial["launch_id"]
    targets = {
        send(alice_client, dataset, **filled(pair, launch_id=launch_id)).url for _ in range(2)
    }
    assert len(targets) == Comparison.objects.count() == 1
