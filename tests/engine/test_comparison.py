"""Comparisons through a real worker."""

from __future__ import annotations

import io
import json
import shutil
import time
from functools import partial
from pathlib import Path

import pytest
from django.core.management import call_command

from experiments.models import (
    Comparison,
    Feedback,
    Game,
    Job,
    JudgeReply,
    Judgment,
    JudgmentScore,
    Order,
    Outcome,
)
from experiments.queries.outcome_counts import OutcomeCounts, outcome_counts
from experiments.services import jobs
from experiments.services.comparisons import create_comparison, create_evaluation
from experiments.services.evaluators import configure_evaluator
from experiments.services.sample import FOLDER, load_sample
from experiments.tasks import start_job, steer
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import (
    make_comparison,
    make_dataset,
    make_experiment,
    make_provider,
)
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def run_to_end(comparison: Comparison, seconds: float = 40) -> OutcomeCounts:
    assert comparison.job is not None
    start_job(comparison.job)
    return wait_for_end(comparison, seconds)


def wait_for_end(comparison: Comparison, seconds: float = 40) -> OutcomeCounts:
    eventually(lambda: not _job(comparison).is_open, seconds, "the comparison ends")
    assert _job(comparison).state == Job.State.COMPLETE, _job(comparison).error
    return outcome_counts(comparison.evaluators.get())


def _job(comparison: Comparison) -> Job:
    return Job.objects.get(pk=comparison.job_id or 0)


def test_it_judges_counts_and_scores_every_pair(worker: Worker, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["one", "two", "three", "four", "five"])
    a = make_experiment(dataset, ["one", "two", "no", None, ValueError("boom")])
    b = make_experiment(dataset, ["on", "two", "three", "four", "five"])
    comparison = make_comparison(a, b)
    counts = run_to_end(comparison)
    assert (counts.a, counts.b, counts.ties, counts.missing) == (1, 1, 1, 2)
    assert (counts.failed, counts.pending, counts.total) == (0, 0, 5)
    won = Judgment.objects.get(comparison=comparison, outcome=Outcome.A)
    scores = {row.position: row.score for row in JudgmentScore.objects.filter(judgment=won)}
    assert scores == {0: 1.0, 1: 0.0}
    missing = Judgment.objects.filter(outcome=Outcome.MISSING).order_by("position")
    assert [row.error for row in missing] == ["A has no run", "A failed"]
    told = Feedback.objects.filter(comparison_uid=comparison.uid)
    assert {row.score for row in told} == {0.0, 1.0, 0.5}
    assert told.count() == 2 * counts.judged


def test_it_asks_both_orders_and_stores_the_order_shown(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r1", "r2", "r3"])
    a = make_experiment(dataset, ["GOOD-ANSWER 1", "plain 2", "plain 3"])
    b = make_experiment(dataset, ["plain 1", "GOOD-ANSWER 2", "plain three"])
    with StubJudge() as stub:
        comparison = make_comparison(
            a,
            b,
            kind="labeled_pairwise_string",
            provider=make_provider(workspace, stub.base_url),
            order=Order.BOTH,
        )
        counts = run_to_end(comparison)
        assert stub.stats()["calls"] == 6
    assert (counts.a, counts.b, counts.ties) == (1, 1, 1)
    for judgment in Judgment.objects.select_related("pair"):
        shown = [game.order_shown for game in judgment.games.order_by("number")]
        assert shown == [judgment.pair.run_uids, judgment.pair.run_uids[::-1]]
    winners = {game.winner for game in Game.objects.exclude(winner=None)}
    assert len(winners) == 2


def test_a_judge_that_always_takes_the_first_comes_to_ties_that_the_order_changed(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r1", "r2"])
    a, b = make_experiment(dataset, ["x", "y"]), make_experiment(dataset, ["z", "w"])
    with StubJudge(script=[{"reply": "Always.\n[[A]]"}]) as stub:
        comparison = make_comparison(
            a, b, kind="pairwise_string", provider=make_provider(workspace, stub.base_url),
            order=Order.BOTH,
        )  # fmt: skip
        counts = run_to_end(comparison)
    assert (counts.a, counts.b, counts.tie, counts.order_changed) == (0, 0, 2, 2)


def test_random_order_shows_both_sides_first_and_still_finds_the_winner(
    worker: Worker, workspace: Workspace
) -> None:
    count = 24
    dataset = make_dataset(workspace, [f"r{n}" for n in range(count)])
    a = make_experiment(dataset, [f"GOOD-ANSWER {n}" for n in range(count)])
    b = make_experiment(dataset, [f"plain {n}" for n in range(count)])
    with StubJudge() as stub:
        comparison = make_comparison(
            a, b, kind="pairwise_string", provider=make_provider(workspace, stub.base_url),
            order=Order.RANDOM,
        )  # fmt: skip
        counts = run_to_end(comparison)
        assert stub.stats()["calls"] == count
    assert counts.a == count
    verdicts = set(Game.objects.values_list("verdict", flat=True))
    assert verdicts == {"first", "second"}


def test_it_pays_once_for_the_same_question(worker: Worker, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["r1", "r2"])
    a, b = make_experiment(dataset, ["GOOD-ANSWER", "x"]), make_experiment(dataset, ["y", "z"])
    with StubJudge() as stub:
        provider = make_provider(workspace, stub.base_url)
        first = make_comparison(a, b, kind="pairwise_string", provider=provider)
        run_to_end(first)
        calls = stub.stats()["calls"]
        second = make_comparison(a, b, kind="pairwise_string", provider=provider)
        counts = run_to_end(second)
        assert stub.stats()["calls"] == calls == 2
    assert (counts.a, counts.ties) == (1, 1)
    assert Game.objects.filter(judgment__comparison=second, from_cache=True).count() == 2
    assert JudgeReply.objects.count() == 2


def test_an_unreadable_reply_fails_alone_and_a_retry_asks_afresh(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r1", "r2"])
    a = make_experiment(dataset, ["GOOD-ANSWER one", "GOOD-ANSWER two"])
    b = make_experiment(dataset, ["y", "z"])
    script = [{"has": "GOOD-ANSWER two", "times": 1, "reply": "I would rather not say."}]
    with StubJudge(script=script) as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = make_comparison(a, b, kind="pairwise_string", provider=provider)
        counts = run_to_end(comparison)
        assert (counts.a, counts.failed) == (1, 1)
        failed = Game.objects.get(verdict="failed")
        assert failed.error_kind == "unreadable"
        assert failed.reply is not None
        assert "rather not" in failed.reply.text
        steer(_job(comparison), "retry")
        counts = wait_for_end(comparison)
        assert stub.stats()["calls"] == 3
    assert (counts.a, counts.failed) == (2, 0)
    assert failed.judgment.games.count() == 2


def test_a_rate_limit_is_waited_out_and_nothing_is_lost(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r1", "r2", "r3"])
    a = make_experiment(dataset, ["GOOD-ANSWER 1", "GOOD-ANSWER 2", "GOOD-ANSWER 3"])
    b = make_experiment(dataset, ["x", "y", "z"])
    script = [{"times": 2, "status": 429, "headers": {"Retry-After": "1"}}]
    with StubJudge(script=script) as stub:
        provider = make_provider(workspace, stub.base_url)
        counts = run_to_end(make_comparison(a, b, kind="pairwise_string", provider=provider))
        assert stub.stats()["calls"] == 5
    assert (counts.a, counts.failed) == (3, 0)


def test_a_job_whose_every_call_fails_pauses_and_says_why(
    worker: Worker, workspace: Workspace
) -> None:
    count = 60
    dataset = make_dataset(workspace, [f"r{n}" for n in range(count)])
    a = make_experiment(dataset, [f"x{n}" for n in range(count)])
    b = make_experiment(dataset, [f"y{n}" for n in range(count)])
    with StubJudge(script=[{"status": 401}]) as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = make_comparison(
            a, b, kind="pairwise_string", provider=provider, max_concurrency=2
        )
        assert comparison.job is not None
        start_job(comparison.job)
        eventually(lambda: _job(comparison).state == Job.State.PAUSED, 30, "it pauses")
        assert 20 <= stub.stats()["calls"] <= 30
    assert "all failed" in _job(comparison).error


def test_cancel_stops_new_calls_within_two_seconds(worker: Worker, workspace: Workspace) -> None:
    count = 200
    dataset = make_dataset(workspace, [f"r{n}" for n in range(count)])
    a = make_experiment(dataset, [f"x{n}" for n in range(count)])
    b = make_experiment(dataset, [f"y{n}" for n in range(count)])
    with StubJudge(delay=0.3) as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = make_comparison(
            a, b, kind="pairwise_string", provider=provider, max_concurrency=4
        )
        assert comparison.job is not None
        start_job(comparison.job)
        eventually(lambda: stub.stats().get("answered", 0) > 6, 20, "some answers")
        jobs.move(_job(comparison), "cancel")
        time.sleep(2)
        calls = stub.stats()["calls"]
        time.sleep(1.5)
        assert stub.stats()["calls"] == calls < count
        assert stub.stats()["max_in_flight"] <= 4
    counts = outcome_counts(comparison.evaluators.get())
    assert counts.judged + counts.pending == count


def _is_over(pk: int) -> bool:
    return not Job.objects.get(pk=pk).is_open


def test_an_evaluation_gives_feedback_and_run_again_replaces_it(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["yes", "no"])
    experiment = make_experiment(dataset, ["yes", "maybe"])
    for _ in range(2):
        evaluator = configure_evaluator(workspace=workspace, kind="exact_match")
        evaluation = create_evaluation(experiment=experiment, evaluator=evaluator)
        start_job(evaluation.job)
        eventually(partial(_is_over, evaluation.job.pk), 20, "it ends")
    scores = Feedback.objects.filter(experiment=experiment, key="exact_match")
    assert sorted(score.score or 0 for score in scores) == [0.0, 1.0]


def verdict_printed(workspace_name: str, *, swap: bool = False) -> str:
    output = io.StringIO()
    call_command("demo_comparison", address="http://test", swap=swap, stdout=output)
    return output.getvalue()


def test_the_sample_verdict_follows_the_answers(
    worker: Worker, workspace: Workspace, tmp_path: Path
) -> None:
    load_sample(workspace)
    straight = verdict_printed(workspace.name)
    assert "assistant-v2 wins" in straight
    assert "A 63 wins, B 35 wins, 15 ties" in straight
    swapped = verdict_printed(workspace.name, swap=True)
    assert "assistant-v2 wins" in swapped
    assert "A 35 wins, B 63 wins, 15 ties" in swapped


def test_ten_changed_answers_change_the_sample_verdict(
    worker: Worker, workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "sample"
    shutil.copytree(FOLDER, folder)
    references = {
        line["id"]: line["outputs"]
        for line in map(json.loads, (folder / "questions.jsonl").read_text().splitlines())
    }
    changed, lines = 0, []
    for line in map(json.loads, (folder / "assistant-v1.jsonl").read_text().splitlines()):
        better = references[line["example"]]
        if changed < 10 and "error" not in line and line["outputs"] != better:
            line["outputs"], changed = better, changed + 1
        lines.append(json.dumps(line))
    (folder / "assistant-v1.jsonl").write_text("\n".join(lines))
    load_sample(workspace, folder)
    printed = verdict_printed(workspace.name)
    assert changed == 10
    assert "A 63 wins" not in printed
    wins_of_v1 = int(printed.split(" wins, B ")[1].split(" wins")[0])
    assert wins_of_v1 > 35


def test_several_evaluators_judge_the_same_pairs_apart(
    worker: Worker, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["alpha beta", "gamma"])
    a = make_experiment(dataset, ["alpha beta", "gamma"])
    b = make_experiment(dataset, ["beta alpha", "delta"])
    evaluators = [
        configure_evaluator(workspace=workspace, kind=kind)
        for kind in ("nearer_by_string_distance", "nearer_by_token_overlap")
    ]
    comparison = create_comparison(dataset=dataset, experiments=[a, b], evaluators=evaluators)
    assert comparison.job is not None
    start_job(comparison.job)
    eventually(lambda: not _job(comparison).is_open, 30, "it ends")
    by_key = {row.key: outcome_counts(row) for row in comparison.evaluators.all()}
    distance, overlap = by_key["nearer_by_string_distance"], by_key["nearer_by_token_overlap"]
    assert (distance.a, distance.ties) == (2, 0)
    assert (overlap.a, overlap.ties) == (1, 1)
