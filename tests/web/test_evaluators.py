"""Evaluators with settings of their own: form, versions, trial, and where they can be chosen."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Page

from experiments.models import Comparison, Dataset, Evaluation, Evaluator, Experiment
from tests.engine.processes import StubJudge
from tests.factories import make_dataset, make_experiment, make_provider
from tests.web.uploading import signed_in
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, [f"ref {n}" for n in range(6)])


@pytest.fixture
def pair(dataset: Dataset) -> list[Experiment]:
    return [
        make_experiment(dataset, [f"{n}: GOOD-ANSWER" for n in range(6)], name="new"),
        make_experiment(dataset, [f"{n}: plain" for n in range(6)], name="old"),
    ]


def send(user: User, kind: str, **body: Any) -> Any:
    return signed_in(user).post(reverse("evaluator_new", args=[kind]), body)


def test_saving_keeps_what_differs_from_the_defaults(alice: User, workspace: Workspace) -> None:
    body = {
        "name": "near",
        "set_tolerance": "0.1",
        "set_distance": "jaro",
        "set_normalize_unicode": "on",
    }
    assert send(alice, "nearer_by_string_distance", **body).status_code == 302
    saved = Evaluator.objects.get(workspace=workspace)
    assert (saved.name, saved.version) == ("near", 1)
    assert saved.settings == {"tolerance": 0.1, "distance": "jaro", "normalize_unicode": True}

    browser = signed_in(alice)
    address = reverse("evaluator_edit", args=[saved.uid])
    page = browser.get(address).content.decode()
    assert '<option value="jaro" selected>' in page
    browser.post(address, {**body, "set_tolerance": "0.2"})
    browser.post(address, {**body, "set_tolerance": "0.2"})
    versions = Evaluator.objects.filter(workspace=workspace, name="near")
    assert sorted(versions.values_list("version", flat=True)) == [1, 2]
    listed = browser.get(reverse("evaluator_list")).content.decode()
    assert listed.count(">near</a>") == 1
    assert "nothing yet" in listed


def test_what_is_wrong_is_told_at_its_field(alice: User, workspace: Workspace) -> None:
    page = send(alice, "json_schema_validation", name="shape", set_schema="{x").content.decode()
    assert "This is not JSON" in page
    assert "{x" in page
    no_model = send(alice, "criteria", name="polite", set_criteria="helpfulness")
    assert no_model.status_code == 422
    assert "This evaluator asks a model: choose one." in no_model.content.decode()
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    unknown = send(alice, "criteria", name="x", set_criteria="nonsense", provider=str(provider.uid))
    assert unknown.status_code == 422
    assert "nonsense" in unknown.content.decode()
    assert signed_in(alice).get(reverse("evaluator_new", args=["nothing"])).status_code == 404
    assert Evaluator.objects.count() == 0


def test_own_criteria_and_a_prompt_of_ones_own_are_kept(alice: User, workspace: Workspace) -> None:
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    prompt = (
        "Which is kinder? {criteria}\n{input}\nA: {prediction}\nB: {prediction_b}\n[[A]] or [[B]]?"
    )
    body = {
        "name": "kind",
        "provider": str(provider.uid),
        "set_prompt": prompt,
        "set_criteria": '{"kind": "Is it {{ 7*7 }} kind?"}',
    }
    assert send(alice, "pairwise_string", **body).status_code == 302
    saved = Evaluator.objects.get(workspace=workspace)
    assert saved.settings["prompt"].replace("\r", "") == prompt
    assert saved.settings["criteria"] == {"kind": "Is it {{ 7*7 }} kind?"}
    page = signed_in(alice).get(reverse("evaluator_edit", args=[saved.uid])).content.decode()
    assert "{{ 7*7 }}" in page
    assert "Is it 49 kind" not in page


def test_a_trial_shows_prompt_reply_and_verdict_and_saves_nothing(
    alice: User, workspace: Workspace, pair: list[Experiment], settings: Any
) -> None:
    settings.PRIVATE_MODEL_HOSTS = {"127.0.0.1"}
    with StubJudge() as stub:
        provider = make_provider(workspace, stub.base_url)
        page = send(
            alice,
            "pairwise_string",
            name="try me",
            provider=str(provider.uid),
            experiment=[str(one.uid) for one in pair],
            **{"try": "1"},
        ).content.decode()
    assert page.count("Prompt as sent") == 10
    assert page.count("</span> better") == 5
    assert Evaluator.objects.count() == 0
    scored = send(
        alice, "string_distance", name="s", experiment=str(pair[0].uid), **{"try": "1"}
    ).content.decode()
    assert scored.count('<article class="game">') == 5
    lacking = send(alice, "string_distance", name="s", **{"try": "1"}).content.decode()
    assert "choose an experiment" in lacking


def test_it_can_be_chosen_where_something_is_launched(
    alice: User, workspace: Workspace, dataset: Dataset, pair: list[Experiment]
) -> None:
    send(alice, "nearer_by_string_distance", name="near", set_distance="jaro")
    send(alice, "contains", name="says good", set_which="any")
    near, says = (Evaluator.objects.get(name=name) for name in ("near", "says good"))
    browser = signed_in(alice)
    form = browser.get(reverse("dataset_comparisons", args=[dataset.uid])).content.decode()
    assert f'<option value="{near.uid}">near · version 1</option>' in form
    assert str(says.uid) not in form
    body = {
        "experiment_a": str(pair[0].uid),
        "experiment_b": str(pair[1].uid),
        "evaluator": str(near.uid),
        "order": "off",
        "max_concurrency": "4",
    }
    assert browser.post(reverse("comparison_launch", args=[dataset.uid]), body).status_code == 302
    assert Comparison.objects.get().evaluators.get().evaluator == near
    launched = browser.post(
        reverse("experiment_evaluate", args=[pair[0].uid]),
        {"evaluator": str(says.uid), "max_concurrency": "4"},
    )
    assert launched.status_code == 302
    assert Evaluation.objects.get().evaluator == says
    send(alice, "better_score", name="better", set_scored_by="exact_match", set_settings="{}")
    better = Evaluator.objects.get(name="better")
    body["evaluator"] = str(better.uid)
    assert browser.post(reverse("comparison_launch", args=[dataset.uid]), body).status_code == 302
    assert Comparison.objects.filter(evaluators__evaluator=better).count() == 1
    refused = send(alice, "better_score", name="bad", set_scored_by="criteria").content.decode()
    assert "scored_by must be one of" in refused
    listed = browser.get(reverse("evaluator_list")).content.decode()
    assert "1 comparison<" in listed
    assert "1 evaluation<" in listed

    browser.post(reverse("evaluator_archive", args=[near.uid]))
    form = browser.get(reverse("dataset_comparisons", args=[dataset.uid])).content.decode()
    assert str(near.uid) not in form


def test_viewers_read_and_strangers_see_nothing(
    alice: User, mallory: User, workspace: Workspace
) -> None:
    send(alice, "nearer_by_string_distance", name="near")
    uid = Evaluator.objects.get().uid
    assert "near" not in signed_in(mallory).get(reverse("evaluator_list")).content.decode().split(
        "New evaluator"
    )[0].replace("nearer", "")
    address = reverse("evaluator_edit", args=[uid])
    assert signed_in(mallory).get(address).status_code == 404
    alice.memberships.update(role=Role.VIEWER)
    assert signed_in(alice).get(address).status_code == 403
    page = signed_in(alice).get(reverse("evaluator_list")).content.decode()
    assert "near" in page
    assert "Archive" not in page


def test_the_pages_are_accessible_in_both_themes(alice_page: Page, workspace: Workspace) -> None:
    for path in (reverse("evaluator_list"), reverse("evaluator_new", args=["pairwise_string"])):
        for scheme in ("light", "dark"):
            alice_page.emulate_media(color_scheme=scheme)
            alice_page.goto(path)
            found = Axe().run(alice_page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_what_a_field_points_to_is_there(alice: User) -> None:
    page = signed_in(alice).get("/evaluators/new/nearer_by_string_distance").content.decode()
    described = re.findall(r'aria-describedby="([^"]+)"', page)
    assert described
    assert all(f'id="{name}"' in page for names in described for name in names.split())
