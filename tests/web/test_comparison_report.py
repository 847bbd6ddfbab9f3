"""The report on its page and over the API: the same numbers, hidden from strangers."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from playwright.sync_api import Page, expect

from experiments.models import Comparison, Judgment, Outcome
from experiments.queries.judging_report import report_of
from experiments.services import reports
from experiments.services.judgment_rows import Decided
from experiments.services.judgments import record_judgments
from experiments.verdicts import Verdict
from tests.factories import judge, make_comparison, make_dataset, make_experiment, make_key
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged(workspace: Workspace) -> Comparison:
    outcomes = ["a"] * 14 + ["b"] * 4 + ["tie"] * 3 + ["failed"]
    splits = [["easy" if n < 10 else "hard"] for n in range(22)]
    dataset = make_dataset(workspace, ["x"] * 22, splits=splits)
    a = make_experiment(dataset, ["a" * (n + 2) for n in range(22)], name="one")
    b = make_experiment(dataset, ["b" * (40 - n) for n in range(22)], name="two")
    comparison = make_comparison(a, b, order="random")
    judge(comparison, outcomes)
    return comparison


def address(comparison: Comparison) -> str:
    return reverse("comparison_report", args=[comparison.uid])


def test_page_and_api_show_the_same_numbers(
    client: Client, alice: User, judged: Comparison, api_key: str
) -> None:
    client.force_login(alice)
    page = client.get(address(judged)).content.decode()
    answer = client.get(f"/api/v1/comparisons/{judged.uid}/report", headers={"x-api-key": api_key})
    told = answer.json()
    expected = report_of(judged, judged.evaluators.get()).as_dict()
    assert told.pop("computed_with").keys() == {"evalica", "numpy", "scipy"}
    assert told == {"evaluator": judged.evaluators.get().key, **json.loads(json.dumps(expected))}
    for section in told["sections"]:
        for figure in section["figures"]:
            assert figure["label"] in unescape(page)
            assert figure["text"] in unescape(page)
    for part in told["lengths"]:
        assert f">{part['name']}</th>" in page
    for part in told["splits"]:
        assert f'&amp;split={part["name"]}">{part["name"]}</a></th>' in page
    assert "NaN" not in page


def test_each_number_tells_what_it_was_computed_from(
    client: Client, alice: User, judged: Comparison, api_key: str
) -> None:
    client.force_login(alice)
    card = client.get(reverse("comparison_detail", args=[judged.uid])).content.decode()
    file = client.get(
        reverse("comparison_report_file", args=[judged.uid])
    ).getvalue().decode()  # fmt: skip
    for text in (card, file):
        assert "n = 18 · wilson_interval" in text
        assert "wins = 14, n = 18, confidence = 0.95" in text
    told = client.get(f"/api/v1/comparisons/{judged.uid}", headers={"x-api-key": api_key}).json()
    for name, version in told["computed_with"].items():
        assert f"{name} {version}" in file
    assert "wins = 14, n = 18, confidence = 0.95" in client.get(address(judged)).content.decode()


def test_it_says_why_there_is_no_rate_at_equal_length(
    client: Client, alice: User, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["x"] * 3)
    sides = [make_experiment(dataset, [word * n for n in (1, 3, 5)]) for word in ("a", "bb")]
    comparison = make_comparison(*sides)
    judge(comparison, ["a"] * 3)
    client.force_login(alice)
    page = client.get(reverse("comparison_detail", args=[comparison.uid]), {"adj": "length"})
    assert "Length alone separates wins from losses" in page.content.decode()


def test_a_report_that_is_behind_does_not_count_outcomes_twice(
    client: Client, alice: User, judged: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(reverse("comparison_detail", args=[judged.uid])).status_code == 200
        return sum("experiments_outcomedelta" in query["sql"] for query in queries)

    client.force_login(alice)
    counted()
    with_report = counted()
    monkeypatch.setattr(reports, "ADDED_UP_AT_ONCE", 2)
    won = Judgment.objects.filter(comparison=judged, outcome="b").order_by("pk")[0]
    record_judgments(judged, [Decided(won.pk, Verdict(Outcome.A), [])])
    assert counted() == with_report


def test_its_headings_leave_no_level_out(client: Client, alice: User, judged: Comparison) -> None:
    client.force_login(alice)
    page = client.get(address(judged)).content.decode()
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_fragment_is_the_report_alone(client: Client, alice: User, judged: Comparison) -> None:
    client.force_login(alice)
    fragment = client.get(address(judged), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in fragment
    assert "First slot wins" in fragment
    assert "<script" not in fragment


def test_it_is_hidden_from_strangers(
    client: Client, mallory: User, judged: Comparison, other_workspace: Workspace
) -> None:
    client.force_login(mallory)
    assert client.get(address(judged)).status_code == 404
    key = make_key(other_workspace)
    path = f"/api/v1/comparisons/{judged.uid}/report"
    assert client.get(path, headers={"x-api-key": key}).status_code == 404


def test_an_unknown_evaluator_is_named(client: Client, judged: Comparison, api_key: str) -> None:
    path = f"/api/v1/comparisons/{judged.uid}/report?evaluator=nobody"
    assert client.get(path, headers={"x-api-key": api_key}).status_code == 404


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_plots_are_drawn_under_the_strict_policy(alice_page: Page, judged: Comparison) -> None:
    page = alice_page
    page.goto(f"/comparisons/{judged.uid}")
    page.locator("details.report > summary").click()
    plots = page.locator(".plot[data-drawn]")
    expect(plots).to_have_count(3)
    assert page.locator(".plot .main-svg path.js-line").count() >= 1
    for n in range(3):
        box = plots.nth(n).bounding_box()
        svg = plots.nth(n).locator(".main-svg").first.bounding_box()
        assert box is not None
        assert svg is not None
        assert svg["width"] == pytest.approx(box["width"], abs=2)
    assert page.locator(".report-body table tbody tr").count() >= 2
    # The report stays open while the table below it is filtered.
    page.locator("#out-a").click()
    expect(page.locator("tr[data-outcome]")).to_have_count(14)
    expect(page.locator("details.report")).to_have_attribute("open", "")
    expect(plots).to_have_count(3)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found] == []


def test_the_vendored_library_is_the_one_that_is_listed() -> None:
    from hashlib import sha256
    from pathlib import Path

    folder = Path(__file__).resolve().parents[2] / "static/vendor"
    listed = re.findall(r"^(\S+\.js) .* ([0-9a-f]{64})$", (folder / "VENDOR").read_text(), re.M)
    assert {name for name, _ in listed} >= {"plotly-basic.min.js"}
    for name, digest in listed:
        assert sha256((folder / name).read_bytes()).hexdigest() == digest
