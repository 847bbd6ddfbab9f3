"""Games come to verdicts by run, never by the place where it was shown."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.models import Outcome
from experiments.verdicts import GameResult, game, outcome_of_scores, reduce_games

A, B = uuid4(), uuid4()
ORDERS = [(A, B), (B, A)]


@given(st.lists(st.sampled_from(ORDERS), min_size=1, max_size=2), st.sampled_from([A, B]))
def test_it_finds_the_planted_winner_whatever_the_order_shown(
    orders: list[tuple[UUID, UUID]], winner: UUID
) -> None:
    games = [game(order, order.index(winner)) for order in orders]
    verdict = reduce_games(games, [A, B])
    assert verdict.outcome == (Outcome.A if winner == A else Outcome.B)
    assert verdict.scores == {winner: 1.0, (B if winner == A else A): 0.0}
    assert not verdict.order_changed


@given(st.integers(0, 1))
def test_it_ties_when_the_place_decided(place: int) -> None:
    verdict = reduce_games([game(order, place) for order in ORDERS], [A, B])
    assert verdict.outcome == Outcome.TIE
    assert verdict.order_changed
    assert verdict.scores == {A: 0.5, B: 0.5}


def test_it_ties_when_only_one_order_had_a_winner() -> None:
    verdict = reduce_games([game((A, B), 0), game((B, A), None)], [A, B])
    assert (verdict.outcome, verdict.order_changed) == (Outcome.TIE, True)


def test_it_fails_when_a_game_failed_and_scores_nothing() -> None:
    failed = GameResult((B, A), "failed", error="no answer")
    verdict = reduce_games([game((A, B), 0), failed], [A, B])
    assert (verdict.outcome, verdict.error, verdict.scores) == (Outcome.FAILED, "no answer", {})


@pytest.mark.parametrize(
    ("a", "b", "outcome"),
    [
        (1, 0, Outcome.A),
        (0.25, 0.75, Outcome.B),
        (0, 0, Outcome.BOTH_BAD),
        (1, 1, Outcome.BOTH_GOOD),
        (0.5, 0.5, Outcome.TIE),
        (-1, -2, Outcome.A),
    ],
)
def test_it_reads_the_outcome_of_two_scores(a: float, b: float, outcome: Outcome) -> None:
    assert outcome_of_scores(a, b) == outcome
