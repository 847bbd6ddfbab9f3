"""Launching and following comparisons over the API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from experiments.models import Comparison, Experiment
from tests.api.conftest import Call
from tests.engine.processes import Worker, eventually
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pair(workspace: Workspace) -> tuple[Experiment, Experiment]:
    dataset = make_dataset(
        workspace, ["one", "two", "three"], splits=[["x"], ["x"], ["y"]], name="numbers"
    )
    return (
        make_experiment(dataset, ["one", "too", "three"], name="good"),
        make_experiment(dataset, ["on", "two", "three"], name="bad"),
    )


def launch(call: Call, pair: tuple[Experiment, Experiment], **changes: Any) -> Any:
    body = {
        "experiment_ids": [str(row.uid) for row in pair],
        "evaluators": ["nearer_by_string_distance"],
        **changes,
    }
    return call("POST", "/comparisons", json=body)


def test_it_launches_follows_and_reads_a_comparison(
    worker: Worker, call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    answer = launch(call, pair, name="good or bad", metadata={"ticket": 7})
    assert answer.status_code == 201
    path = f"/comparisons/{answer.json()['id']}"

    def ended() -> Any:
        found = call("GET", path).json()
        return found if found["job"]["state"] == "complete" else None

    found = eventually(ended, 30, "it is complete")
    assert (found["name"], found["metadata"]) == ("good or bad", {"ticket": 7})
    evaluator = found["evaluators"][0]
    counts = evaluator["counts"]
    assert (counts["a"], counts["b"], counts["tie"], counts["total"]) == (1, 1, 1, 3)
    assert evaluator["verdict"]["outcome"] == "not_settled"
    rows = call("GET", f"{path}/rows", params={"out": "a"}).json()["rows"]
    assert [(row["outcome"], row["a"]["output"]) for row in rows] == [("a", "one")]
    only_y = call("GET", f"{path}/rows", params={"split": "y"}).json()["rows"]
    assert [row["reference"] for row in only_y] == ["three"]
    first = call("GET", f"{path}/rows", params={"limit": 2}).json()
    rest = call("GET", f"{path}/rows", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert len(first["rows"]) == 2
    assert len(rest["rows"]) == 1
    assert rest["next_cursor"] is None


def test_the_same_id_launches_once(call: Call, pair: tuple[Experiment, Experiment]) -> None:
    uid = str(uuid4())
    assert launch(call, pair, id=uid).status_code == 201
    assert launch(call, pair, id=uid).status_code == 200
    assert Comparison.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"experiment_ids": []}, "experiment_ids"),
        ({"evaluators": []}, "evaluators"),
        ({"evaluators": ["no_such_kind"]}, "evaluators"),
        ({"evaluators": ["exact_match"]}, "evaluators"),
        ({"evaluators": ["pairwise_string"]}, "provider_id"),
        ({"order": "sideways"}, "order"),
        ({"max_concurrency": 5000}, "max_concurrency"),
        ({"evaluators": "nearer_by_string_distance"}, "evaluators"),
    ],
)
def test_it_names_the_field_of_what_it_refuses(
    call: Call, pair: tuple[Experiment, Experiment], changes: dict[str, Any], field: str
) -> None:
    answer = launch(call, pair, **changes)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(f"{field}:")
    assert Comparison.objects.count() == 0


def test_it_refuses_an_experiment_against_itself(
    call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    answer = launch(call, (pair[0], pair[0]))
    assert answer.status_code == 422
    assert answer.json()["field"] == "experiment_ids"
    assert "must differ" in answer.json()["detail"]


def test_rows_are_asked_for_by_at_least_one(
    call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    uid = launch(call, pair).json()["id"]
    answer = call("GET", f"/comparisons/{uid}/rows", params={"limit": 0})
    assert (answer.status_code, answer.json()["field"]) == (422, "limit")
    assert "1 to 1000" in answer.json()["detail"]


def test_it_says_how_many_calls_at_once_it_takes(
    call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    for wrong in (0, 5000, "8"):
        answer = launch(call, pair, max_concurrency=wrong)
        assert answer.status_code == 422
        assert answer.json()["detail"] == "max_concurrency: must be a whole number from 1 to 1024"


def test_the_comparisons_of_a_dataset_are_listed_page_by_page(
    call: Call, call_as_stranger: Call, pair: tuple[Experiment, Experiment]
) -> None:
    made = [launch(call, pair, name=f"number {n}").json()["id"] for n in range(3)]
    assert pair[0].dataset is not None
    question: dict[str, Any] = {"dataset_id": str(pair[0].dataset.uid), "limit": 2}
    first = call("GET", "/comparisons", params=question).json()
    rest = call("GET", "/comparisons", params=question | {"cursor": first["next_cursor"]}).json()
    assert [row["id"] for row in first["comparisons"] + rest["comparisons"]] == made[::-1]
    assert rest["next_cursor"] is None
    assert call("GET", "/comparisons").status_code == 422
    assert call_as_stranger("GET", "/comparisons", params=question).status_code == 404


def test_it_refuses_experiments_of_different_datasets_or_with_nothing_shared(
    call: Call, workspace: Workspace, pair: tuple[Experiment, Experiment]
) -> None:
    other = make_experiment(make_dataset(workspace), ["4", "Paris", "blue"])
    assert launch(call, (pair[0], other)).status_code == 422
    assert pair[0].dataset is not None
    empty = make_experiment(pair[0].dataset, [None, None, None])
    answer = launch(call, (pair[0], empty))
    assert answer.status_code == 422
    assert "no example in common" in answer.json()["detail"]


def test_a_stranger_gets_404(
    call: Call, call_as_stranger: Call, pair: tuple[Experiment, Experiment]
) -> None:
    uid = launch(call, pair).json()["id"]
    assert call_as_stranger("GET", f"/comparisons/{uid}").status_code == 404
    assert call_as_stranger("GET", f"/comparisons/{uid}/rows").status_code == 404
    assert call_as_stranger("POST", f"/comparisons/{uid}/cancel").status_code == 404
    assert launch(call_as_stranger, pair).status_code == 404


def test_it_evaluates_an_experiment(
    worker: Worker, call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    answer = call("POST", f"/experiments/{pair[0].uid}/evaluations", json={"kind": "exact_match"})
    assert answer.status_code == 201
    uid = answer.json()["id"]
    eventually(
        lambda: call("GET", f"/evaluations/{uid}").json()["job"]["state"] == "complete", 30, "ends"
    )
    runs = call("GET", "/feedback", params={"session": str(pair[0].uid)}).json()
    assert sorted(row["score"] for row in runs) == [0, 1, 1]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("json_fields", {"ignore": 5}, "ignore must be a text, not 5"),
        ("bleu", {"tokenize": "xx"}, "tokenize must be one of 13a, intl"),
        ("length", {"unit": []}, "unit must be one of words, characters, sentences"),
        ("numeric_match", {"tolerance": "much"}, "tolerance must be a number"),
        ("trajectory_match", {"by_tool": 5}, "by_tool must be a mapping"),
    ],
)
def test_it_refuses_settings_that_do_not_fit_by_name(
    call: Call,
    pair: tuple[Experiment, Experiment],
    kind: str,
    settings: dict[str, Any],
    message: str,
) -> None:
    body = {"kind": kind, "settings": settings}
    answer = call("POST", f"/experiments/{pair[0].uid}/evaluations", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, "settings")
    assert message in answer.json()["detail"]


def test_a_score_of_one_answer_decides_between_two(
    worker: Worker, call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    scored = {
        "kind": "better_score",
        "name": "spelling",
        "settings": {"scored_by": "string_distance", "settings": {"distance": "levenshtein"}},
    }
    path = f"/comparisons/{launch(call, pair, evaluators=[scored]).json()['id']}"
    eventually(lambda: call("GET", path).json()["job"]["state"] == "complete", 30, "it ends")
    counts = call("GET", path).json()["evaluators"][0]["counts"]
    assert (counts["a"], counts["b"], counts["tie"]) == (1, 1, 1)


def test_it_lists_the_kinds_of_evaluators(call: Call) -> None:
    kinds = {row["kind"]: row for row in call("GET", "/evaluators").json()}
    assert kinds["pairwise_string"]["needs_model"] is True
    assert kinds["pairwise_string"]["order_matters"] is True
    assert kinds["nearer_by_string_distance"]["order_matters"] is False


def test_four_at_once_with_one_id_are_one_launch(
    call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    uid = str(uuid4())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: launch(call, pair, id=uid), range(4)))
    assert {answer.json()["id"] for answer in answers} == {uid}
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert Comparison.objects.count() == 1
