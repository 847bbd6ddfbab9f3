"""Trying an evaluator on five rows: everything shown, nothing paid twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, Dataset, Experiment, JudgeReply, Judgment
from experiments.queries.launch_warnings import launch_warnings
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import make_dataset, make_experiment, make_provider
from tests.web.uploading import signed_in
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, [f"ref {n}" for n in range(7)])


@pytest.fixture
def pair(dataset: Dataset) -> list[Experiment]:
    good = [f"{n}: GOOD-ANSWER <b>bold</b>" for n in range(7)]
    plain: list[str | None] = [f"{n}: plain" for n in range(6)]
    return [
        make_experiment(dataset, good, name="gpt-new"),
        make_experiment(dataset, [*plain, None], name="old"),
    ]


def send(user: User, dataset: Dataset, pair: list[Experiment], **changes: Any) -> Any:
    body = {
        "experiment_a": str(pair[0].uid),
        "experiment_b": str(pair[1].uid),
        "evaluator": "nearer_by_string_distance",
        "order": "both",
        "max_concurrency": "4",
        **changes,
    }
    return signed_in(user).post(reverse("comparison_trial", args=[dataset.uid]), body)


def test_a_function_is_tried_at_once_and_nothing_is_stored(
    alice: User, dataset: Dataset, pair: list[Experiment]
) -> None:
    page = send(alice, dataset, pair).content.decode()
    assert "Trial on 5 rows" in page
    assert page.count('<article class="game">') == 5
    assert (Comparison.objects.count(), Judgment.objects.count()) == (0, 0)


def test_a_judge_shows_prompts_replies_and_readings_and_is_paid_once(
    alice: User,
    worker: Worker,
    dataset: Dataset,
    pair: list[Experiment],
    workspace: Workspace,
    settings: Any,
) -> None:
    settings.PRIVATE_MODEL_HOSTS = {"127.0.0.1"}
    with StubJudge() as stub:
        provider = make_provider(workspace, stub.base_url)
        choice = {"evaluator": "pairwise_string", "provider": str(provider.uid)}
        page = send(alice, dataset, pair, **choice).content.decode()
        assert page.count("Prompt as sent") == 10
        assert "Because it is so." in page
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
        assert "<b>bold</b>" not in page
        assert "A, then B: " in page
        assert "B, then A: " in page
        assert stub.stats()["answered"] == 10
        again = send(alice, dataset, pair, **choice).content.decode()
        assert again.count("from an earlier reply") == 10
        assert stub.stats()["answered"] == 10
        assert JudgeReply.objects.filter(workspace=workspace).count() == 10

        launched = signed_in(alice).post(
            reverse("comparison_launch", args=[dataset.uid]),
            {
                "experiment_a": str(pair[0].uid),
                "experiment_b": str(pair[1].uid),
                "order": "both",
                "max_concurrency": "4",
                **choice,
            },
        )
        assert launched.status_code == 302
        comparison = Comparison.objects.get()
        done = comparison.judgments.exclude(outcome="pending")
        eventually(lambda: done.count() == 7, 30, "all is judged")
        # Six pairs have both outputs; of their twelve questions ten were asked before.
        assert stub.stats()["answered"] == 12


def test_a_judge_that_cannot_be_reached_is_told(
    alice: User, dataset: Dataset, pair: list[Experiment], workspace: Workspace
) -> None:
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    page = send(
        alice, dataset, pair, evaluator="pairwise_string", provider=str(provider.uid)
    ).content.decode()
    assert page.count("could not be judged") == 5


def test_what_is_wrong_in_the_form_is_told(
    alice: User, dataset: Dataset, pair: list[Experiment]
) -> None:
    page = send(alice, dataset, [pair[0], pair[0]], margin="77").content.decode()
    assert "B must differ from A." in page
    assert "less than or equal to 49" in page


def test_viewers_and_strangers_try_nothing(
    alice: User, mallory: User, dataset: Dataset, pair: list[Experiment]
) -> None:
    assert send(mallory, dataset, pair).status_code == 404
    alice.memberships.update(role=Role.VIEWER)
    assert send(alice, dataset, pair).status_code == 403


def test_it_warns_of_versions_references_and_kin(
    client: Client, workspace: Workspace, dataset: Dataset, pair: list[Experiment]
) -> None:
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    provider.model = "gpt-4.1-mini"
    assert launch_warnings(pair, None, None) == []
    told = launch_warnings(pair, None, provider)
    assert len(told) == 1
    assert "one family (gpt)" in told[0]
    pair[1].dataset_version = dataset.modified_at + timedelta(seconds=1)
    assert "different versions" in launch_warnings(pair, None, None)[0]


def test_the_margin_is_set_beforehand_and_kept(
    alice: User, dataset: Dataset, pair: list[Experiment]
) -> None:
    body = {
        "experiment_a": str(pair[0].uid),
        "experiment_b": str(pair[1].uid),
        "evaluator": "nearer_by_string_distance",
        "order": "off",
        "max_concurrency": "4",
        "margin": "12.5",
    }
    signed_in(alice).post(reverse("comparison_launch", args=[dataset.uid]), body)
    assert Comparison.objects.get().margin == 0.125
