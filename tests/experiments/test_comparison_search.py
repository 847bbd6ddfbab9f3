"""Searching a comparison finds the same rows by either way, page by page."""

from __future__ import annotations

import pytest

from experiments.models import ComparisonEvaluator, ExampleRevision, Judgment
from experiments.queries import comparison_search
from experiments.queries.comparison_search import search_rows
from experiments.queries.comparison_table import Cursor, judgments_of
from experiments.services.seeding import seed
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db
COUNT = 120


@pytest.fixture
def evaluator(workspace: Workspace) -> ComparisonEvaluator:
    made = seed(workspace, judgments=COUNT)
    found = made.comparison.evaluators.get()
    found.comparison = made.comparison
    return found


def plain(evaluator: ComparisonEvaluator, q: str, *outcomes: str) -> list[int]:
    """What a search without any cleverness finds."""
    rows = judgments_of(evaluator, outcomes=outcomes, q=q)
    return list(rows.order_by("position", "pk").values_list("pk", flat=True))


def walked(evaluator: ComparisonEvaluator, q: str, *outcomes: str) -> list[int]:
    """Every page after the other, and back again."""
    rows = judgments_of(evaluator)
    seen: list[int] = []
    after: Cursor | None = None
    while True:
        page = search_rows(evaluator, q, rows, outcomes=outcomes, size=7, after=after).page
        assert page.has_before == (after is not None)
        seen += [row.judgment.pk for row in page.rows]
        if not page.has_after:
            break
        after = page.rows[-1].cursor
    if seen:
        last = Judgment.objects.get(pk=seen[-1])
        back: list[int] = []
        before = Cursor(last.position, last.pk)
        while True:
            page = search_rows(evaluator, q, rows, outcomes=outcomes, size=7, before=before).page
            back = [row.judgment.pk for row in page.rows] + back
            if not page.has_before:
                break
            before = page.rows[0].cursor
        assert back == seen[:-1]
    return seen


@pytest.mark.parametrize("q", ["water", "WATER", "er", "zebra yellow", "topic_", "%", "xyz"])
@pytest.mark.parametrize("outcomes", [(), ("a",), ("tie", "flip"), ("fail",)])
def test_both_ways_find_what_a_plain_search_finds(
    evaluator: ComparisonEvaluator,
    monkeypatch: pytest.MonkeyPatch,
    q: str,
    outcomes: tuple[str, ...],
) -> None:
    expected = plain(evaluator, q, *outcomes)
    for probed, common in ((20, 0), (20, 10**6), (COUNT + 1, 0)):
        monkeypatch.setattr(comparison_search, "PROBED", probed)
        monkeypatch.setattr(comparison_search, "COMMON", common)
        assert walked(evaluator, q, *outcomes) == expected


def test_examples_whose_text_is_still_to_be_made_are_found(
    evaluator: ComparisonEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = plain(evaluator, "zebra")
    assert expected
    ExampleRevision.objects.update(search=None)
    for probed in (20, COUNT + 1):
        monkeypatch.setattr(comparison_search, "PROBED", probed)
        assert walked(evaluator, "zebra") == expected


def test_counts_are_exact_or_say_that_there_are_more(
    evaluator: ComparisonEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = judgments_of(evaluator)
    exact = search_rows(evaluator, "er", rows, size=25)
    assert not exact.more
    assert exact.counts.a == len(plain(evaluator, "er", "a"))
    assert exact.counts.total == len(plain(evaluator, "er"))
    monkeypatch.setattr(comparison_search, "PROBED", 20)
    monkeypatch.setattr(comparison_search, "COMMON", 0)
    bounded = search_rows(evaluator, "er", rows, size=25)
    assert bounded.more
    assert 0 < bounded.counts.total < exact.counts.total
