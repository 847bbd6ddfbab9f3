"""The switches of the verdict card: how rows are counted, in the address."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, Game, Judgment
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def swapped(workspace: Workspace) -> Comparison:
    """Twelve rows in both orders: A won 2 twice, B 1; three hang on the order, six are A or tie."""
    dataset = make_dataset(workspace, ["x"] * 12)
    a, b = make_experiment(dataset, ["long one"] * 12), make_experiment(dataset, ["short"] * 12)
    comparison = make_comparison(a, b, order="both")
    judge(comparison, ["a", "a", "b", *["tie"] * 9])
    rows = Judgment.objects.filter(comparison=comparison).order_by("position")
    for number, row in enumerate(rows):
        first, second = row.pair.run_uids[:2]
        games = Game.objects.filter(judgment=row)
        if number >= 6:
            games.update(winner=first, verdict="first")
        winner = {0: first, 1: first, 2: second}.get(number)
        verdict = "tie" if winner is None else "second" if winner == first else "first"
        Game.objects.create(
            judgment=row, number=1, order_shown=[second, first], winner=winner, verdict=verdict
        )
    return comparison


def page(client: Client, comparison: Comparison, query: str = "") -> str:
    return client.get(reverse("comparison_detail", args=[comparison.uid]) + query).content.decode()


def test_the_lenient_rule_counts_what_one_order_says(
    client: Client, alice: User, swapped: Comparison
) -> None:
    client.force_login(alice)
    strict, lenient = page(client, swapped, "?rate=decided"), page(client, swapped, "?rule=lenient")
    assert "in 2 of the 3 examples" in strict
    assert "in 8 of the 9 examples" in lenient
    assert "Lenient rule" in lenient
    assert "Lenient rule" not in strict


def test_ties_can_be_counted_as_half(client: Client, alice: User, swapped: Comparison) -> None:
    client.force_login(alice)
    assert "54.2% of 12 examples" in page(client, swapped, "?rate=half")
    assert "54.2% of 12 examples" not in page(client, swapped, "?rate=decided")


def test_a_switch_keeps_the_filters_and_filters_keep_the_switch(
    client: Client, alice: User, swapped: Comparison
) -> None:
    client.force_login(alice)
    found = page(client, swapped, "?out=tie&rule=lenient")
    assert "?out=tie&amp;rate=half" in found.replace("rule=lenient&amp;", "")
    assert 'name="rule" value="lenient"' in found


def test_the_course_of_the_race_is_drawn(client: Client, alice: User, swapped: Comparison) -> None:
    client.force_login(alice)
    found = page(client, swapped)
    assert 'class="race"' in found
    assert "still holds 50%" in found


def test_an_unknown_choice_is_the_default(client: Client, alice: User, swapped: Comparison) -> None:
    client.force_login(alice)
    assert "Lenient rule" not in page(client, swapped, "?rule=nonsense&rate=%00&adj=x")


def test_one_order_offers_no_order_rule(
    client: Client, alice: User, comparison: Comparison
) -> None:
    judge(comparison, ["a"] * comparison.dataset.examples.count())
    client.force_login(alice)
    found = page(client, comparison, "?rule=lenient")
    assert ">Lenient<" not in found
    assert "Lenient rule" not in found
