"""Stop when certain: in the order of judging, never in the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import numpy as np
import pytest

from experiments.models import Job, Outcome, Race
from experiments.queries.verdict_card import verdict_of
from experiments.services.stopping import Place, follow
from experiments.tasks import steer
from tests.engine.launching import counts_of, job_of, launched, wait_for
from tests.engine.processes import StubJudge, Worker
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

LETTERS = {"A": Outcome.A, "B": Outcome.B, "T": Outcome.TIE, "?": Outcome.PENDING}
LETTERS |= {"F": Outcome.FAILED, "-": Outcome.MISSING}


def places(outcomes: str, ids: list[UUID] | None = None) -> Iterator[list[Place]]:
    """One example after the other, each with one repetition."""
    for rank, letter in enumerate(outcomes, 1):
        yield [(rank, LETTERS[letter], uuid4())]


def stops_at(outcomes: str) -> int | None:
    race = Race()
    return race.examples if follow(race, places(outcomes)) else None


def test_it_stops_where_the_sequence_of_the_statistics_does() -> None:
    assert stops_at("AATAAABAATAAABAAAATAAA") == 18
    assert stops_at("ABBAABABTBAABBABAATB") is None
    assert stops_at("A" * 20) == 8


def test_it_waits_at_a_gap_and_goes_on_behind_it() -> None:
    race = Race()
    assert not follow(race, places("AAAA?AAAAAAAAAAAA"))
    assert (race.rank, race.wins) == (4, 4)
    assert follow(race, places("AAAA"))
    assert race.wins == 8


def test_failures_and_missing_ones_do_not_count() -> None:
    race = Race()
    assert not follow(race, places("AF-ATFB"))
    assert (race.wins, race.losses, race.examples) == (2, 1, 4)


def test_repetitions_of_an_example_count_once() -> None:
    race, example = Race(), uuid4()
    follow(race, [[(n, Outcome.A, example) for n in range(1, 9)]])
    assert (race.wins, race.examples) == (1, 1)
    follow(race, [[(9, Outcome.A, example), (10, Outcome.B, example)]])
    assert (race.wins, race.losses, race.examples) == (1, 0, 2)


@pytest.mark.slow
def test_false_winners_and_calls_saved() -> None:
    """4,000 races of up to 1,000 rows, looked at after every verdict."""
    chance = np.random.default_rng(20261130)
    found = {}
    for rate in (0.5, 0.55, 0.6, 0.7):
        draws = chance.random((4000, 1000)) < rate
        ends = [stops_at("".join(np.where(row, "A", "B"))) for row in draws]
        stopped = [end for end in ends if end is not None]
        asked = sum(stopped) + 1000 * (len(ends) - len(stopped))
        found[rate] = len(stopped) / len(ends)
        print(
            f"true rate {rate}: {found[rate]:.1%} stop early, "
            f"{1 - asked / (1000 * len(ends)):.1%} of calls saved, "
            f"median {int(np.median([end or 1000 for end in ends]))} rows"
        )
    assert found[0.5] <= 0.05
    assert found[0.55] < found[0.6] < found[0.7]


@pytest.mark.slow
def test_in_the_order_of_arrival_an_even_race_would_often_have_a_winner() -> None:
    """Verdicts for B take longer: whoever counts what has arrived sees A ahead."""
    chance = np.random.default_rng(7)
    by_rank = by_arrival = 0
    for _ in range(1000):
        outcomes = np.where(chance.random(400) < 0.5, "A", "B")
        arrival = np.argsort(np.arange(400) + np.where(outcomes == "B", 40, 0), kind="stable")
        by_arrival += stops_at("".join(outcomes[arrival])) is not None
        race, arrived = Race(), np.full(400, "?")
        for number in arrival:
            arrived[number] = outcomes[number]
            rest = "".join(arrived[race.rank :])
            start = race.rank
            if follow(race, ([(start + r, o, e)] for [(r, o, e)] in places(rest))):
                by_rank += 1
                break
    print(
        f"even races with a winner: {by_rank / 10:.1f}% by rank, {by_arrival / 10:.1f}% by arrival"
    )
    assert by_rank <= 50
    assert by_arrival > 200


@pytest.mark.django_db(transaction=True)
def test_a_clear_race_stops_early_says_so_and_can_go_on(
    worker: Worker, workspace: Workspace
) -> None:
    with StubJudge(delay=0.1) as stub:
        comparison = launched(
            workspace,
            make_provider(workspace, stub.base_url),
            200,
            max_concurrency=4,
            stop_when_certain=True,
        )
        counts = wait_for(comparison, Job.State.COMPLETE)
        calls = stub.stats()["calls"]
        assert 8 <= calls <= 100
        assert counts.a == calls
        assert (job_of(comparison).cause, counts.pending) == (Job.Cause.CERTAIN, 200 - calls)
        race = Race.objects.get()
        assert (race.stopped_at, race.wins, race.losses) == (8, 8, 0)
        evaluator = comparison.evaluators.get()
        verdict = verdict_of(comparison, evaluator, counts)
        assert (verdict.outcome, verdict.counts.wins_a, verdict.counts.pending) == ("a", 8, 0)
        assert verdict.counts.sequential
        assert "always-valid" in verdict.sentence
        steer(job_of(comparison), "retry")
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, counts.pending, stub.stats()["calls"]) == (200, 0, 200)
    assert job_of(comparison).cause == Job.Cause.NONE
    verdict = verdict_of(comparison, comparison.evaluators.get(), counts_of(comparison))
    assert (verdict.counts.wins_a, verdict.counts.sequential) == (200, True)


@pytest.mark.django_db(transaction=True)
def test_an_even_race_goes_to_the_end(worker: Worker, workspace: Workspace) -> None:
    with StubJudge() as stub:
        comparison = launched(
            workspace, make_provider(workspace, stub.base_url), 40, wins=20, stop_when_certain=True
        )
        counts = wait_for(comparison, Job.State.COMPLETE)
    race = Race.objects.get()
    assert (counts.a, counts.b) == (race.wins, race.losses) or race.stopped_at


@pytest.mark.django_db(transaction=True)
def test_what_arrives_late_is_waited_for(worker: Worker, workspace: Workspace) -> None:
    """B wins half of them, but takes so long that A's wins alone would look certain."""
    with StubJudge(delay=0.02, script=[{"has": "B-IS-BETTER", "delay": 4}]) as stub:
        comparison = launched(
            workspace,
            make_provider(workspace, stub.base_url),
            40,
            wins=20,
            max_concurrency=64,
            stop_when_certain=True,
        )
        wait_for(comparison, Job.State.COMPLETE)
    race = Race.objects.get()
    outcomes = list(
        comparison.judgments.order_by("rank").values_list("outcome", flat=True)[: race.examples]
    )
    assert outcomes.count("a") == race.wins
    assert outcomes.count("b") == race.losses
