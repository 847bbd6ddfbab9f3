"""Ticking experiments in a list: compared, launched or evaluated, with scripts and without."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from experiments.models import Dataset, Evaluation, Experiment
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db


def make_many(dataset: Dataset, number: int) -> list[Experiment]:
    """So many experiments, a minute apart, the newest last."""
    made = [make_experiment(dataset, ["x"] * 3, name=f"system {n}") for n in range(number)]
    for n, one in enumerate(made):
        one.start_time = timezone.now() - timedelta(minutes=number - n)
        one.save()
    return made


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace)


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def ticked_in(page: str) -> list[str]:
    return re.findall(r'name="exp" value="([^"]+)" form="tray"[^>]* checked>', page)


def ids(experiments: Sequence[Experiment]) -> list[str]:
    return [str(one.uid) for one in experiments]


def test_two_to_ten_lead_to_the_side_by_side_the_oldest_first(
    alice_client: Client, dataset: Dataset
) -> None:
    made = make_many(dataset, 3)
    address = reverse("experiments_ticked")
    answer = alice_client.get(address, {"exp": ids(made[::-1]), "do": "compare"})
    expected = reverse("side_by_side", args=[dataset.uid], query={"exp": ids(made)})
    assert answer.headers["Location"] == expected


def test_two_lead_to_the_launch_form_with_the_newer_as_a(
    alice_client: Client, dataset: Dataset
) -> None:
    made = make_many(dataset, 4)
    answer = alice_client.get(
        reverse("experiments_ticked"), {"exp": ids(made[:2]), "do": "pairwise"}
    )
    page = alice_client.get(answer.headers["Location"]).content.decode()
    selected = re.findall(r'<option value="([^"]+)" selected>', page)
    assert selected[:2] == ids([made[1], made[0]])


@pytest.mark.parametrize(
    ("number", "do", "told"),
    [
        (0, "compare", "Tick at least two"),
        (1, "compare", "Tick at least two"),
        (11, "compare", "Ticked are 11: take 1 away."),
        (3, "pairwise", "A pairwise comparison takes exactly two"),
        (1, "nonsense", "Tick at least two"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    alice_client: Client, dataset: Dataset, number: int, do: str, told: str
) -> None:
    made = make_many(dataset, number)
    answer = alice_client.get(reverse("experiments_ticked"), {"exp": ids(made), "do": do})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert told in page
    back = re.search(r'class="btn primary" href="([^"]+)"', page)
    assert back
    listed = alice_client.get(back[1].replace("&amp;", "&")).content.decode()
    assert len(ticked_in(listed)) == number


def test_different_datasets_are_refused_by_name(alice_client: Client, workspace: Workspace) -> None:
    made = [make_experiment(make_dataset(workspace, ["x"], name=f"set {n}"), ["x"]) for n in "ab"]
    for do in ("compare", "pairwise"):
        answer = alice_client.get(reverse("experiments_ticked"), {"exp": ids(made), "do": do})
        assert answer.status_code == 422
        assert "Theirs are set a, set b." in answer.content.decode()


def test_what_was_deleted_meanwhile_is_told(alice_client: Client, dataset: Dataset) -> None:
    made = make_many(dataset, 3)
    asked = ids(made)
    made[0].delete()
    answer = alice_client.get(reverse("experiments_ticked"), {"exp": asked, "do": "compare"})
    assert "Of 3 that were ticked 1 no longer exist." in answer.content.decode()


def test_several_are_evaluated_at_once(alice_client: Client, dataset: Dataset) -> None:
    made = make_many(dataset, 2)
    form = alice_client.get(
        reverse("experiments_ticked"), {"exp": ids(made), "do": "evaluate"}, follow=True
    )
    assert "Evaluate 2 experiments" in form.content.decode()
    address = form.redirect_chain[-1][0]
    wrong = alice_client.post(address, {"evaluator": "nothing", "max_concurrency": 2})
    assert wrong.status_code == 422
    assert not Evaluation.objects.exists()
    sent = alice_client.post(address, {"evaluator": "exact_match", "max_concurrency": 2})
    assert sent.status_code == 302
    assert {row.experiment for row in Evaluation.objects.all()} == set(made)


def test_ticks_stay_over_pages_without_scripts(alice_client: Client, dataset: Dataset) -> None:
    made = make_many(dataset, 27)
    address = reverse("dataset_experiments", args=[dataset.uid])
    first = alice_client.get(address, {"size": "25", "exp": ids(made[-2:])}).content.decode()
    assert ticked_in(first) == ids(made[:-3:-1])
    older = re.search(r'id="page-older" href="([^"]+)"', first)
    assert older
    second = alice_client.get(older[1].replace("&amp;", "&")).content.decode()
    for uid in ids(made[-2:]):
        assert f'<input type="hidden" name="exp" value="{uid}" data-dataset=' in second
    assert "2 of them on other pages" in second


def test_viewers_may_look_side_by_side_only(client: Client, dataset: Dataset, alice: User) -> None:
    alice.memberships.update(role=Role.VIEWER)
    client.force_login(alice)
    made = make_many(dataset, 2)
    page = client.get(reverse("experiment_list")).content.decode()
    assert page.count('disabled title="This needs the role editor."') == 2
    for do, status in (("compare", 200), ("evaluate", 403)):
        answer = client.get(
            reverse("experiments_ticked"), {"exp": ids(made), "do": do}, follow=True
        )
        assert answer.status_code == status


def test_strangers_tick_nothing(client: Client, mallory: User, dataset: Dataset) -> None:
    made = make_many(dataset, 2)
    client.force_login(mallory)
    answer = client.get(reverse("experiments_ticked"), {"exp": ids(made), "do": "compare"})
    assert answer.status_code == 422
    assert "system 1" not in answer.content.decode()
    page = client.get(reverse("experiment_list"), {"exp": ids(made)}).content.decode()
    assert "system 1" not in page


@pytest.mark.django_db(transaction=True)
@pytest.mark.browser
def test_the_tray_follows_over_pages_and_searches(alice_page: Page, dataset: Dataset) -> None:
    made = make_many(dataset, 27)
    alice_page.goto(reverse("experiment_list") + "?size=25")
    told = alice_page.locator("#tray-told")
    compare = alice_page.locator("#tray-compare")
    expect(compare).to_have_attribute("aria-disabled", "true")
    alice_page.check(f"input[value='{made[-1].uid}']")
    expect(told).to_have_text("1 ticked")
    assert str(made[-1].uid) in alice_page.url
    alice_page.click("#page-older")
    alice_page.check(f"input[value='{made[0].uid}']")
    expect(told).to_have_text("2 ticked, 1 of them on other pages")
    alice_page.fill("#filter-q", "system 1")
    expect(alice_page.locator("tbody tr")).to_have_count(11)
    expect(told).to_have_text("2 ticked, 2 of them on other pages")
    alice_page.reload()
    expect(told).to_have_text("2 ticked, 2 of them on other pages")
    compare.click()
    alice_page.wait_for_url("**/compare?*")
    names = alice_page.locator(".beside .names .name")
    expect(names).to_have_text(["system 0", "system 26"])
    alice_page.go_back()
    expect(told).to_have_text("2 ticked, 2 of them on other pages")


@pytest.mark.django_db(transaction=True)
@pytest.mark.browser
def test_a_range_is_ticked_by_shift_and_too_many_are_told(
    alice_page: Page, dataset: Dataset
) -> None:
    make_many(dataset, 12)
    alice_page.goto(reverse("experiment_list"))
    boxes = alice_page.locator("input[form=tray]")
    boxes.nth(0).click()
    boxes.nth(10).click(modifiers=["Shift"])
    told = alice_page.locator("#tray-told")
    expect(told).to_have_text("11 ticked. Side by side there is room for 10.")
    address = alice_page.url
    alice_page.locator("#tray-compare").click(force=True)
    assert alice_page.url == address
    boxes.nth(3).click()
    expect(told).to_have_text("10 ticked")
    alice_page.locator("#tray-clear").click()
    expect(boxes.nth(0)).not_to_be_checked()
    assert "exp=" not in alice_page.url


@pytest.mark.django_db(transaction=True)
@pytest.mark.browser
def test_rows_are_walked_ticked_and_opened_by_keys(alice_page: Page, dataset: Dataset) -> None:
    make_many(dataset, 3)
    alice_page.goto(reverse("experiment_list"))
    for key in ("j", "x", "j", "x"):
        alice_page.keyboard.press(key)
    expect(alice_page.locator("#tray-told")).to_have_text("2 ticked")
    expect(alice_page.locator("input[form=tray]").nth(1)).to_be_checked()
    alice_page.keyboard.press("k")
    alice_page.keyboard.press("o")
    expect(alice_page.locator("h1")).to_contain_text("system 2")
