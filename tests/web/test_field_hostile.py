"""Markup, scripts and literal signs in everything that comes from outside, on every page."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from experiments.models import Comparison, Experiment, Feedback
from experiments.rawjson import dumps
from experiments.services.datasets import create_dataset
from experiments.services.examples import NewExample, add_examples
from tests.factories import judge, make_comparison, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]

HOSTILE = [
    "<script>window.__xss=1</script>",
    '<img src=x onerror="window.__xss=2">',
    "<svg/onload=window.__xss=3>",
    '[click](javascript:window.__xss=4) ![i](x" onerror="window.__xss=5)',
    "</script></textarea></title><script>window.__xss=6</script>",
    '<div hx-get="/" hx-trigger="load" hx-target="body">htmx</div>',
    '<button hx-delete="/datasets" hx-trigger="load delay:1s">x</button>',
    '<iframe srcdoc="<script>parent.__xss=7</script>"></iframe>',
    "<form action=//example.test><input name=csrfmiddlewaretoken>",
    "{{ 7*7 }} {% debug %} ${7*7} <%= 7*7 %>",
    "<style>body{display:none}</style>",
    "<!-- --><base href=//example.test><meta http-equiv=refresh content=0;url=//example.test>",
]
LITERAL = [
    "<answer>42</answer> is the tag I was asked for",
    "a < b and c > d, List<String> x; vector<int> v;",
    "It  costs $5 or $10, not $15.",
    "$$\\int_0^1 x\\,dx = \\tfrac12$$ and \\(a_1\\)",
    "# not a heading\n1. one\n1. one again\n* star\n_under_score_ __init__.py",
    "line one\nline two\n\n\n\n    four spaces\n\ttab",
    "`code` ```\nfence without end",
    "&lt;already escaped&gt; &amp;amp; &nbsp;",
    "C:\\temp\\new \\n is not a line break",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "https://example.test/?a=1&b=2 and mail a@example.test",
]


def load(workspace: Workspace, name: str, texts: list[str]) -> list[Experiment]:
    """A dataset whose inputs, references, metadata, outputs, errors and names say these texts."""
    dataset = create_dataset(workspace=workspace, name=name, description=name)
    examples = [
        NewExample(
            inputs=dumps({"question": text, "k<i>": text}),
            outputs=dumps({"answer": text}),
            metadata=dumps({text[:60]: text}),
            splits=[text[:60]],
        )
        for text in texts
    ]
    add_examples(dataset=dataset, examples=examples)
    again: list[str | Exception] = [f"{text} B" for text in texts[:-1]]
    return [
        make_experiment(dataset, texts, name=f"{name} A"),
        make_experiment(dataset, [*again, RuntimeError(texts[-1])], name=f"{name} B"),
    ]


@pytest.fixture
def hostile(workspace: Workspace) -> Comparison:
    systems = load(workspace, "xss <b>name</b> <img src=x onerror=window.__xss=8>", HOSTILE)
    for system in systems:
        for run, text in zip(system.runs.order_by("pk"), HOSTILE, strict=True):
            Feedback.objects.create(
                workspace=workspace, experiment=system, run_uid=run.uid, key="note <s>",
                score=1, comment=dumps(text),
            )  # fmt: skip
        system.metadata = {"prompt <i>": HOSTILE[1]}
        system.save()
    comparison = make_comparison(*systems)
    judge(comparison, ["a", "b", "tie"] * 3 + ["a", "b"], reason=HOSTILE[0] + HOSTILE[5])
    return comparison


def test_nothing_from_outside_runs_anywhere(alice_page: Page, hostile: Comparison) -> None:
    page, dataset = alice_page, hostile.dataset
    systems = list(dataset.experiments.order_by("pk"))
    both = urlencode({"exp": [str(one.uid) for one in systems]}, doseq=True)
    examples = [str(uid) for uid in dataset.examples.values_list("uid", flat=True)]
    view = reverse("comparison_detail", args=[hostile.uid])
    beside = f"{reverse('side_by_side', args=[dataset.uid])}?{both}&meta=all"
    detail = reverse("dataset_detail", args=[dataset.uid])
    addresses = [
        reverse("dataset_list"),
        f"{reverse('dataset_list')}?q={HOSTILE[1]}",
        detail,
        f"{detail}?row={examples[4]}",
        f"{detail}?q=%3Cscript%3E",
        reverse("dataset_experiments", args=[dataset.uid]),
        reverse("dataset_comparisons", args=[dataset.uid]),
        reverse("dataset_delete", args=[dataset.uid]),
        reverse("dataset_rename", args=[dataset.uid]),
        f"{reverse('experiment_list')}?{both}",
        f"{reverse('experiments_ticked')}?{both}&do=compare",
        f"{reverse('experiments_evaluate')}?{both}",
        reverse("experiment_detail", args=[systems[1].uid]),
        reverse("run_detail", args=[systems[1].runs.order_by("-pk")[0].uid]),
        reverse("dataset_scores", args=[dataset.uid]) + f"?{both}",
        *(f"{beside}&view={one}&row={examples[0]}" for one in ("text", "markdown", "json", "chat")),
        *(f"{beside}&diff={one}&row={examples[3]}" for one in ("base", "ref")),
        *(f"{view}?view={one}&row={examples[5]}" for one in ("text", "markdown", "json", "chat")),
        f"{view}?diff=1&row={examples[7]}",
        f"{view}?q={HOSTILE[2]}",
        reverse("comparison_report", args=[hostile.uid]),
    ]
    for address in addresses:
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        page.wait_for_timeout(100)
        assert page.evaluate("window.__xss") is None, address
        assert page.url.endswith(page.evaluate("location.pathname + location.search"))
        assert page.locator("base, iframe, main img, [hx-delete]").count() == 0, address
        expect(page.locator("main")).to_be_visible()
        links = page.eval_on_selector_all("a[href]", "all => all.map(one => one.protocol)")
        assert set(links) <= {"http:", "https:", "mailto:"}, address
    page.goto(view)
    page.wait_for_timeout(1500)
    shown = page.locator("main").inner_text()
    for text in HOSTILE[:11]:
        assert text in shown
    assert "{{ 7*7 }}" in shown


@pytest.fixture
def literal(workspace: Workspace) -> Comparison:
    systems = load(workspace, "literal", [*LITERAL, "last"])
    comparison = make_comparison(*systems)
    judge(comparison, ["tie"] * len(LITERAL))
    return comparison


def test_the_default_view_is_the_exact_text_and_copies_as_such(
    alice_page: Page, literal: Comparison
) -> None:
    page = alice_page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(reverse("comparison_detail", args=[literal.uid]))
    cells = page.locator(".judgments td.out:nth-child(4) .clamp")
    assert cells.evaluate_all("all => all.map(one => one.textContent)")[:-1] == LITERAL
    spaced = "all => all.map(one => getComputedStyle(one).whiteSpace)"
    assert set(cells.evaluate_all(spaced)) <= {"pre-wrap", "break-spaces"}
    for place in (0, 5, 7):
        page.locator(".row-link").nth(place).click()
        expect(page.locator("#drawer-title")).to_have_text(f"Row {place + 1}")
        assert page.locator("#output-a .text").text_content() == LITERAL[place]
        page.locator("[data-copy=output-a]").click()
        expect(page.locator("#live")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == LITERAL[place]
        page.keyboard.press("Escape")


def test_a_markdown_view_is_a_choice_and_keeps_tags_and_sums(
    alice_page: Page, literal: Comparison
) -> None:
    address = reverse("comparison_detail", args=[literal.uid])
    alice_page.goto(f"{address}?view=markdown")
    expect(alice_page.locator("#view-markdown")).to_have_attribute("aria-pressed", "true")
    cells = alice_page.locator(".judgments td.out:nth-child(4) .markdown")
    shown = [re.sub(r"\s+", " ", one) for one in cells.all_inner_texts()]
    for place in (0, 1, 10):
        assert shown[place].strip() == LITERAL[place]
    assert "$5 or $10, not $15." in shown[2]
    assert "fence without end" in shown[6]
