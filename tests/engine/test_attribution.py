"""Scores belong to runs: whatever is shown first, whoever judges, the planted winner wins."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.models import (
    Comparison,
    ComparisonEvaluator,
    ComparisonSide,
    Experiment,
    Game,
    Judgment,
    JudgmentScore,
    Order,
    Outcome,
    Run,
)
from experiments.services import jobs
from experiments.services.comparisons import create_comparison
from experiments.services.evaluators import configure_evaluator
from experiments.services.lane_tools import Tool
from experiments.services.lanes import Claimed
from experiments.services.subjects import Answer, Work, pair_work, record_pairs
from tests.factories import example_ids, make_dataset, make_experiment, make_provider, make_run
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db
STRENGTHS = st.lists(st.integers(0, 2), min_size=2, max_size=2)


def answered(work: Work) -> list[Answer]:
    """A judge that sees texts alone, and prefers the one with the higher number in it."""
    answers = []
    for texts in work.questions:
        first, second = (int(texts[name][-1]) for name in ("prediction", "prediction_b"))
        score = 0.5 if first == second else float(first > second)
        answers.append(Answer({"score": score, "reasoning": ""}))
    return answers


def judge_all(comparison: Comparison) -> None:
    assert comparison.job is not None
    jobs.plan(comparison.job)
    for row in comparison.evaluators.select_related("evaluator__provider"):
        assert row.evaluator is not None
        tool = Tool(row.evaluator)
        waiting = Judgment.objects.filter(evaluator=row, outcome=Outcome.PENDING)
        items = [
            Claimed(pk, row.evaluator.pk, pk, rank, 0)
            for pk, rank in waiting.values_list("pk", "rank")
        ]
        works = pair_work(comparison, tool.kind, tool.evaluator, items)
        record_pairs(comparison, [(work, answered(work)) for work in works])


def strength_of(runs: dict[UUID, str], uid: UUID) -> int:
    return int(runs[uid].strip('"}')[-1])


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    strengths=st.lists(STRENGTHS, min_size=1, max_size=4),
    repetitions=st.integers(1, 2),
    order=st.sampled_from(Order.values),
    seed=st.integers(0, 2**40),
    kinds=st.sets(
        st.sampled_from(["pairwise_string", "labeled_pairwise_string"]), min_size=1, max_size=2
    ),
    third=st.booleans(),
)
def test_the_planted_winner_wins_in_every_order(
    workspace: Workspace,
    strengths: list[list[int]],
    repetitions: int,
    order: str,
    seed: int,
    kinds: set[str],
    third: bool,
) -> None:
    with transaction.atomic():
        comparison = prepared(workspace, strengths, repetitions, order, seed, kinds, third)
        judge_all(comparison)
        check(comparison, len(strengths) * repetitions * len(kinds))
        # Each example of the property begins with an empty workspace.
        transaction.set_rollback(True)


def prepared(
    workspace: Workspace,
    strengths: list[list[int]],
    repetitions: int,
    order: str,
    seed: int,
    kinds: set[str],
    third: bool,
) -> Comparison:
    dataset = make_dataset(workspace, ["r"] * len(strengths))
    sides = [
        experiment_of(dataset, [pair[side] for pair in strengths], repetitions) for side in (0, 1)
    ]
    provider = make_provider(workspace, "http://127.0.0.1:9/v1")
    comparison = create_comparison(
        dataset=dataset,
        experiments=sides,
        evaluators=[
            configure_evaluator(
                workspace=workspace, kind=kind, name=f"{kind} {uuid4()}", provider=provider
            )
            for kind in sorted(kinds)
        ],
        order=order,
    )
    Comparison.objects.filter(pk=comparison.pk).update(seed=seed)
    if third:
        other = experiment_of(dataset, [9 for _ in strengths], repetitions)
        ComparisonSide.objects.create(
            comparison=comparison, position=2, experiment=other, name=other.name
        )
    return Comparison.objects.select_related("job").get(pk=comparison.pk)


def experiment_of(dataset: Any, strengths: list[int], repetitions: int) -> Experiment:
    experiment = make_experiment(dataset, [None] * len(strengths))
    for (uid, strength), _ in itertools.product(
        zip(example_ids(dataset), strengths, strict=True), range(repetitions)
    ):
        make_run(experiment, uid, f"answer of strength {strength}")
    return experiment


def check(comparison: Comparison, expected: int) -> None:
    stored = Run.objects.values_list("uid", "payload__outputs")
    runs = {uid: str(outputs) for uid, outputs in stored}
    judgments = Judgment.objects.filter(comparison=comparison).select_related("pair")
    assert len(judgments) == expected
    for judgment in judgments:
        sides = [uid for uid in judgment.pair.run_uids[:2] if uid]
        a, b = (strength_of(runs, uid) for uid in sides)
        outcome = Outcome.TIE if a == b else Outcome.A if a > b else Outcome.B
        assert (judgment.outcome, judgment.order_changed) == (outcome, False)
        scores = {row.run_uid: row.score for row in JudgmentScore.objects.filter(judgment=judgment)}
        assert scores[sides[0]] == (0.5 if a == b else float(a > b))
        for game in Game.objects.filter(judgment=judgment):
            assert set(game.order_shown) == set(sides)
            if game.winner is not None:
                place = game.order_shown.index(game.winner)
                assert game.verdict == ("first", "second")[place]
                assert strength_of(runs, game.winner) == max(a, b)
        shown = [tuple(game.order_shown) for game in judgment.games.all()]
        assert len(set(shown)) == (2 if comparison.order == Order.BOTH else 1)


def test_evaluators_meet_the_same_pairs_in_their_own_order(workspace: Workspace) -> None:
    comparison = prepared(
        workspace,
        [[0, 1]] * 8,
        1,
        Order.RANDOM,
        1,
        {"pairwise_string", "labeled_pairwise_string"},
        False,
    )
    judge_all(comparison)
    check(comparison, 16)
    assert ComparisonEvaluator.objects.count() == 2
    games = Game.objects.select_related("judgment__pair")
    a_first = [game.order_shown[0] == game.judgment.pair.run_uids[0] for game in games]
    assert set(a_first) == {True, False}
