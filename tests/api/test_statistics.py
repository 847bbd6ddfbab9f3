"""Paired scores and leaderboards over the API: the numbers of the pages."""

from __future__ import annotations

import json

import pytest

from evaluators.statistics.libraries import computed_with
from experiments.models import Dataset, Experiment, Feedback
from experiments.queries.leaderboard import board_of
from experiments.queries.score_comparison import compare_scores
from tests.api.conftest import Call
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def systems(workspace: Workspace) -> list[Experiment]:
    dataset = make_dataset(workspace, ["x"] * 6)
    made = [make_experiment(dataset, [name] * 6, name=name) for name in ("one", "two", "three")]
    for number, system in enumerate(made):
        Feedback.objects.bulk_create(
            Feedback(
                workspace=workspace,
                experiment=system,
                run_uid=run.uid,
                key="f1",
                score=0.1 * place + 0.2 * number + 0.01 * (place * number % 3),
            )
            for place, run in enumerate(system.runs.order_by("pk"))
        )
    judge(make_comparison(made[0], made[1]), ["a", "a", "a", "b", "b", "tie"])
    judge(make_comparison(made[1], made[2]), ["a", "a", "b", "b", "b", "tie"])
    return made


def dataset_of(systems: list[Experiment]) -> Dataset:
    dataset = systems[0].dataset
    assert dataset is not None
    return dataset


def test_scores_are_those_of_the_page(call: Call, systems: list[Experiment]) -> None:
    path = f"/datasets/{dataset_of(systems).uid}/scores"
    uids = [str(one.uid) for one in systems]
    answer = call("GET", path, params={"experiment": uids, "key": "f1"})
    assert answer.status_code == 200
    expected = compare_scores(systems, keys=["f1"]).as_dict()
    told = answer.json()
    assert told.pop("computed_with") == computed_with()
    assert told == json.loads(json.dumps(expected))
    assert told["tests"] == 2


@pytest.mark.parametrize(
    ("asked", "field"), [([], "experiment"), (["x"], "experiment"), (["\x00"], "experiment")]
)
def test_scores_name_what_is_wrong(
    call: Call, systems: list[Experiment], asked: list[str], field: str
) -> None:
    path = f"/datasets/{dataset_of(systems).uid}/scores"
    answer = call("GET", path, params={"experiment": asked})
    assert answer.status_code == 422
    assert field in answer.text


def test_the_board_is_that_of_the_page(call: Call, systems: list[Experiment]) -> None:
    dataset = dataset_of(systems)
    path = f"/datasets/{dataset.uid}/leaderboard"
    answer = call("GET", path, params={"model": "davidson", "source": "judge"})
    assert answer.status_code == 200
    expected = board_of(dataset, model="davidson", source="judge").as_dict()
    told = answer.json()
    assert told.pop("computed_with") == computed_with()
    assert told == json.loads(json.dumps(expected))
    assert {one["name"] for one in answer.json()["systems"]} == {"one", "two", "three"}
    people = call("GET", path, params={"source": "people"}).json()
    assert people["games"] == 0


def test_the_board_names_what_is_wrong(call: Call, systems: list[Experiment]) -> None:
    path = f"/datasets/{dataset_of(systems).uid}/leaderboard"
    assert "davidson" in call("GET", path, params={"model": "elo"}).text
    assert "people" in call("GET", path, params={"source": "x"}).text


def test_strangers_find_neither(call_as_stranger: Call, systems: list[Experiment]) -> None:
    for kind in ("scores", "leaderboard"):
        path = f"/datasets/{dataset_of(systems).uid}/{kind}"
        assert call_as_stranger("GET", path).status_code == 404
