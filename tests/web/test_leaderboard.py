"""Leaderboards: the same board in whatever order verdicts came, on the page and in files."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from playwright.sync_api import Page, expect

from evaluators.statistics import OPS
from experiments.models import Comparison, Dataset, OutcomeDelta
from experiments.queries.leaderboard import board_of, rated
from experiments.queries.leaderboard_games import Games, games_of
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db
ROWS = 40
WINS = {("one", "two"): (24, 6), ("one", "three"): (28, 4), ("two", "three"): (22, 8)}


def compared(
    workspace: Workspace, pairs: Sequence[tuple[str, str]] = tuple(WINS), *, seed: int | None = None
) -> Dataset:
    dataset = make_dataset(workspace, ["x"] * ROWS)
    names = sorted({name for pair in pairs for name in pair})
    suffix = "" if seed is None else f" {seed}"
    made = {name: make_experiment(dataset, ["o"] * ROWS, name=name + suffix) for name in names}
    for a, b in pairs:
        wins, losses = WINS[a, b]
        outcomes = ["a"] * wins + ["b"] * losses + ["tie"] * (ROWS - wins - losses)
        judge(make_comparison(made[a], made[b]), outcomes)
    return dataset


def test_strengths_are_those_of_the_stored_counts(workspace: Workspace) -> None:
    board = board_of(compared(workspace))
    games = [
        {"a": a, "b": b, "wins_a": won, "wins_b": lost, "ties": ROWS - won - lost}
        for (a, b), (won, lost) in WINS.items()
    ]
    expected = OPS["bradley_terry"](games=games)["strength"]
    assert {one.name: one.strength for one in board.systems} == pytest.approx(expected, abs=1e-6)
    assert [one.name for one in board.systems] == ["one", "two", "three"]
    first = board.systems[0]
    assert (first.wins, first.losses, first.ties, first.games) == (52, 10, 18, 80)
    assert board.matrix["three"]["one"]["wins"] == 4
    assert board.rows == ROWS


@pytest.mark.parametrize("model", ["bradley_terry", "davidson"])
def test_the_order_of_arrival_makes_no_difference(workspace: Workspace, model: str) -> None:
    found = games_of(compared(workspace))
    boards = []
    for seed in range(3):
        dice = random.Random(seed)
        rows = [dice.sample(list(row), len(row)) for row in found.rows]
        pairs = list(found.pairs)
        dice.shuffle(rows)
        dice.shuffle(pairs)
        shuffled = Games(pairs, rows, None, found.sources, found.evaluators)
        boards.append(rated(shuffled, model))  # type: ignore[arg-type]
    assert boards[0] == boards[1] == boards[2]
    assert boards[0].systems[0].low is not None


def test_deltas_in_another_order_give_the_same_board(workspace: Workspace) -> None:
    dataset = compared(workspace)
    before = board_of(dataset)
    rows = list(OutcomeDelta.objects.all())
    random.Random(5).shuffle(rows)
    OutcomeDelta.objects.all().delete()
    for row in rows:
        row.pk = None
    OutcomeDelta.objects.bulk_create(rows)
    assert board_of(dataset) == before


def test_it_warns_of_what_has_no_finite_rating(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 4)
    a, b = (make_experiment(dataset, ["o"] * 4, name=name) for name in ("always", "never"))
    judge(make_comparison(a, b), ["a"] * 4)
    board = board_of(dataset)
    assert [one.strength for one in board.systems] == [None, None]
    assert board.reason
    assert "always never lost: it has no finite rating." in board.warnings


def test_a_source_and_an_evaluator_can_be_chosen(workspace: Workspace) -> None:
    dataset = compared(workspace)
    Comparison.objects.filter(sides__name="three", sides__position=1).filter(
        sides__name="two"
    ).update(source="sdk")
    everything, judges = board_of(dataset), board_of(dataset, source="judge")
    assert everything.sources == {"judge": 80, "sdk": 40}
    assert (everything.games, judges.games) == (120, 80)
    assert board_of(dataset, evaluators=["nobody"]).systems == []
    assert any("mixed" in line for line in everything.warnings)


def test_page_csv_json_show_the_same(client: Client, alice: User, workspace: Workspace) -> None:
    dataset = compared(workspace)
    client.force_login(alice)
    address = reverse("leaderboard_detail", args=[dataset.uid])
    board = board_of(dataset)
    page = client.get(address).content.decode()
    told = client.get(address, {"format": "json"}).json()
    table = client.get(address, {"format": "csv"}).content.decode()
    rows = list(csv.DictReader(io.StringIO(table)))
    for system, listed, row in zip(board.systems, told["systems"], rows, strict=True):
        assert listed["strength"] == system.strength == float(row["strength"])
        assert (row["name"], int(row["rank_worst"])) == (system.name, system.rank_worst)
        assert f"{100 * (system.half_win_rate or 0):.1f}%" in page
    assert "Next best pair" in page
    listed_page = client.get(reverse("leaderboard_list")).content.decode()
    assert dataset.name in listed_page


def test_a_formula_in_a_name_is_kept_from_spreadsheets(
    client: Client, alice: User, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["x"] * 2)
    a, b = (make_experiment(dataset, ["o"] * 2, name=name) for name in ("=1+1", "plain"))
    judge(make_comparison(a, b), ["a", "b"])
    client.force_login(alice)
    address = reverse("leaderboard_detail", args=[dataset.uid])
    assert "'=1+1" in client.get(address, {"format": "csv"}).content.decode()


def test_it_is_hidden_from_strangers(client: Client, mallory: User, workspace: Workspace) -> None:
    dataset = compared(workspace, [("one", "two")])
    client.force_login(mallory)
    assert client.get(reverse("leaderboard_detail", args=[dataset.uid])).status_code == 404
    assert dataset.name not in client.get(reverse("leaderboard_list")).content.decode()


def test_two_queries_whatever_the_size(workspace: Workspace) -> None:
    for seed, pairs in enumerate([[("one", "two")], list(WINS)]):
        dataset = compared(workspace, pairs, seed=seed)
        with CaptureQueriesContext(connection) as context:
            board_of(dataset)
        assert len(context) == 2


def test_an_empty_dataset_says_what_is_needed(
    client: Client, alice: User, workspace: Workspace
) -> None:
    client.force_login(alice)
    dataset = make_dataset(workspace)
    page = client.get(reverse("leaderboard_detail", args=[dataset.uid])).content.decode()
    assert "No verdicts to rate" in page


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_board_is_readable_in_both_themes_and_narrow(
    alice_page: Page, workspace: Workspace, scheme: Literal["light", "dark"]
) -> None:
    dataset = compared(workspace)
    page = alice_page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 400, "height": 800})
    for address in ("/leaderboards", f"/leaderboards/{dataset.uid}"):
        page.goto(address)
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.select_option("[name=model]", "davidson")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("table.board tbody tr")).to_have_count(3)
    assert "model=davidson" in page.url


def test_cells_lead_to_comparisons_and_empty_ones_to_the_form(
    client: Client, alice: User, workspace: Workspace
) -> None:
    dataset = compared(workspace, [("one", "two"), ("two", "three")])
    client.force_login(alice)
    page = client.get(reverse("leaderboard_detail", args=[dataset.uid])).content.decode()
    for comparison in dataset.comparisons.all():
        assert page.count(reverse("comparison_detail", args=[comparison.uid])) == 2
    one, three = (dataset.experiments.get(name=name).uid for name in ("one", "three"))
    assert f"?a={one}&amp;b={three}" in page
    assert "Compare them" in page
    few = client.get(reverse("leaderboard_detail", args=[dataset.uid]), {"min": "100"})
    assert few.content.decode().count('class="strength"') == 0


def test_systems_show_what_their_runs_took(
    client: Client, alice: User, workspace: Workspace
) -> None:
    dataset = compared(workspace, [("one", "two")])
    run = dataset.experiments.get(name="one").runs.order_by("-start_time", "-pk")
    dataset.experiments.get(name="one").runs.update(
        end_time=run[0].start_time,
        start_time=run[0].start_time,
        total_tokens=1234,
        total_cost="0.5",
    )
    client.force_login(alice)
    page = client.get(reverse("leaderboard_detail", args=[dataset.uid])).content.decode()
    assert "0.00 s" in page
    assert "1,234" in page
    assert "$0.50000" in page
