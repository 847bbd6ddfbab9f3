"""Numbers at the top follow from the rows below, the same on the page, in the API and in files."""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, Feedback, Judgment, Outcome
from experiments.services.examples import delete_examples
from tests.api.conftest import Call, call, call_as_stranger, call_as_viewer, endpoint
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tests.web.uploading import signed_in
from tiebreak.accounts.models import Role, User, Workspace

__all__ = ["call", "call_as_stranger", "call_as_viewer", "endpoint"]
pytestmark = pytest.mark.django_db(transaction=True)


def judged(workspace: Workspace, outcomes: list[str]) -> Comparison:
    dataset = make_dataset(workspace, ["x"] * len(outcomes))
    a = make_experiment(dataset, ["yes"] * len(outcomes))
    b = make_experiment(dataset, ["no"] * len(outcomes))
    comparison = make_comparison(a, b)
    judge(comparison, outcomes)
    return comparison


def page_of(alice: User, comparison: Comparison, query: str = "") -> str:
    address = reverse("comparison_detail", args=[comparison.uid])
    return signed_in(alice).get(address + query).content.decode()


def sentence_of(page: str) -> str:
    found = re.search(r'id="verdict-sentence">(.*?)</h2>', page, re.S)
    assert found
    return html.unescape(re.sub(r"<[^>]+>", "", found[1])).strip()


def facts_of(page: str) -> dict[str, str]:
    found = re.findall(r"<dt>([^<]+)</dt>\s*<dd>\s*([^<\s][^<]*)", page)
    return {label: value.strip() for label, value in found}


def file_counts(alice: User, comparison: Comparison) -> Counter[str]:
    address = reverse("comparison_export", args=[comparison.uid, "rows"])
    answer: Any = signed_in(alice).get(address, {"format": "csv"})
    text = b"".join(answer.streaming_content).decode()
    return Counter(row["outcome"] for row in csv.DictReader(io.StringIO(text, newline="")))


def everywhere(alice: User, call: Call, comparison: Comparison) -> tuple[int, int, int, str]:
    """Wins, losses, ties and the half-win rate, checked to be the same in all three places."""
    found = call("GET", f"/comparisons/{comparison.uid}").json()["evaluators"][0]
    counts, rows = found["counts"], file_counts(alice, comparison)
    a, b, tie = counts["a"], counts["b"], counts["tie"]
    assert (rows["a"], rows["b"], rows["tie"]) == (a, b, tie)
    half = next(one for one in found["verdict"]["figures"] if one["key"] == "half_win_rate")
    assert half["value"] == pytest.approx((a + tie / 2) / (a + b + tie))
    page = page_of(alice, comparison)
    assert facts_of(page)["Win rate, ties as half"] == half["text"]
    assert found["verdict"]["sentence"] == sentence_of(page)
    address = reverse("comparison_report_file", args=[comparison.uid])
    answer: Any = signed_in(alice).get(address)
    file = html.unescape(b"".join(answer.streaming_content).decode())
    assert f'<p class="sentence">{found["verdict"]["sentence"]}</p>' in file
    for side, count in (("a", a), ("b", b), ("tie", tie)):
        assert re.search(rf'id="out-{side}".*?<span class="count">{count}</span>', page, re.S)
    return a, b, tie, half["text"]


def test_the_headline_follows_every_change_of_the_rows(
    alice: User, call: Call, workspace: Workspace
) -> None:
    comparison = judged(workspace, ["a"] * 37 + ["b"] * 41 + ["tie"] * 2)
    assert everywhere(alice, call, comparison) == (37, 41, 2, "47.5%")
    filtered = page_of(alice, comparison, "?out=a")
    assert len(re.findall(r'<tr id="row-', filtered)) == 37
    assert "of the 78 examples" in sentence_of(filtered)

    lost, turned = rows(comparison, "b")[:2]
    by_hand(alice, comparison, lost, "missing")
    assert everywhere(alice, call, comparison) == (37, 40, 2, "48.1%")
    by_hand(alice, comparison, turned, "a", "A is right")
    assert everywhere(alice, call, comparison) == (38, 39, 2, "49.4%")
    even = rows(comparison, "tie")[0]
    delete_examples(dataset=comparison.dataset, uids=[even.pair.example_uid])
    assert everywhere(alice, call, comparison) == (38, 39, 1, "49.4%")
    assert page_of(alice, comparison).count("The example was deleted.") <= 1
    missing = page_of(alice, comparison, "?out=missing")
    assert "The example was deleted." in missing
    assert "Left out by hand" in missing


def rows(comparison: Comparison, outcome: str) -> list[Judgment]:
    found = Judgment.objects.filter(comparison=comparison, outcome=outcome)
    return list(found.select_related("pair", "evaluator").order_by("position"))


def by_hand(
    alice: User, comparison: Comparison, row: Judgment, outcome: str, reason: str = ""
) -> Any:
    address = reverse("set_verdict", args=[comparison.uid, row.pair.example_uid])
    body = {"ev": row.evaluator.key, "outcome": outcome, "reason": reason}
    return signed_in(alice).post(address, body)


def test_a_verdict_set_by_hand_is_seen_as_such_and_the_games_stay(
    alice: User, workspace: Workspace
) -> None:
    comparison = judged(workspace, ["b", "b"])
    row = rows(comparison, "b")[0]
    answer = by_hand(alice, comparison, row, "a", "<b>better</b>")
    page = signed_in(alice).get(answer.headers["Location"]).content.decode()
    assert "set by hand by alice" in page
    assert "&lt;b&gt;better&lt;/b&gt;" in page
    assert row.games.count() == 2
    scores = dict(row.scores.values_list("position", "score"))
    assert scores == {0: 1.0, 1: 0.0}
    kept = Feedback.objects.filter(comparison_uid=comparison.uid, run_uid__in=row.pair.run_uids)
    assert set(kept.values_list("score", flat=True)) == {0.0, 1.0}


def test_what_cannot_be_set_says_why(alice: User, workspace: Workspace) -> None:
    comparison = judged(workspace, ["b", "pending"])
    decided, waiting = rows(comparison, "b")[0], rows(comparison, "pending")[0]
    for row, outcome, words in (
        (decided, "nonsense", "must be one of"),
        (waiting, "a", "still to be judged"),
    ):
        browser = signed_in(alice)
        address = reverse("set_verdict", args=[comparison.uid, row.pair.example_uid])
        body = {"ev": row.evaluator.key, "outcome": outcome}
        assert words in browser.post(address, body, follow=True).content.decode()
    assert rows(comparison, "b") == [decided]


def test_viewers_and_strangers_set_nothing(
    client: Client, mallory: User, alice: User, workspace: Workspace
) -> None:
    comparison = judged(workspace, ["b"])
    (row,) = rows(comparison, "b")
    assert by_hand(mallory, comparison, row, "a").status_code == 404
    alice.memberships.update(role=Role.VIEWER)
    assert by_hand(alice, comparison, row, "a").status_code == 403
    assert "Set the verdict by hand" not in page_of(
        alice, comparison, f"?row={row.pair.example_uid}"
    )


def test_the_api_sets_verdicts_too(call: Call, workspace: Workspace) -> None:
    comparison = judged(workspace, ["b"])
    (row,) = rows(comparison, "b")
    path = f"/comparisons/{comparison.uid}/rows/{row.pair.example_uid}/verdict"
    answer = call("POST", path, json={"outcome": "both_good", "reason": "fine"})
    assert (answer.status_code, answer.json()["outcome"]) == (200, "both_good")
    assert "both_good" in call("POST", path, json={"outcome": "c"}).text
    assert call("POST", f"{path}x", json={"outcome": "a"}).status_code == 404


def test_many_ties_are_never_a_loss(alice: User, call: Call, workspace: Workspace) -> None:
    comparison = judged(workspace, ["a"] * 2 + ["b"] * 2 + ["tie"] * 76)
    assert everywhere(alice, call, comparison) == (2, 2, 76, "50.0%")
    page = page_of(alice, comparison)
    assert not re.search(r"[^0-9]2[.]5%", page)
    assert "each tie counted as half a win" in sentence_of(page)


def test_nothing_decided_is_a_dash_never_a_number(
    alice: User, call: Call, workspace: Workspace
) -> None:
    ties = judged(workspace, ["tie"] * 20)
    assert "20 ties, none decided" in sentence_of(page_of(alice, ties))
    assert facts_of(page_of(alice, ties))["Share of decided rows"] == "–"
    failures = judged(workspace, ["failed"] * 5)
    page = page_of(alice, failures)
    assert "5 failed" in sentence_of(page)
    assert facts_of(page)["Win rate, ties as half"] == "–"
    for comparison in (ties, failures):
        found = call("GET", f"/comparisons/{comparison.uid}")
        assert found.json()["evaluators"][0]["verdict"]["p_value"] is None
        assert "NaN" not in found.text
        report = call("GET", f"/comparisons/{comparison.uid}/report")
        assert report.status_code == 200
        assert "NaN" not in report.text
        assert "NaN" not in page_of(alice, comparison)


def test_an_experiment_without_runs_has_nothing_to_compare(
    alice: User, call: Call, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["x"] * 3)
    empty, other = make_experiment(dataset, ["no"] * 3), make_experiment(dataset, ["no"] * 3)
    empty.runs.all().delete()
    for ids, words in (([empty.uid, other.uid], "in common"), ([other.uid, other.uid], "differ")):
        body = {
            "experiment_ids": [str(uid) for uid in ids],
            "evaluators": ["nearer_by_string_distance"],
        }
        answer = call("POST", "/comparisons", json=body)
        assert answer.status_code == 422
        assert words in answer.text


def test_three_of_three_is_not_settled(alice: User, call: Call, workspace: Workspace) -> None:
    comparison = judged(workspace, ["a"] * 3)
    sentence = sentence_of(page_of(alice, comparison))
    assert sentence.startswith("Not settled")
    assert "44–100%" in sentence
    assert "p = 0.25" in sentence
    found = call("GET", f"/comparisons/{comparison.uid}").json()["evaluators"][0]["verdict"]
    assert (found["outcome"], found["few_rows"]) == ("not_settled", True)


def test_a_pending_row_of_a_deleted_example_is_no_longer_asked(workspace: Workspace) -> None:
    comparison = judged(workspace, ["a", "pending"])
    assert comparison.job is not None
    (row,) = rows(comparison, "pending")
    comparison.job.items.get_or_create(
        evaluator=row.evaluator.evaluator, target=row.pk, defaults={"rank": 1}
    )
    delete_examples(dataset=comparison.dataset, uids=[row.pair.example_uid])
    assert comparison.job.items.count() == 0
    row.refresh_from_db()
    assert row.outcome == Outcome.MISSING
