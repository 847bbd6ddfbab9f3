"""Outputs as text, Markdown or JSON, what differs between two, and rows by their metadata."""

from __future__ import annotations

import json
import re
import time

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison
from experiments.services.examples import NewExample, add_examples
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace
from tiebreak.rendering import Piece, differences, markdown_html

HOSTILE = """# Title
<script>window.__xss = 1</script> <img src=x onerror="window.__xss = 1"> ![](http://evil.example/x.png)
[click](javascript:alert(1)) [ok](https://example.org) <b hx-get="/x" hx-trigger="load">b</b>
| a | b |
|---|---|
| 1 | 2 |
"""


def test_markdown_is_made_harmless() -> None:
    html = markdown_html(HOSTILE)
    assert "<h1>Title</h1>" in html
    assert "<table>" in html
    assert 'href="https://example.org"' in html
    for bad in ("<script", "<img", 'javascript:alert(1)"', "<b hx-get", 'evil.example/x.png"'):
        assert bad not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("a", "b", "ours", "theirs"),
    [
        ("one two", "one two", [], []),
        ("one two three", "one 2 three", ["two"], ["2"]),
        ("", "all new", [], ["all new"]),
        ("naïve café", "naive café", ["naïve"], ["naive"]),
    ],
)
def test_what_differs_is_found_by_words(a: str, b: str, ours: list[str], theirs: list[str]) -> None:
    found = differences(a, b)
    assert found is not None
    for pieces, text, changed in ((found[0], a, ours), (found[1], b, theirs)):
        assert "".join(piece.text for piece in pieces) == text
        assert [piece.text for piece in pieces if piece.differs] == changed


def test_very_long_texts_end_soon() -> None:
    a = "word " * 60_000
    started = time.monotonic()
    lines = differences("".join(f"line {n}\n" for n in range(20_000)), "line 7\n" * 20_000)
    assert lines is None or Piece("line 7\n", differs=False) in lines[0]
    assert differences(a, a.replace("word", "sword")) is not None
    assert time.monotonic() - started < 5


pytestmark = pytest.mark.django_db


@pytest.fixture
def compared(workspace: Workspace) -> Comparison:
    dataset = make_dataset(workspace, [])
    topics = ["maths", 7, "maths", None]
    add_examples(
        dataset=dataset,
        examples=[
            NewExample('{"q": "x"}', '{"answer": "r"}', json.dumps({"topic": topic}))
            for topic in topics
        ],
    )
    a = make_experiment(dataset, ["# red fox", "2", HOSTILE, '{"b": 1, "a": [1, 2]}'])
    b = make_experiment(dataset, ["# red dog", "2", "plain", '{"b": 2, "a": [1, 2]}'])
    comparison = make_comparison(a, b)
    judge(comparison, ["a", "b", "tie", "a"])
    return comparison


def page(client: Client, comparison: Comparison, query: str = "") -> str:
    return client.get(reverse("comparison_detail", args=[comparison.uid]) + query).content.decode()


def test_text_is_exact_until_markdown_is_asked_for(
    client: Client, alice: User, compared: Comparison
) -> None:
    client.force_login(alice)
    assert "# red fox" in page(client, compared)
    shown = page(client, compared, "?view=markdown")
    assert "<h1>red fox</h1>" in shown
    assert "<script>window" not in shown
    assert "<b hx-get" not in shown
    assert 'id="view-markdown"' in shown


def test_json_is_laid_out(client: Client, alice: User, compared: Comparison) -> None:
    client.force_login(alice)
    assert "{\n  &quot;b&quot;: 1," in page(client, compared, "?view=json")


def test_what_differs_is_marked_in_the_table_and_the_drawer(
    client: Client, alice: User, compared: Comparison
) -> None:
    client.force_login(alice)
    row = compared.pairs.order_by("position")[0].example_uid
    shown = page(client, compared, f"?diff=1&row={row}")
    assert shown.count("# red <mark>fox</mark>") == 2
    assert shown.count("# red <mark>dog</mark>") == 2
    assert "<mark>" not in page(client, compared)
    assert "diff=1" in re.search(r'id="out-a" href="([^"]+)"', shown)[1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("query", "rows"),
    [("?meta.topic=maths", 2), ("?meta.topic=7", 1), ("?meta.topic=x", 0), ("?meta.nothing=1", 0)],
)
def test_rows_are_found_by_their_metadata(
    client: Client, alice: User, compared: Comparison, query: str, rows: int
) -> None:
    client.force_login(alice)
    shown = page(client, compared, query)
    assert len(re.findall(r'<tr id="row-', shown)) == rows
    assert (
        f'id="out-all" href="{reverse("comparison_detail", args=[compared.uid])}{query}"' in shown
    )
    assert "Remove the filter" in shown


def test_the_drawer_leads_to_both_traces(client: Client, alice: User, compared: Comparison) -> None:
    client.force_login(alice)
    pair = compared.pairs.order_by("position")[1]
    shown = page(client, compared, f"?row={pair.example_uid}")
    for uid in pair.run_uids:
        assert reverse("run_detail", args=[uid]) in shown
    assert ">Row 2<" in shown
