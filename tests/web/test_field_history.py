"""Back, forward, reload and links on filtered pages; signing out and going back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from experiments.models import Comparison
from tests.factories import add_scores, judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def compared(workspace: Workspace) -> Comparison:
    """Eighty rows, of which B won sixty."""
    dataset = make_dataset(workspace, ["x"] * 80)
    a = make_experiment(dataset, [f"alpha {n}" for n in range(80)], name="one")
    b = make_experiment(dataset, [f"beta {n}" for n in range(80)], name="two")
    add_scores(a, [0.0] * 80, key="f1")
    add_scores(b, [1.0] * 60 + [0.0] * 20, key="f1")
    made = make_comparison(a, b)
    judge(made, ["b"] * 60 + ["a"] * 20)
    return made


@pytest.fixture
def colleague(alice_page: Page) -> Iterator[BrowserContext]:
    """Another browser in which somebody has signed in."""
    browser = alice_page.context.browser
    assert browser is not None
    context = browser.new_context(storage_state=alice_page.context.storage_state())
    yield context
    context.close()


def settled(page: Page, rows: int) -> None:
    """A whole page with its layout, styles and so many rows."""
    expect(page.locator("header.topbar")).to_have_count(1)
    expect(page.locator("tr[id^=row-]")).to_have_count(rows)
    page.wait_for_load_state("networkidle")
    sheets = page.evaluate("[...document.styleSheets].filter(one => one.cssRules.length).length")
    assert sheets >= 3


def test_back_and_forward_walk_filters_pages_and_rows(
    alice_page: Page, compared: Comparison, colleague: BrowserContext
) -> None:
    page = alice_page
    page.goto(reverse("comparison_detail", args=[compared.uid]) + "?size=25")
    settled(page, 25)
    page.click("#out-b")
    expect(page.locator("#out-b")).to_have_attribute("aria-pressed", "true")
    filtered = page.url
    for number in (26, 51):
        page.click("#page-older")
        expect(page.locator(".row-link").first).to_have_text(str(number))
    third = page.url
    page.locator(".row-link").nth(2).click()
    expect(page.locator("#drawer-title")).to_have_text("Row 53")
    opened = page.url

    other = colleague.new_page()
    other.goto(opened)
    settled(other, 10)
    expect(other.locator("#drawer-title")).to_have_text("Row 53")
    expect(other.locator("#out-b")).to_have_attribute("aria-pressed", "true")

    page.go_back()
    settled(page, 10)
    expect(page.locator("#drawer-title")).to_have_count(0)
    assert page.url == third
    page.go_back()
    expect(page.locator(".row-link").first).to_have_text("26")
    settled(page, 25)
    page.go_back()
    expect(page.locator(".row-link").first).to_have_text("1")
    settled(page, 25)
    assert page.url == filtered
    page.go_forward()
    expect(page.locator(".row-link").first).to_have_text("26")
    settled(page, 25)
    page.reload()
    expect(page.locator(".row-link").first).to_have_text("26")
    expect(page.locator("#out-b")).to_have_attribute("aria-pressed", "true")


def test_typing_quickly_is_one_step_back(alice_page: Page, compared: Comparison) -> None:
    page = alice_page
    start = reverse("experiment_list")
    page.goto(reverse("dataset_list"))
    page.goto(start)
    page.locator("#filter-q").press_sequentially("two", delay=40)
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.url.endswith("q=two")
    page.go_back()
    expect(page).to_have_url(re.compile(r"/datasets$"))


def test_fragments_and_pages_are_told_apart(alice_page: Page, compared: Comparison) -> None:
    exp = [str(one.uid) for one in compared.dataset.experiments.order_by("pk")]
    for address in (
        reverse("comparison_detail", args=[compared.uid]),
        reverse("side_by_side", args=[compared.dataset.uid], query={"exp": exp}),
        reverse("dataset_detail", args=[compared.dataset.uid]),
        reverse("experiment_list"),
    ):
        whole = alice_page.request.get(address)
        part = alice_page.request.get(address, headers={"HX-Request": "true"})
        again = alice_page.request.get(
            address, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"}
        )
        assert "<html" in whole.text()
        assert "<html" not in part.text()
        assert "<html" in again.text()
        for answer in (whole, part, again):
            assert "HX-Request" in answer.headers["vary"]
            assert "no-store" in answer.headers["cache-control"]


def test_the_side_by_side_goes_back_to_what_it_showed(
    alice_page: Page, compared: Comparison
) -> None:
    page = alice_page
    exp = [str(one.uid) for one in compared.dataset.experiments.order_by("pk")]
    page.goto(reverse("side_by_side", args=[compared.dataset.uid], query={"exp": exp}))
    settled(page, 25)
    page.click("[id='worse-2-f1']")
    expect(page.locator(".empty")).to_contain_text("The filters exclude all of them.")
    page.locator("#clear").click()
    settled(page, 25)
    page.click("[id='same-2-f1']")
    expect(page.locator(".paging")).to_contain_text("1–20 of 20")
    page.go_back()
    settled(page, 25)
    expect(page.locator(".paging")).to_contain_text("1–25 of 80")
    page.go_back()
    expect(page.locator(".empty")).to_contain_text("The filters exclude all of them.")


def test_after_signing_out_back_shows_nothing(alice_page: Page, compared: Comparison) -> None:
    page = alice_page
    page.goto(reverse("comparison_detail", args=[compared.uid]))
    settled(page, 50)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in*")
    page.go_back()
    expect(page.locator("[name=password]")).to_have_count(1)
    assert "alpha" not in page.content()
