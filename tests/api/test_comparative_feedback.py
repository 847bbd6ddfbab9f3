"""Feedback of a comparison that a script judges: judgments follow what is sent and deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client as DjangoClient
from django.test.utils import CaptureQueriesContext

from experiments.models import Comparison, Experiment, Game, Judgment, Outcome, Pair, Run
from experiments.queries.outcome_counts import outcome_counts
from tests.api.bodies import HEADERS, json_part, multipart, run_body
from tests.api.conftest import Call
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace


@dataclass
class Script:
    """A script that judges itself, one mark at a time."""

    call: Call
    comparison: Comparison
    a: Experiment
    b: Experiment

    def run_of(self, experiment: Experiment, number: int = 0) -> Run:
        return Run.objects.filter(experiment=experiment).order_by("pk")[number]

    def mark(self, run: Run, score: float | None, **more: Any) -> str:
        uid = str(uuid4())
        body = {
            "id": uid,
            "key": "preference",
            "run_id": str(run.uid),
            "score": score,
            "comparative_experiment_id": str(self.comparison.uid),
            **more,
        }
        answer = self.call("POST", "/feedback", json=body)
        assert answer.status_code == 200, answer.text
        return uid

    def outcomes(self) -> list[str]:
        rows = Judgment.objects.filter(comparison=self.comparison).order_by("position")
        return list(rows.values_list("outcome", flat=True))

    def counts(self) -> tuple[int, int, int, int]:
        """A, B, pending and all, as the page counts them."""
        counts = outcome_counts(self.comparison.evaluators.get(key="preference"))
        return counts.a, counts.b, counts.pending, counts.total


@pytest.fixture
def script(call: Call, workspace: Workspace) -> Script:
    dataset = make_dataset(workspace, ["4", "Paris", "blue"], splits=[["x"], ["x"], ["y"]])
    a = make_experiment(dataset, ["4", "Paris", "green"])
    b = make_experiment(dataset, ["5", "London", "blue"])
    uid = str(uuid4())
    body = {"id": uid, "name": "duel", "experiment_ids": [str(a.uid), str(b.uid)]}
    assert call("POST", "/datasets/comparative", json=body).status_code == 201
    return Script(call, Comparison.objects.get(uid=uid), a, b)


def test_it_tells_the_figures_of_its_marks(script: Script, call: Call) -> None:
    path = f"/comparisons/{script.comparison.uid}/rows"
    assert call("GET", path).json() == {"rows": [], "next_cursor": None}
    assert call("GET", path, params={"evaluator": "preference"}).status_code == 404
    script.mark(script.run_of(script.a), 1)
    script.mark(script.run_of(script.b), 0)
    script.mark(script.run_of(script.b, 1), None, error=True)
    one = call("GET", f"/datasets/comparative/{script.comparison.uid}").json()
    assert call("GET", "/datasets/comparative").json() == [one]
    figures = one["feedback_stats"]["preference"]
    assert (figures["n"], figures["avg"], figures["errors"]) == (2, 0.5, 1)
    assert len(call("GET", path).json()["rows"]) == 1


def test_a_list_of_many_takes_no_more_queries(script: Script, call: Call, api_key: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as context:
            answer = DjangoClient().get("/api/datasets/comparative", headers={"x-api-key": api_key})
        assert answer.status_code == 200
        return len(context)

    queries()  # What the first request caches is no part of it.
    before = queries()
    for number in range(4):
        ids = [str(script.a.uid), str(script.b.uid)]
        call("POST", "/datasets/comparative", json={"name": f"n{number}", "experiment_ids": ids})
    assert queries() == before


def test_a_pair_is_open_until_both_sides_have_a_score(script: Script) -> None:
    script.mark(script.run_of(script.a), 1)
    assert (script.outcomes(), script.counts()) == (["pending"], (0, 0, 1, 1))
    script.mark(script.run_of(script.b), 0)
    assert (script.outcomes(), script.counts()) == (["a"], (1, 0, 0, 1))


def test_a_deleted_mark_takes_its_judgment_along(script: Script) -> None:
    first = script.mark(script.run_of(script.a), 1)
    second = script.mark(script.run_of(script.b), 0)
    assert script.call("DELETE", f"/feedback/{second}").ok
    assert (script.outcomes(), script.counts()) == (["pending"], (0, 0, 1, 1))
    assert not Game.objects.filter(judgment__comparison=script.comparison).exists()
    assert script.call("DELETE", f"/feedback/{first}").ok
    assert (script.outcomes(), script.counts()) == ([], (0, 0, 0, 0))
    assert not Pair.objects.filter(comparison=script.comparison).exists()


def test_deleting_the_last_call_brings_back_the_one_before(script: Script) -> None:
    a, b = script.run_of(script.a), script.run_of(script.b)
    earlier, later = str(uuid4()), str(uuid4())
    script.mark(a, 1, feedback_group_id=earlier)
    script.mark(b, 0, feedback_group_id=earlier)
    again = [script.mark(a, 0, feedback_group_id=later), script.mark(b, 1, feedback_group_id=later)]
    assert script.outcomes() == ["b"]
    for uid in again:
        assert script.call("DELETE", f"/feedback/{uid}").ok
    assert (script.outcomes(), script.counts()) == (["a"], (1, 0, 0, 1))


def test_a_changed_mark_changes_the_judgment(script: Script) -> None:
    script.mark(script.run_of(script.a), 1)
    uid = script.mark(script.run_of(script.b), 0)
    assert script.call("PATCH", f"/feedback/{uid}", json={"score": 2}).ok
    assert (script.outcomes(), script.counts()) == (["b"], (0, 1, 0, 1))
    assert script.call("PATCH", f"/feedback/{uid}", json={"score": None}).ok
    assert (script.outcomes(), script.counts()) == (["pending"], (0, 0, 1, 1))


def test_examples_in_one_body_are_judged_each(script: Script) -> None:
    marks = [
        {
            "id": str(uuid4()),
            "run_id": str(script.run_of(experiment, number).uid),
            "key": "preference",
            "score": int((number < 2) == (experiment is script.a)),
            "comparative_experiment_id": str(script.comparison.uid),
        }
        for number in range(3)
        for experiment in (script.a, script.b)
    ]
    body = multipart(*(json_part(f"feedback.{mark['id']}", mark) for mark in marks))
    answer = script.call("POST", "/runs/multipart", data=body, headers=HEADERS)
    assert answer.status_code == 202, answer.text
    assert (script.outcomes(), script.counts()) == (["a", "a", "b"], (2, 1, 0, 3))


@pytest.mark.parametrize("traced_first", [False, True])
def test_the_order_shown_is_read_from_a_call_without_tags(
    script: Script, traced_first: bool
) -> None:
    """The TypeScript SDK sets no tags: the runs stand in the first argument, as they were shown."""
    a, b = script.run_of(script.a), script.run_of(script.b)
    traced = run_body(
        name="evaluator",
        session_name="evaluators",
        inputs={"args": [[{"id": str(b.uid)}, {"id": str(a.uid)}], {"id": str(a.example_uid)}]},
    )
    source = {"type": "model", "metadata": {"__run": {"run_id": traced["id"]}}}
    if traced_first:
        script.call("POST", "/runs", json=traced)
    script.mark(a, 1, feedback_source=source)
    script.mark(b, 0, feedback_source=source)
    if not traced_first:
        script.call("POST", "/runs", json=traced)
    game = Game.objects.get(judgment__comparison=script.comparison)
    assert (game.order_shown, game.verdict, game.winner) == ([b.uid, a.uid], "second", a.uid)


def test_marks_wait_for_runs_that_come_later(script: Script) -> None:
    late = run_body(
        session_id=str(script.a.uid), reference_example_id=str(script.run_of(script.b).example_uid)
    )
    Run.objects.filter(experiment=script.a).delete()
    waiting = {"id": str(uuid4()), "key": "preference", "run_id": late["id"], "score": 1}
    waiting["comparative_experiment_id"] = str(script.comparison.uid)
    assert script.call("POST", "/feedback", json=waiting).ok
    script.mark(script.run_of(script.b), 0)
    assert script.outcomes() == ["pending"]
    assert script.call("POST", "/runs", json=late).ok
    assert script.outcomes() == ["a"]


def test_a_run_sent_again_leaves_judgments_made_here_alone(
    call: Call, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace)
    a = make_experiment(dataset, ["4", "Paris", "green"])
    comparison = make_comparison(a, make_experiment(dataset, ["5", "London", "blue"]))
    judge(comparison, [Outcome.A, Outcome.B, Outcome.TIE])
    games = sorted(Game.objects.values_list("pk", "order_shown"))
    assert games
    for run in Run.objects.filter(experiment=a):
        assert call("PATCH", f"/runs/{run.uid}", json={"tags": ["seen"]}).status_code == 202
    assert sorted(Game.objects.values_list("pk", "order_shown")) == games
    outcomes = Judgment.objects.order_by("position").values_list("outcome", flat=True)
    assert list(outcomes) == ["a", "b", "tie"]
