"""What was paid for is never asked again, unless somebody asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.models import Feedback, Game, Job, JudgeReply, Lane, OpenQuestion, Order, Pair
from experiments.services.comparisons import create_evaluation
from experiments.services.evaluators import configure_evaluator
from experiments.services.examples import NewExample, add_examples
from experiments.tasks import start_job, steer
from tests.engine.launching import job_of, launched, made, wait_for
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import (
    example_ids,
    make_comparison,
    make_dataset,
    make_experiment,
    make_provider,
    make_run,
)
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_the_order_changed_is_judged_again_with_fresh_replies(
    worker: Worker, workspace: Workspace
) -> None:
    script = [{"has": "answer 0.", "times": 2, "reply": "Always.\n[[A]]"}]
    with StubJudge(script=script) as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = launched(workspace, provider, 3, order=Order.BOTH)
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, counts.tie, counts.order_changed) == (2, 1, 1)
        steer(job_of(comparison), "rejudge")
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, counts.tie, counts.order_changed) == (3, 0, 0)
        assert stub.stats()["calls"] == 6 + 2
        steer(job_of(comparison), "rejudge")
        wait_for(comparison, Job.State.COMPLETE)
        assert stub.stats()["calls"] == 8
    rounds = Game.objects.values_list("judgment", "round").distinct().count()
    assert rounds == 4


def test_examples_that_came_later_are_added_and_nothing_else_is_asked(
    worker: Worker, workspace: Workspace
) -> None:
    with StubJudge() as stub:
        comparison = launched(workspace, make_provider(workspace, stub.base_url), 4)
        wait_for(comparison, Job.State.COMPLETE)
        dataset = comparison.dataset
        a, b = (side.experiment for side in comparison.sides.all())
        assert a is not None
        assert b is not None
        add_examples(
            dataset=dataset,
            examples=[NewExample(inputs=f'{{"q": {n}}}', outputs='{"a": 1}') for n in (1, 2)],
        )
        newer, lonely = example_ids(dataset)[-2:]
        make_run(a, newer, "GOOD-ANSWER 5.")
        make_run(b, newer, "plain answer 5.")
        make_run(a, lonely, "GOOD-ANSWER 6.")
        steer(job_of(comparison), "extend")
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, counts.missing, counts.total) == (5, 1, 6)
        assert stub.stats()["calls"] == 5
        make_run(b, lonely, "plain answer 6.")
        steer(job_of(comparison), "extend")
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, counts.missing, counts.pending, counts.total) == (6, 0, 0, 6)
        steer(job_of(comparison), "extend")
        wait_for(comparison, Job.State.COMPLETE)
        assert stub.stats()["calls"] == 6
    dataset.refresh_from_db()
    comparison.refresh_from_db()
    assert comparison.dataset_version == dataset.modified_at
    assert Pair.objects.filter(comparison=comparison).count() == 6
    ranks = comparison.judgments.order_by("rank").values_list("rank", flat=True)
    assert list(ranks) == [1, 2, 3, 4, 5, 6]


def test_repetitions_are_separate_samples(worker: Worker, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["r"])
    (example,) = example_ids(dataset)
    experiment = make_experiment(dataset, ["the same answer"])
    make_run(experiment, example, "the same answer")
    with StubJudge(script=[{"reply": "Y"}]) as stub:
        provider = make_provider(workspace, stub.base_url)
        evaluator = configure_evaluator(
            workspace=workspace, kind="criteria", settings={"criteria": "depth"}, provider=provider
        )
        for _ in range(2):
            job = create_evaluation(experiment=experiment, evaluator=evaluator).job
            start_job(job)
            eventually(lambda: not Job.objects.get(pk=job.pk).is_open, 20, "it ends")  # noqa: B023
        assert stub.stats()["calls"] == 2
    assert sorted(JudgeReply.objects.values_list("sample", flat=True)) == [0, 1]


def test_a_changed_reader_reads_stored_replies_without_a_call(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r", "s"])
    experiment = make_experiment(dataset, ["one", "two"])
    with StubJudge(script=[{"reply": "Rating: [[8]]"}]) as stub:
        provider = make_provider(workspace, stub.base_url)
        scores = []
        for settings in ({}, {"normalize_by": 10}):
            evaluator = configure_evaluator(
                workspace=workspace, kind="score_string", settings=settings, provider=provider
            )
            job = create_evaluation(experiment=experiment, evaluator=evaluator).job
            start_job(job)
            eventually(lambda: not Job.objects.get(pk=job.pk).is_open, 20, "it ends")  # noqa: B023
            given = Feedback.objects.filter(experiment=experiment, key="score_string")
            scores.append(sorted(row.score or 0 for row in given))
        assert stub.stats()["calls"] == 2
    assert scores == [[8.0, 8.0], [0.8, 0.8]]


def test_a_run_that_could_not_be_scored_is_scored_again_alone(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r", "s"])
    experiment = make_experiment(dataset, ["one", "two"])
    script: list[dict[str, Any]] = [{"has": "two", "times": 1, "status": 401}, {"reply": "Y"}]
    with StubJudge(script=script) as stub:
        evaluator = configure_evaluator(
            workspace=workspace,
            kind="criteria",
            settings={"criteria": "depth"},
            provider=make_provider(workspace, stub.base_url),
        )
        job = create_evaluation(experiment=experiment, evaluator=evaluator).job
        start_job(job)
        eventually(lambda: not Job.objects.get(pk=job.pk).is_open, 20, "it ends")
        assert Feedback.objects.filter(experiment=experiment, is_error=True).count() == 1
        steer(Job.objects.get(pk=job.pk), "retry")
        eventually(lambda: not Job.objects.get(pk=job.pk).is_open, 20, "it ends")
        assert stub.stats()["calls"] == 3
    assert not Feedback.objects.filter(experiment=experiment, is_error=True).exists()


def test_jobs_at_once_over_the_same_pairs_pay_once(worker: Worker, workspace: Workspace) -> None:
    count = 30
    with StubJudge(delay=0.3) as stub:
        provider = make_provider(workspace, stub.base_url)
        first = made(workspace, provider, count, max_concurrency=4)
        a, b = (side.experiment for side in first.sides.order_by("position"))
        assert a is not None
        assert b is not None
        second, third = (
            make_comparison(
                a, b, kind="pairwise_string", provider=provider, max_concurrency=4, order=Order.OFF
            )
            for _ in range(2)
        )
        jobs = (first, second, third)
        for comparison in jobs:
            start_job(job_of(comparison))
        for comparison in jobs:
            counts = wait_for(comparison, Job.State.COMPLETE)
            assert (counts.a, counts.failed) == (count, 0)
        assert stub.stats()["calls"] == count
    assert not OpenQuestion.objects.exists()


def test_pairs_of_one_job_that_ask_the_same_pay_once(worker: Worker, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, [])
    same = NewExample(inputs='{"q": 1}', outputs='{"a": 1}')
    add_examples(dataset=dataset, examples=[same] * 6)
    a = make_experiment(dataset, ["GOOD-ANSWER"] * 6)
    b = make_experiment(dataset, ["plain"] * 6)
    with StubJudge(delay=0.2) as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = make_comparison(a, b, kind="pairwise_string", provider=provider)
        start_job(job_of(comparison))
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, stub.stats()["calls"]) == (6, 1)


def test_jobs_that_meet_at_a_fallback_pay_once(worker: Worker, workspace: Workspace) -> None:
    count, broken = 12, {"status": 500}
    with (
        StubJudge(script=[broken]) as one,
        StubJudge(script=[broken]) as two,
        StubJudge(delay=0.5) as good,
    ):
        shared = make_provider(workspace, good.base_url)
        first, second = (make_provider(workspace, s.base_url, fallback=shared) for s in (one, two))
        begun = made(workspace, first, count, max_concurrency=6, order=Order.OFF)
        a, b = (side.experiment for side in begun.sides.order_by("position"))
        assert a is not None
        assert b is not None
        other = make_comparison(
            a, b, kind="pairwise_string", provider=second, max_concurrency=6, order=Order.OFF
        )
        for comparison in (begun, other):
            start_job(job_of(comparison))
        for comparison in (begun, other):
            counts = wait_for(comparison, Job.State.COMPLETE)
            assert (counts.a, counts.failed) == (count, 0)
        assert good.stats()["calls"] == count
    assert not OpenQuestion.objects.exists()


def test_equal_outputs_are_one_question_in_both_orders(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r"])
    a, b = (make_experiment(dataset, ["the same"]) for _ in range(2))
    with StubJudge() as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = make_comparison(
            a, b, kind="pairwise_string", provider=provider, order=Order.BOTH
        )
        start_job(job_of(comparison))
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.tie, stub.stats()["calls"]) == (1, 1)
    games = Game.objects.filter(judgment__comparison=comparison)
    assert sorted(games.values_list("from_cache", flat=True)) == [False, True]


def test_an_evaluation_that_is_under_way_is_not_launched_again(workspace: Workspace) -> None:
    experiment = make_experiment(make_dataset(workspace, ["r"]), ["one"])
    evaluator = configure_evaluator(workspace=workspace, kind="exact_match")
    first = create_evaluation(experiment=experiment, evaluator=evaluator)
    assert create_evaluation(experiment=experiment, evaluator=evaluator) == first
    Job.objects.update(state=Job.State.COMPLETE)
    assert create_evaluation(experiment=experiment, evaluator=evaluator) != first


def test_adding_what_came_leaves_alone_what_was_left(worker: Worker, workspace: Workspace) -> None:
    with StubJudge(delay=0.1) as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = launched(workspace, provider, 60, max_concurrency=2)
        eventually(lambda: stub.stats().get("answered", 0) > 4, 20, "some answers")
        steer(job_of(comparison), "cancel")
        eventually(
            lambda: not Lane.objects.filter(state=Lane.State.RUNNING).exists(), 20, "it stops"
        )
        calls = stub.stats()["calls"]
        steer(job_of(comparison), "extend")
        wait_for(comparison, Job.State.COMPLETE)
        assert stub.stats()["calls"] == calls
        a, b = (side.experiment for side in comparison.sides.order_by("position"))
        assert a is not None
        assert b is not None
        new = NewExample(inputs='{"q": "new"}', outputs='{"a": 1}')
        add_examples(dataset=comparison.dataset, examples=[new])
        newest = example_ids(comparison.dataset)[-1]
        make_run(a, newest, "GOOD-ANSWER new.")
        make_run(b, newest, "plain answer new.")
        steer(job_of(comparison), "extend")
        wait_for(comparison, Job.State.COMPLETE)
        assert stub.stats()["calls"] == calls + 1
        steer(job_of(comparison), "retry")
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, stub.stats()["calls"]) == (61, 61)
