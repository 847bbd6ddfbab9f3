"""What games and scores come to. Scores belong to runs; the order shown never decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from experiments.models import Outcome

FAILED = "failed"


@dataclass(frozen=True)
class GameResult:
    """One question put to one judge, in one order; `winner` is a run, None for a tie or failure."""

    order_shown: tuple[UUID, ...]
    verdict: str
    winner: UUID | None = None
    reason: str = ""
    error: str = ""
    error_kind: str = ""
    reply_id: int | None = None
    from_cache: bool = False
    attempts: int = 1
    evaluator_run_uid: UUID | None = None
    by_hand: bool = False
    author_id: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The reduction of a pair's games: the outcome, and what each run scored."""

    outcome: Outcome
    scores: Mapping[UUID, float] = field(default_factory=dict)
    order_changed: bool = False
    reason: str = ""
    error: str = ""


def game(
    order_shown: Sequence[UUID], place: int | None, *, verdict: str = "tie", **details: object
) -> GameResult:
    """A game whose judge preferred what stood in `place` (0 or 1), or neither."""
    if place is None:
        return GameResult(tuple(order_shown), verdict, None, **details)  # type: ignore[arg-type]
    name = ("first", "second")[place]
    return GameResult(tuple(order_shown), name, order_shown[place], **details)  # type: ignore[arg-type]


def reduce_games(games: Sequence[GameResult], runs: Sequence[UUID]) -> Verdict:
    """One verdict from the games of a pair; orders that disagree come to a tie."""
    failures = [game for game in games if game.verdict == FAILED]
    if failures or not games:
        return Verdict(Outcome.FAILED, error=failures[0].error if failures else "not judged")
    calls = {(game.winner, game.verdict if game.winner is None else "") for game in games}
    if len(calls) > 1:
        return Verdict(
            Outcome.TIE, _shares(None, runs), order_changed=True, reason=_both_reasons(games)
        )
    winner, verdict = calls.pop()
    outcome = _outcome_of(winner, verdict, runs)
    return Verdict(outcome, _shares(winner, runs), reason=games[0].reason)


def set_by_hand(
    outcome: Outcome, runs: Sequence[UUID], *, reason: str, author_id: int | None
) -> tuple[Verdict, GameResult]:
    """The verdict that a person decides on, and the game that keeps it; no order was shown."""
    place = {Outcome.A: 0, Outcome.B: 1}.get(outcome)
    winner = None if place is None else runs[place]
    played = GameResult(
        (),
        "decided" if winner else outcome.value,
        winner,
        reason,
        by_hand=True,
        author_id=author_id,
    )
    return Verdict(outcome, _shares(winner, runs), reason=reason), played


def outcome_of_scores(a: float, b: float) -> Outcome:
    """The outcome of two scores; equal ones tie, 0/0 and 1/1 as both bad and both good."""
    if a != b:
        return Outcome.A if a > b else Outcome.B
    return {0.0: Outcome.BOTH_BAD, 1.0: Outcome.BOTH_GOOD}.get(a, Outcome.TIE)


def _outcome_of(winner: UUID | None, verdict: str, runs: Sequence[UUID]) -> Outcome:
    if winner is None:
        return Outcome(verdict)
    return Outcome.A if winner == runs[0] else Outcome.B


def _shares(winner: UUID | None, runs: Sequence[UUID]) -> dict[UUID, float]:
    if winner is None:
        return dict.fromkeys(runs, 0.5)
    return {run: float(run == winner) for run in runs}


def _both_reasons(games: Sequence[GameResult]) -> str:
    reasons = [game.reason for game in games if game.reason]
    return "\n\n".join(
        f"Order {number}: {reason}" for number, reason in enumerate(dict.fromkeys(reasons), 1)
    )
