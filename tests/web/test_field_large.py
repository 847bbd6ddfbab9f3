"""Comparisons that are wide, and such whose outputs are long: pages stay small and quick."""

from __future__ import annotations

import re
import time

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db

SECONDS = 3
BYTES = 2_000_000
LONG = 300_000


def comparison_of(workspace: Workspace, ours: list[str], theirs: list[str]) -> Comparison:
    dataset = make_dataset(workspace, ["x"] * len(ours))
    made = make_comparison(make_experiment(dataset, ours), make_experiment(dataset, theirs))
    judge(made, ["a", "b"] * (len(ours) // 2))
    return made


def timed(client: Client, address: str) -> tuple[str, float]:
    """The page, and the quicker of two tries: the very first also loads libraries."""
    taken = []
    for _ in range(2):
        started = time.monotonic()
        page = client.get(address).content.decode()
        taken.append(time.monotonic() - started)
    return page, min(taken)


def both_views(comparison: Comparison) -> tuple[str, str]:
    exp = [str(one.uid) for one in comparison.dataset.experiments.order_by("pk")]
    return (
        reverse("comparison_detail", args=[comparison.uid]) + "?",
        reverse("side_by_side", args=[comparison.dataset.uid], query={"exp": exp}) + "&",
    )


def test_a_wide_comparison_is_paged_whatever_size_is_asked_for(
    client: Client, alice: User, workspace: Workspace
) -> None:
    client.force_login(alice)
    made = comparison_of(workspace, ["alpha"] * 400, ["beta"] * 400)
    for address in both_views(made):
        page, seconds = timed(client, f"{address}size=10000")
        rows = len(re.findall(r'<tr id="row-', page))
        assert rows == 100
        assert len(page) < BYTES
        assert seconds < SECONDS
        assert "1–100 of 400" in page


def test_long_outputs_are_cut_with_their_length_and_come_whole_in_the_drawer(
    client: Client, alice: User, workspace: Workspace
) -> None:
    client.force_login(alice)
    texts = [f"row {n} " + "lorem ipsum " * (LONG // 12) for n in range(60)]
    made = comparison_of(workspace, texts, [text.replace("ipsum", "dolor", 1) for text in texts])
    row = made.dataset.examples.order_by("pk")[3].uid
    for address in both_views(made):
        for query in ("", "diff=1&", "diff=base&", "view=markdown&", "view=json&", "view=chat&"):
            page, seconds = timed(client, address + query)
            assert len(page) < BYTES, query
            assert seconds < SECONDS, query
            assert re.search(r"300,0\d\d characters", page), query
        page, seconds = timed(client, f"{address}row={row}")
        assert texts[3].strip() in page
        for query in (f"diff=1&row={row}", f"diff=base&row={row}"):
            assert timed(client, address + query)[1] < 5


def test_two_long_texts_without_a_common_word_are_compared_or_given_up_politely(
    client: Client, alice: User, workspace: Workspace
) -> None:
    client.force_login(alice)
    ours = " ".join(f"a{n}" for n in range(LONG // 6))
    theirs = " ".join(f"b{n}" for n in range(LONG // 6))
    made = comparison_of(workspace, [ours] * 2, [theirs] * 2)
    row = made.dataset.examples.order_by("pk")[0].uid
    for address in both_views(made):
        for query in (f"diff=1&row={row}", f"diff=base&row={row}"):
            page, seconds = timed(client, address + query)
            assert seconds < 5
            assert "a777 " in page
