import math
import random

import pytest

from evaluators.statistics import OPS
from evaluators.statistics.rankings import cycles, next_best_pair, rating_intervals, win_matrix


def game(a: str, b: str, wins_a: int = 0, wins_b: int = 0, ties: int = 0) -> dict[str, object]:
    return {"a": a, "b": b, "wins_a": wins_a, "wins_b": wins_b, "ties": ties}


# The worked example of the encyclopaedia article on the model: 22 games of four teams.
TEAMS = [
    game("A", "B", 2, 3),
    game("A", "D", 1, 4),
    game("B", "C", 5, 3),
    game("C", "D", 1, 3),
]


def test_it_reproduces_the_published_example() -> None:
    strength = OPS["bradley_terry"](games=TEAMS)["strength"]
    worth = {name: math.exp(value) for name, value in strength.items()}
    assert worth == pytest.approx({"A": 0.640, "B": 1.043, "C": 0.660, "D": 2.270}, abs=5e-4)


def test_two_systems_give_the_half_win_rate_again() -> None:
    rated = OPS["bradley_terry"](games=[game("new", "old", 48, 32, 20)])
    assert rated["win_probability"] == {"new>old": pytest.approx(0.58)}


def test_davidson_has_a_closed_form_for_two_systems() -> None:
    rated = OPS["davidson"](games=[game("x", "y", 8, 2, 6)])
    assert rated["strength"]["x"] - rated["strength"]["y"] == pytest.approx(math.log(4))
    assert rated["nu"] == pytest.approx(6 / math.sqrt(16))


def test_davidson_without_ties_is_bradley_terry() -> None:
    rated = OPS["davidson"](games=TEAMS)
    assert rated["nu"] == 0
    assert rated["strength"] == pytest.approx(OPS["bradley_terry"](games=TEAMS)["strength"])


@pytest.mark.parametrize(
    ("games", "reason"),
    [
        ([game("A", "B", 5, 0), game("B", "C", 3, 2)], "A never lost; no finite rating."),
        ([game("A", "B", 5, 2), game("C", "B", 0, 4)], "C never won; no finite rating."),
        (
            [game("A", "B", 5, 1), game("C", "D", 3, 2)],
            "Groups that never met have no common scale: {A, B} and {C, D}.",
        ),
        (
            [game("A", "B", 1, 1), game("C", "D", 1, 1), game("A", "C", 4, 0)],
            "One group never lost to the rest; no finite rating between them.",
        ),
    ],
)
def test_it_says_why_there_is_no_rating(games: list[dict[str, object]], reason: str) -> None:
    rated = OPS["bradley_terry"](games=games)
    assert (rated["strength"], rated["reason"]) == (None, reason)
    assert OPS["bt_identifiable"](games=games)["reason"] == reason


def test_ties_hold_bradley_terry_together_but_not_davidson() -> None:
    games = [game("A", "B", 5, 0, 5)]
    assert OPS["bradley_terry"](games=games)["win_probability"] == {"A>B": pytest.approx(0.75)}
    assert OPS["davidson"](games=games)["strength"] is None


def test_davidson_needs_no_pair_with_wins_both_ways() -> None:
    circle = [game("A", "B", 4, 0, 1), game("B", "C", 4, 0, 1), game("C", "A", 4, 0, 1)]
    rated = OPS["davidson"](games=circle)
    assert rated["strength"] == pytest.approx(dict.fromkeys("ABC", 0.0), abs=1e-9)
    assert rated["nu"] == pytest.approx(0.5)


def test_elo_depends_on_the_order_of_games() -> None:
    first, second = (
        {"a": "A", "b": "B", "outcome": "A"},
        {"a": "A", "b": "B", "outcome": "B"},
    )
    there = OPS["elo_online"](games=[first, second])["rating"]
    back = OPS["elo_online"](games=[second, first])["rating"]
    assert there["A"] < 1000 < back["A"]


def league(systems: int, rows: int, gap: float, seed: int = 5) -> list[list[dict[str, object]]]:
    rng = random.Random(seed)
    played = []
    for _ in range(rows):
        i, j = sorted(rng.sample(range(systems), 2))
        won = rng.random() < 1 / (1 + math.exp(-gap * (j - i)))
        played.append([game(f"s{i}", f"s{j}", int(won), int(not won))])
    return played


def test_intervals_hold_the_true_strengths_and_ignore_the_order_of_rows() -> None:
    rows = league(systems=5, rows=1500, gap=0.5)
    rated = rating_intervals(rows, resamples=300)
    for index in range(5):
        truth = 0.5 * (2 - index)
        assert rated["low"][f"s{index}"] < truth < rated["high"][f"s{index}"]
    assert list(rated["rank"].values()) == [1, 2, 3, 4, 5]
    random.Random(1).shuffle(rows)
    assert rating_intervals(rows, resamples=300) == rated


def test_systems_that_cannot_be_told_apart_share_ranks() -> None:
    rated = rating_intervals(league(systems=4, rows=120, gap=0), resamples=200)
    assert set(rated["rank_best"].values()) == {1}
    assert set(rated["rank_worst"].values()) == {4}


def test_rows_may_be_given_with_how_often_they_occur() -> None:
    win, loss = [game("A", "B", 1, 0)], [game("A", "B", 0, 1)]
    counted = rating_intervals([win, loss], row_counts=[30, 20], resamples=100)
    assert counted == rating_intervals([win] * 30 + [loss] * 20, resamples=100)
    assert counted["rows"] == 50


def test_games_of_one_row_are_drawn_together() -> None:
    single = [[game("A", "B", 1, 0)]] * 30 + [[game("A", "B", 0, 1)]] * 20
    fivefold = [row * 5 for row in single]
    once, again = rating_intervals(single, resamples=200), rating_intervals(fivefold, resamples=200)
    assert again["low"]["A"] == pytest.approx(once["low"]["A"])


def test_few_games_have_no_interval() -> None:
    rated = rating_intervals([[game("A", "B", 1, 0)], [game("A", "B", 0, 1)]], resamples=100)
    assert rated["strength"] == {"A": 0, "B": 0}
    assert rated["low"] is None
    assert rated["reason"].startswith("Too few games")


def test_the_win_matrix_shows_each_pair_from_both_sides() -> None:
    cells = win_matrix([game("A", "B", 6, 2, 2), game("B", "C", 1, 1)])["cells"]
    assert cells["A"]["B"]["half_win_rate"] == pytest.approx(0.7)
    assert cells["B"]["A"]["half_win_rate"] == pytest.approx(0.3)
    assert cells["A"]["B"]["games"] == cells["B"]["A"]["games"] == 10
    assert "C" not in cells["A"]


@pytest.mark.parametrize(("wins", "clear"), [(9, True), (2, False)])
def test_it_finds_cycles(wins: int, clear: bool) -> None:
    circle = [game("A", "C", 1, wins), game("A", "B", wins, 1), game("B", "C", wins, 1)]
    assert cycles(circle)["cycles"] == [{"systems": ["A", "B", "C"], "clear": clear}]
    assert cycles(TEAMS)["cycles"] == []


def test_the_next_pair_is_the_one_known_least() -> None:
    games = [game("A", "B", 50, 50), game("B", "C", 50, 50), game("C", "D", 2, 2)]
    best = next_best_pair(games)
    assert best["pair"][1] == "D"
    assert 0 < best["gain"] < 1


def test_the_next_pair_joins_islands_first() -> None:
    best = next_best_pair([game("A", "B", 5, 1), game("C", "D", 3, 2)])
    assert best["pair"] in (["A", "C"], ["A", "D"], ["B", "C"], ["B", "D"])
    assert best["gain"] is None
    assert next_best_pair([])["pair"] is None
