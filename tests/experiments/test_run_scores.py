"""What a judged run is given as feedback: its score, one per criterion, a mark if torn."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators import Unasked, load_evaluator
from experiments.models import Evaluation, Feedback, Run
from experiments.services.comparisons import create_evaluation
from experiments.services.evaluators import configure_evaluator
from experiments.services.lanes import Claimed
from experiments.services.providers import save_provider
from experiments.services.run_scores import record_runs
from experiments.services.subjects import Answer, Work
from experiments.texts import CONTRADICTS, reason_of
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db

CRITERIA = {"short": "Is it short?", "true": "Is it true?"}


@pytest.fixture
def evaluation(workspace: Workspace) -> Evaluation:
    provider = save_provider(
        workspace=workspace, name="m", base_url="https://models.example/v1", model="m"
    )
    evaluator = configure_evaluator(
        workspace=workspace,
        kind="criteria",
        name="good",
        settings={"criteria": CRITERIA},
        provider=provider,
    )
    experiment = make_experiment(make_dataset(workspace, ["1", "2"]), ["1", "2"])
    return create_evaluation(experiment=experiment, evaluator=evaluator)


def _record(evaluation: Evaluation, *replies: str) -> None:
    judge = load_evaluator("criteria", llm=Unasked(), criteria=CRITERIA)
    runs = Run.objects.filter(experiment=evaluation.experiment).order_by("pk")
    finished = [
        (
            Work(item=Claimed(1, 1, run.pk, 0, 0), questions=[], runs=[run.uid], samples=[]),
            [Answer(judge.read_reply(reply))],
        )
        for run, reply in zip(runs, replies, strict=True)
    ]
    record_runs(evaluation, finished)


def _scores(evaluation: Evaluation) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    rows = Feedback.objects.filter(experiment=evaluation.experiment_id).order_by("run_uid")
    for key, score in rows.values_list("key", "score"):
        found.setdefault(key, []).append(score)
    return found


def test_each_criterion_has_a_score_of_its_own(evaluation: Evaluation) -> None:
    _record(evaluation, "short: Y\ntrue: Y\n\nY", "short: Y\ntrue: N\n\nN")
    assert _scores(evaluation) == {"good": [1, 0], "good.short": [1, 1], "good.true": [1, 0]}


def test_a_torn_verdict_is_marked_and_stands(evaluation: Evaluation) -> None:
    _record(evaluation, "short: N\ntrue: Y\n\nY", "It meets every criterion.\n\nN")
    scores = _scores(evaluation)
    assert (scores["good"], scores["good.inconsistent"]) == ([1, 0], [1, 1])
    comments = Feedback.objects.filter(key="good").values_list("comment", flat=True)
    assert all(CONTRADICTS in (comment or "") for comment in comments)


def test_what_is_not_said_again_is_taken_back(evaluation: Evaluation) -> None:
    _record(evaluation, "short: N\ntrue: Y\n\nY", "short: N\ntrue: Y\n\nY")
    _record(evaluation, "short: Y\ntrue: Y\n\nY", "N")
    assert _scores(evaluation) == {"good": [1, 0], "good.short": [1], "good.true": [1]}


def test_the_reason_of_a_pair_says_what_is_odd() -> None:
    judge = load_evaluator("pairwise_string", llm=Unasked())
    torn = judge.read_reply("Assistant A is clearly better.\n[[B]]")
    assert reason_of(torn).startswith(f"({CONTRADICTS}) Assistant A")
    assert CONTRADICTS not in reason_of(judge.read_reply("B says more.\n[[B]]"))
