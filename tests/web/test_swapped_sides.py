"""The comparison seen from the other side: an address that exchanges A and B everywhere."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, Game, Judgment, Outcome
from experiments.queries.mirroring import mirrored_report
from experiments.services.reports import current_report
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db
OUTCOMES = ["a"] * 7 + ["b", "b", "tie", "failed"]


@pytest.fixture
def comparison(workspace: Workspace) -> Comparison:
    """A wins seven of nine; the last example has no run of B. A's answers grow longer."""
    dataset = make_dataset(workspace, ["x"] * 12, splits=[["odd"], ["even"]] * 6)
    a = make_experiment(dataset, [f"alpha {'x' * n}" for n in range(12)], name="one")
    b = make_experiment(dataset, [*(f"beta {n}" for n in range(11)), None], name="two")
    made = make_comparison(a, b)
    judge(made, OUTCOMES)
    return made


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def page(client: Client, comparison: Comparison, query: str = "") -> str:
    address = reverse("comparison_detail", args=[comparison.uid])
    return client.get(address + query).content.decode()


def rows(shown: str) -> list[tuple[str, str]]:
    return re.findall(r'<tr id="row-(\d+)" data-outcome="(\w+)"', shown)


def count(shown: str, key: str) -> int:
    found = re.search(rf'id="out-{key}".*?<span class="count">(\d+)', shown, re.DOTALL)
    assert found
    return int(found[1])


def swapped_address(shown: str) -> str:
    found = re.search(r'id="swap" href="[^"?]*([^"]*)"', shown)
    assert found
    return found[1].replace("&amp;", "&")


def test_everything_is_mirrored(alice_client: Client, comparison: Comparison) -> None:
    plain = page(alice_client, comparison)
    address = swapped_address(plain)
    assert address == "?swap=1"
    mirror = page(alice_client, comparison, address)
    assert "<h1>one vs two</h1>" in plain
    assert "<h1>two vs one</h1>" in mirror
    other = {"a": "b", "b": "a"}
    assert rows(mirror) == [(pk, other.get(one, one)) for pk, one in rows(plain)]
    for key in ("a", "b"):
        assert count(mirror, key) == count(plain, other[key])
    assert count(mirror, "tie") == count(plain, "tie")
    for shown, first in ((plain, "alpha"), (mirror, "beta")):
        cell = re.search(r'data-label="A · \w+"[^>]*><div[^>]*>(\w+)', shown)
        assert cell
        assert cell[1] == first
    sentence = re.compile(r'id="verdict-sentence">(.+?)</h2>')
    told, mirrored = (re.sub("<[^>]+>", "", sentence.findall(one)[0]) for one in (plain, mirror))
    assert told == mirrored
    assert "B has no run" in plain
    assert "A has no run" in mirror
    assert "B has no run" not in mirror
    assert swapped_address(mirror) in ("", "?")


@pytest.mark.parametrize("query", ["?out=a", "?a=up", "?split=odd&b=up", "?out=a&out=tie", "?q=b"])
def test_filters_keep_their_rows(alice_client: Client, comparison: Comparison, query: str) -> None:
    plain = page(alice_client, comparison, query)
    mirror = page(alice_client, comparison, swapped_address(plain))
    assert [pk for pk, _ in rows(mirror)] == [pk for pk, _ in rows(plain)]
    assert swapped_address(mirror).replace("swap=1", "") == query


def test_a_filter_pressed_on_the_mirrored_page_says_what_it_shows(
    alice_client: Client, comparison: Comparison
) -> None:
    mirror = page(alice_client, comparison, "?swap=1&out=a")
    assert [one for _, one in rows(mirror)] == ["a", "a"]
    assert re.search(r'id="out-a"[^>]*aria-pressed="true"', mirror)
    assert re.search(r'id="thumb-b-down"[^>]*aria-pressed="true"', mirror)
    assert 'name="swap" value="1"' in mirror
    exported = alice_client.get(
        reverse("comparison_export", args=[comparison.uid, "rows"]) + "?swap=1&out=a&format=jsonl"
    )
    assert len(exported.getvalue().decode().splitlines()) == 2


def test_a_verdict_set_there_is_stored_the_right_way_round(
    alice_client: Client, comparison: Comparison
) -> None:
    evaluator = comparison.evaluators.get()
    row = Judgment.objects.filter(comparison=comparison, outcome=Outcome.TIE).get()
    answer = alice_client.post(
        reverse("set_verdict", args=[comparison.uid, row.pair.example_uid]),
        {"ev": evaluator.key, "outcome": "a", "swap": "1"},
    )
    row.refresh_from_db()
    assert row.outcome == Outcome.B
    assert "swap=1" in answer.headers["Location"]
    drawer = alice_client.get(answer.headers["Location"]).content.decode()
    assert re.search(r"<b>A better</b> <span[^>]*>set by hand", drawer)


def test_games_name_the_sides_as_the_page_does(
    alice_client: Client, comparison: Comparison
) -> None:
    row = Judgment.objects.filter(comparison=comparison, outcome=Outcome.A)[0]
    assert Game.objects.filter(judgment=row).exists()
    key = row.pair.example_uid
    assert "order shown: A, then B" in page(alice_client, comparison, f"?row={key}")
    assert "order shown: B, then A" in page(alice_client, comparison, f"?swap=1&row={key}")
    filtered = page(alice_client, comparison, f"?swap=1&out=tie&row={key}")
    assert "order shown: B, then A" in filtered


def test_the_report_is_mirrored_and_twice_mirrored_the_same(
    alice_client: Client, comparison: Comparison
) -> None:
    evaluator = comparison.evaluators.get()
    evaluator.comparison = comparison
    report = current_report(evaluator)
    mirror = mirrored_report(report)
    assert mirror.examples == (report.examples[1], report.examples[0], report.examples[2])
    for ours, theirs in zip(mirror.splits, report.splits, strict=True):
        assert (ours.a, ours.b, ours.ties) == (theirs.b, theirs.a, theirs.ties)
        assert ours.rate == pytest.approx(1 - (theirs.rate or 0))
    assert mirror.lengths[0].a == report.lengths[-1].b
    assert mirror.lengths[0].name.startswith(("-", "+"))
    again = mirrored_report(mirror)
    assert again.examples == report.examples
    assert [one.name for one in again.lengths] == [one.name for one in report.lengths]
    assert again.running.rate == pytest.approx(report.running.rate)
    address = reverse("comparison_report", args=[comparison.uid])
    assert "two vs one" in alice_client.get(address, {"swap": "1"}).content.decode()
