"""Dark and light, twice as large, and without a mouse."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Page, expect

from experiments.models import Comparison, RunPayload
from experiments.rawjson import dumps
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def compared(workspace: Workspace) -> Comparison:
    """Thirty rows with JSON outputs, an error, differences and verdicts of every kind."""
    dataset = make_dataset(workspace, ["x"] * 30)
    a = make_experiment(
        dataset, [f"alpha {n}" for n in range(29)] + [RuntimeError("boom")], name="one"
    )
    b = make_experiment(dataset, [f"beta {n}" for n in range(30)], name="two")
    for system in (a, b):
        for n, run in enumerate(system.runs.order_by("pk")[:10]):
            value = {
                "name": system.name,
                "n": n,
                "lines": [{"item": "paper", "ok": True}],
                "x": None,
            }
            RunPayload.objects.filter(run=run).update(outputs=dumps(value))
    made = make_comparison(a, b)
    judge(made, ["a"] * 26 + ["b", "tie", "flip"])
    return made


def views(comparison: Comparison) -> list[str]:
    exp = [str(one.uid) for one in comparison.dataset.experiments.order_by("pk")]
    row = comparison.dataset.examples.order_by("pk")[0].uid
    beside = reverse("side_by_side", args=[comparison.dataset.uid], query={"exp": exp})
    return [
        f"{reverse('comparison_detail', args=[comparison.uid])}?view=json&diff=1&row={row}",
        f"{beside}&diff=base&row={row}",
        f"{beside}&view=json&meta=all",
        f"{reverse('dataset_detail', args=[comparison.dataset.uid])}?row={row}",
        reverse("dataset_experiments", args=[comparison.dataset.uid]),
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_contrast_in_both_themes(
    alice_page: Page, compared: Comparison, scheme: str
) -> None:
    alice_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for address in views(compared):
        alice_page.goto(address)
        found = Axe().run(alice_page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        told = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in serious]
        assert told == [], address


@pytest.mark.parametrize("width", [640, 400, 320])
def test_twice_as_large_no_page_scrolls_sideways(
    alice_page: Page, compared: Comparison, width: int
) -> None:
    """At 200% a window of 1280 pixels is 640 wide."""
    alice_page.set_viewport_size({"width": width, "height": 500})
    for address in views(compared):
        alice_page.goto(address)
        over = alice_page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert over <= 0, address


def tab_to(page: Page, selector: str, most: int = 120) -> None:
    """Press Tab until this is focused, and visibly so."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("chosen => document.activeElement.matches(chosen)", selector):
            ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert ring != "none", selector
            return
    pytest.fail(f"Tab never reaches {selector}")


def test_the_whole_way_without_a_mouse(alice_page: Page, compared: Comparison) -> None:
    """Two experiments, A better, row 5, both outputs, another verdict, close, next page."""
    page = alice_page
    page.goto(reverse("dataset_experiments", args=[compared.dataset.uid]))
    for _ in range(2):
        tab_to(page, "input[form=tray]")
        page.keyboard.press("Space")
    tab_to(page, "#tray-compare")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?*")
    expect(page.locator(".beside .names .name")).to_have_text(["one", "two"])

    page.goto(reverse("comparison_detail", args=[compared.uid]) + "?size=25")
    tab_to(page, "#thumb-a-up")
    page.keyboard.press("Space")
    expect(page.locator("#thumb-a-up")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#live")).to_contain_text("of 26 rows")
    expect(page.locator("#thumb-a-up")).to_be_focused()
    for _ in range(5):
        tab_to(page, ".row-link")
    page.keyboard.press("Enter")
    expect(page.locator("#drawer-title")).to_be_focused()
    expect(page.locator("#drawer-title")).to_have_text("Row 5")
    tab_to(page, ".by-hand summary")
    page.keyboard.press("Enter")
    tab_to(page, "[name=outcome]")
    page.keyboard.press("ArrowDown")
    tab_to(page, "#by-hand-reason")
    page.keyboard.type("B names the price.")
    page.keyboard.press("Enter")
    expect(page.locator(".messages")).to_contain_text("Your verdict stands.")
    expect(page.locator(".drawer .call")).to_contain_text("B better")
    page.keyboard.press("Escape")
    expect(page.locator("#drawer-title")).to_have_count(0)
    page.goto(reverse("comparison_detail", args=[compared.uid]) + "?a=up&size=25")
    expect(page.locator(".paging")).to_contain_text("1–25 of 25")
    page.goto(reverse("comparison_detail", args=[compared.uid]) + "?size=25")
    tab_to(page, "#page-older", most=200)
    page.keyboard.press("Enter")
    expect(page.locator(".row-link").first).to_have_text("26")
