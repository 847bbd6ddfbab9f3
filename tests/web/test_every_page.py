"""Every page that links lead to: it answers, is accessible in both themes, and fits a phone.

The crawl begins at the dataset list of a workspace with everything in it and follows every link and
every control that only shows something; console errors and requests to elsewhere fail it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Page, ViewportSize
from pytest_django.live_server_helper import LiveServer

from experiments.models import Comparison, Feedback, SharedLink
from experiments.services.evaluators import configure_evaluator
from experiments.services.sharing import share_comparison
from tests.factories import (
    judge,
    make_comparison,
    make_dataset,
    make_experiment,
    make_provider,
)
from tiebreak.accounts.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.slow]

HOSTILE = '<img src=x onerror="window.__xss=1"> {{ 7*7 }} \u202e "quoted" \x01'
ALIKE = 2
NARROW: ViewportSize = {"width": 400, "height": 800}
WIDE: ViewportSize = {"width": 1440, "height": 900}
# What ends the session, writes a file, or only differs in its place of the same list.
LEFT_OUT = re.compile(
    r"/sign-out|/export|format=|/openapi|/api/|[?&](after|before|n|size|row|a|b|out|diff|view|rate"
    r"|rule|adj|swap|won|only|in|lacks|meta(\.[^=]*)?)=|/static/|#"
)


@pytest.fixture
def filled(workspace: Workspace) -> Comparison:
    count = 60
    dataset = make_dataset(
        workspace,
        [f"{HOSTILE} {n}" for n in range(count)],
        splits=[["even" if n % 2 else "odd"] for n in range(count)],
    )
    names = ("one " + HOSTILE.replace("\x01", ""), "two", "three")
    one, two, three = (
        make_experiment(dataset, [f"# {name}\n\n{HOSTILE} {n}" for n in range(count)], name=name)
        for name in names
    )
    for system in (one, two):
        Feedback.objects.bulk_create(
            Feedback(
                workspace=workspace, experiment=system, run_uid=run.uid, key="correct", score=n % 2,
                score_text=str(n % 2),
            )
            for n, run in enumerate(system.runs.order_by("pk"))
        )  # fmt: skip
    make_provider(workspace, "http://127.0.0.1:9/v1")
    configure_evaluator(
        workspace=workspace, kind="nearer_by_string_distance", settings={"tolerance": 0.1}
    )
    comparison = make_comparison(one, two, order="both")
    judge(comparison, ["a"] * 30 + ["b"] * 15 + ["tie"] * 10 + ["flip"] * 3 + ["failed"] * 2)
    judge(make_comparison(two, three), ["a"] * 25 + ["b"] * 20 + ["tie"] * 15)
    share_comparison(comparison=comparison, shows="reasons")
    return comparison


def shape(path: str) -> str:
    """The path with what names single things taken out: pages of one shape are alike."""
    return re.sub(r"[0-9a-f-]{36}|(?<=/new/)\w+", "*", path)


def crawl(page: Page, starts: Sequence[str]) -> Iterator[str]:
    """Addresses below our server that links lead to, a few of each shape, breadth first."""
    shapes: Counter[str] = Counter()
    seen, waiting = set(starts), list(starts)
    while waiting:
        path = waiting.pop(0)
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, f"{path} answers {answer.status}"
        yield path
        found = page.eval_on_selector_all(
            "a[href]", "links => links.map(link => link.getAttribute('href'))"
        )
        for target in found:
            new = target.startswith("/") and target not in seen and not LEFT_OUT.search(target)
            if new and shapes[shape(target)] < ALIKE:
                shapes[shape(target)] += 1
                seen.add(target)
                waiting.append(target)


def side_by_side_of(comparison: Comparison) -> str:
    exp = [str(row.uid) for row in comparison.dataset.experiments.order_by("pk")]
    return reverse("side_by_side", args=[comparison.dataset.uid], query={"exp": exp})


def starts_of(comparison: Comparison) -> list[str]:
    """The first page, and what no plain link leads to: open drawers, filters, what is ticked."""
    dataset, beside = comparison.dataset, side_by_side_of(comparison)
    row = dataset.examples.order_by("pk")[0].uid
    exp = beside.partition("?")[2]
    detail = reverse("dataset_detail", args=[dataset.uid])
    view = reverse("comparison_detail", args=[comparison.uid])
    return [
        reverse("dataset_list"),
        f"{beside}&diff=base&row={row}",
        f"{beside}&won=better.2.correct&meta=all&only=differing",
        f"{detail}?row={row}",
        f"{detail}?row=new",
        f"{detail}?example={row}",
        f"{view}?swap=1&view=chat&row={row}",
        f"{reverse('experiment_list')}?{exp}",
        f"{reverse('experiments_evaluate')}?{exp}",
    ]


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_every_page_answers_is_accessible_and_fits(alice_page: Page, filled: Comparison) -> None:
    wrong: list[str] = []
    visited = []
    for path in crawl(alice_page, starts_of(filled)):
        visited.append(path)
        for scheme in ("light", "dark"):
            alice_page.emulate_media(color_scheme=scheme)
            wrong += [f"{path} ({scheme}) {told}" for told in violations(alice_page)]
        alice_page.set_viewport_size(NARROW)
        over = alice_page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        if over > 0:
            wrong.append(f"{path} is {over} px too wide at 400 px")
        alice_page.set_viewport_size(WIDE)
        assert alice_page.evaluate("window.__xss") is None
    assert len(visited) > 30, "\n".join(visited)
    assert wrong == []


@pytest.mark.parametrize(("place", "least"), [("judged", 16), ("beside", 11)])
def test_every_switch_of_a_view_changes_what_is_seen(
    alice_page: Page, filled: Comparison, place: str, least: int
) -> None:
    views = {
        "judged": reverse("comparison_detail", args=[filled.uid]),
        "beside": side_by_side_of(filled),
    }
    address = views[place]
    alice_page.goto(address)
    buttons = alice_page.eval_on_selector_all(
        f"#{place} a[role=button]", "links => links.map(link => link.id)"
    )
    assert len(buttons) >= least
    dead = []
    for name in buttons:
        alice_page.goto(address)
        control = alice_page.locator(f"[id='{name}']")
        pressed = control.get_attribute("aria-pressed")
        before = alice_page.inner_html(f"#{place}")
        with alice_page.expect_response(lambda answer: answer.ok):
            control.click()
        if pressed == "false" and not changes(alice_page, address, place, before):
            dead.append(name)
    assert dead == []


def changes(page: Page, address: str, place: str, before: str) -> bool:
    """Whether address and view become others, however busy the machine is."""
    for _ in range(50):
        moved = page.url.split(address)[-1] not in ("", "?")
        if moved and page.inner_html(f"#{place}") != before:
            return True
        page.wait_for_timeout(100)
    return False


def test_the_shared_page_is_as_accessible(
    alice_page: Page, filled: Comparison, live_server: LiveServer
) -> None:
    alice_page.goto(reverse("shared_comparison", args=[SharedLink.objects.get().token]))
    for scheme in ("light", "dark"):
        alice_page.emulate_media(color_scheme=scheme)
        assert violations(alice_page) == []
