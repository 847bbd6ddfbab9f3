"""The comparison view in a browser: thumbs, history, the drawer and the keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from experiments.models import Comparison
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def judged(workspace: Workspace) -> Comparison:
    outcomes = ["a"] * 7 + ["b"] * 4 + ["tie"] * 3 + ["flip"] * 2 + ["failed"]
    count = len(outcomes)
    dataset = make_dataset(workspace, [f"reference {n}" for n in range(count)])
    a = make_experiment(dataset, [f"alpha {n}" for n in range(count)], name="system one")
    b = make_experiment(dataset, [f"beta {n}" for n in range(count)], name="system two")
    comparison = make_comparison(a, b)
    judge(comparison, outcomes)
    return comparison


def shown(page: Page) -> list[str]:
    rows = page.locator("tr[data-outcome]")
    return [str(rows.nth(n).get_attribute("data-outcome")) for n in range(rows.count())]


def thumb(page: Page, side: str, way: str) -> Any:
    return page.locator(f"#thumb-{side}-{way}")


def test_thumbs_filter_to_the_rows_they_count(alice_page: Page, judged: Comparison) -> None:
    page = alice_page
    page.goto(f"/comparisons/{judged.uid}")
    assert len(shown(page)) == 17
    thumb(page, "a", "up").click()
    expect(page.locator("tr[data-outcome]")).to_have_count(7)
    assert set(shown(page)) == {"a"}
    assert "a=up" in page.url
    for pressed in (("a", "up"), ("b", "down")):
        expect(thumb(page, *pressed)).to_have_attribute("aria-pressed", "true")
    expect(thumb(page, "a", "down")).to_have_attribute("aria-pressed", "false")
    assert "7" in thumb(page, "a", "up").inner_text()
    thumb(page, "a", "down").click()
    expect(page.locator("tr[data-outcome]")).to_have_count(4)
    assert set(shown(page)) == {"b"}
    page.go_back()
    expect(page.locator("tr[data-outcome]")).to_have_count(7)
    expect(page.locator("header.topbar")).to_be_visible()
    thumb(page, "b", "down").click()
    expect(page.locator("tr[data-outcome]")).to_have_count(17)


def test_a_copied_address_shows_the_same_rows(alice_page: Page, judged: Comparison) -> None:
    alice_page.goto(f"/comparisons/{judged.uid}?out=tie")
    before = shown(alice_page)
    alice_page.reload()
    assert shown(alice_page) == before == ["tie"] * 5
    expect(alice_page.locator("#out-tie")).to_have_attribute("aria-pressed", "true")


def test_typing_in_search_narrows_the_rows(alice_page: Page, judged: Comparison) -> None:
    alice_page.goto(f"/comparisons/{judged.uid}")
    alice_page.fill("#filter-q", "alpha 16")
    expect(alice_page.locator("tr[data-outcome]")).to_have_count(1)
    assert shown(alice_page) == ["failed"]
    expect(alice_page.locator("#live")).to_contain_text("rows")
    assert alice_page.evaluate("document.activeElement.id") == "filter-q"


def test_the_keyboard_alone_opens_walks_and_closes_the_drawer(
    alice_page: Page, judged: Comparison
) -> None:
    page = alice_page
    page.goto(f"/comparisons/{judged.uid}?a=up")
    page.locator(".row-link").first.focus()
    page.keyboard.press("Enter")
    drawer = page.locator(".drawer")
    expect(drawer).to_contain_text("alpha 0")
    expect(page.locator("#drawer-title")).to_be_focused()
    page.keyboard.press("j")
    expect(drawer).to_contain_text("alpha 1")
    assert "row=" in page.url
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(page.locator(".row-link").first).to_be_focused()
    assert re.search(r"\?a=up$", page.url)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["", "?a=up", "?q=nothing"])
def test_axe_finds_nothing_serious(
    alice_page: Page, judged: Comparison, scheme: Any, query: str
) -> None:
    alice_page.emulate_media(color_scheme=scheme)
    alice_page.goto(f"/comparisons/{judged.uid}{query}")
    assert serious(alice_page) == []


def serious(page: Page) -> list[str]:
    violations = Axe().run(page).response["violations"]
    return [
        f"{found['id']}: {found['nodes'][0]['html'][:200]}"
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]


def test_it_does_not_scroll_sideways_at_400_pixels(alice_page: Page, judged: Comparison) -> None:
    alice_page.set_viewport_size({"width": 400, "height": 800})
    alice_page.goto(f"/comparisons/{judged.uid}")
    assert alice_page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def test_it_works_without_scripts(alice_page: Page, judged: Comparison) -> None:
    context = alice_page.context.browser
    assert context is not None
    plain = context.new_context(
        java_script_enabled=False, storage_state=alice_page.context.storage_state()
    )
    page = plain.new_page()
    page.goto(alice_page.url.replace("/datasets", f"/comparisons/{judged.uid}"))
    thumb(page, "a", "up").click()
    assert set(shown(page)) == {"a"}
    page.locator(".row-link").first.click()
    expect(page.locator(".drawer")).to_contain_text("alpha 0")
    plain.close()


@pytest.mark.parametrize(
    "path", ["/datasets", "/settings/keys", "/settings/members", "/experiments"]
)
def test_no_page_scrolls_sideways_at_400_pixels(
    alice_page: Page, judged: Comparison, api_key: str, path: str
) -> None:
    alice_page.set_viewport_size({"width": 400, "height": 800})
    for address in (path, f"/datasets/{judged.dataset.uid}/pairwise"):
        alice_page.goto(address)
        widths = alice_page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert widths[0] <= widths[1], address
