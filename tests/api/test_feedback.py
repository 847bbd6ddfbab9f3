"""Feedback through the real client and by hand."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from langsmith import Client
from langsmith.schemas import FeedbackSourceType
from langsmith.utils import LangSmithNotFoundError

from experiments.models import Feedback
from tests.api.bodies import HEADERS, case, json_part, multipart, run_body
from tests.api.conftest import Call
from tiebreak.accounts.models import Workspace

SESSION = "11111111-0000-4000-8000-000000005e55"


def make_run(client: Client, project: str = "p") -> Any:
    uid = uuid4()
    client.create_run("r", {"q": 1}, "chain", id=uid, outputs={}, project_name=project)
    client.flush()
    return uid


@pytest.mark.parametrize(
    ("score", "value"),
    [
        (1, None),
        (0.25, None),
        (True, None),
        (False, "text"),
        (None, {"a": [1]}),
        (-3.5, 7),
        (0, ""),
    ],
)
def test_feedback_is_read_as_it_was_given(client: Client, score: Any, value: Any) -> None:
    run = make_run(client)
    made = client.create_feedback(
        run,
        "k",
        score=score,
        value=value,
        comment="c\u00e9\x00",
        correction={"a": "better"},
        source_info={"who": "me"},
        extra={"x": 1},
    )
    client.flush()
    read = client.read_feedback(made.id)
    assert (read.score, type(read.score)) == (score, type(score))
    assert (read.value, read.comment) == (value, "c\u00e9\x00")
    assert read.correction == {"a": "better"}
    assert read.run_id == read.trace_id == run
    assert read.feedback_source is not None
    assert read.feedback_source.type == "api"
    assert read.feedback_source.metadata == {"who": "me"}
    assert read.extra == {"x": 1}


def test_an_update_changes_what_it_names(client: Client) -> None:
    run = make_run(client)
    made = client.create_feedback(run, "k", score=1, comment="first", value="v")
    client.flush()
    client.update_feedback(made.id, score=0.5)
    read = client.read_feedback(made.id)
    assert (read.score, read.comment, read.value) == (0.5, "first", "v")
    client.delete_feedback(made.id)
    with pytest.raises(LangSmithNotFoundError):
        client.read_feedback(made.id)


def test_null_clears(call: Call) -> None:
    run = run_body()
    call("POST", "/runs", json=run)
    body = {"run_id": run["id"], "key": "k", "score": 1, "comment": "c"}
    uid = call("POST", "/feedback", json=body).json()["id"]
    changed = call("PATCH", f"/feedback/{uid}", json={"score": None}).json()
    assert (changed["score"], changed["comment"]) == (None, "c")
    assert call("PATCH", f"/feedback/{uid}", json={"other": 1}).status_code == 422


def test_lists_obey_every_filter(client: Client) -> None:
    one, two = make_run(client, "p"), make_run(client, "q")
    client.create_feedback(one, "a", score=1, feedback_source_type="model")
    client.create_feedback(one, "b", score=0, comment="c")
    client.create_feedback(two, "a")
    client.flush()
    q = client.read_project(project_name="q")

    def found(**filters: Any) -> list[tuple[str, bool]]:
        return sorted((row.key, row.run_id == one) for row in client.list_feedback(**filters))

    assert found() == [("a", False), ("a", True), ("b", True)]
    assert found(run_ids=[one]) == [("a", True), ("b", True)]
    assert found(feedback_key=["a"]) == [("a", False), ("a", True)]
    assert found(feedback_source_type=[FeedbackSourceType.MODEL]) == [("a", True)]
    assert found(feedback_source_type=["api"], run_ids=[one]) == [("b", True)]
    assert found(session=[str(q.id)]) == [("a", False)]
    assert found(has_score="true", feedback_key=["a"]) == [("a", True)]
    assert found(has_comment="True") == [("b", True)]
    assert len(found(limit=2)) == 2


def test_it_waits_for_its_run_or_says_what_is_missing(call: Call, workspace: Workspace) -> None:
    steps = case("feedback_missing")
    answers = [
        call(step["method"], step["path"], json=step["body"]) for step in steps if "method" in step
    ]
    assert [answer.status_code for answer in answers] == [200, 202, 200, 200, 404, 422]
    assert "11111111-0000-4000-8000-0000000000c0" in answers[4].json()["detail"]
    assert "run_id" in answers[5].json()["detail"]
    assert "session_id" in answers[5].json()["detail"]

    early = call("GET", "/feedback/11111111-0000-4000-8000-0000000000f1").json()
    assert early["session_id"] == SESSION
    assert early["trace_id"] == early["run_id"]
    session = call("GET", f"/sessions/{SESSION}", params={"include_stats": "true"}).json()
    assert session["feedback_stats"].keys() == {"early"}
    assert session["session_feedback_stats"]["summary_f1"]["avg"] == 0.82

    assert call("DELETE", f"/sessions/{SESSION}").status_code == 200
    assert call("GET", "/feedback/11111111-0000-4000-8000-0000000000f1").status_code == 404
    assert not Feedback.objects.filter(workspace=workspace).exists()


def test_a_failed_evaluator_is_an_error_and_no_score(call: Call) -> None:
    run = run_body()
    call("POST", "/runs", json=run)
    for body in (
        {"score": 1},
        {"score": None, "comment": "ValueError()", "extra": {"error": True}, "error": True},
    ):
        call("POST", "/feedback", json={"run_id": run["id"], "key": "k", **body})
    [session] = call("GET", "/sessions?name=project&include_stats=true").json()
    for stats in (
        session["feedback_stats"]["k"],
        call("GET", f"/runs/{run['id']}").json()["feedback_stats"]["k"],
    ):
        assert (stats["n"], stats["avg"], stats["errors"]) == (1, 1, 1)


def test_texts_are_counted(call: Call) -> None:
    run = run_body()
    call("POST", "/runs", json=run)
    for value in ("good", "bad", "good"):
        call("POST", "/feedback", json={"run_id": run["id"], "key": "k", "value": value})
    [session] = call("GET", "/sessions?name=project&include_stats=true").json()
    assert session["feedback_stats"]["k"]["values"] == {"good": 2, "bad": 1}
    stats = call("GET", f"/runs/{run['id']}").json()["feedback_stats"]["k"]
    assert (stats["values"], stats["n"]) == ({"good": 2, "bad": 1}, 3)


def test_values_that_are_no_texts_are_counted_as_json(call: Call) -> None:
    run = run_body()
    call("POST", "/runs", json=run)
    for text in ('{"a":true}', '{ "a": true }', "1", '"1"', "false"):
        body = f'{{"run_id": "{run["id"]}", "key": "k", "value": {text}}}'
        answer = call("POST", "/feedback", data=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 200, answer.text
    expected = {'{"a":true}': 2, "1": 2, "false": 1}
    [session] = call("GET", "/sessions?name=project&include_stats=true").json()
    assert session["feedback_stats"]["k"]["values"] == expected
    assert call("GET", f"/runs/{run['id']}").json()["feedback_stats"]["k"]["values"] == expected


def test_each_key_shows_its_most_frequent_values(call: Call) -> None:
    """Free texts of one key leave those of another alone."""
    run = run_body()
    rows = [{"run_id": run["id"], "key": "free", "value": f"text {n}"} for n in range(1100)]
    rows += [{"run_id": run["id"], "key": "mark", "value": "rare"}]
    parts = [json_part(f"feedback.{uuid4()}", row) for row in rows]
    call("POST", "/runs", json=run)
    answer = call("POST", "/runs/multipart", data=multipart(*parts), headers=HEADERS)
    assert answer.status_code == 202, answer.text
    [session] = call("GET", "/sessions?name=project&include_stats=true").json()
    assert session["feedback_stats"]["mark"]["values"] == {"rare": 1}
    assert session["feedback_stats"]["free"]["n"] == 1100
    assert len(session["feedback_stats"]["free"]["values"]) == 100


def test_booleans_count_as_one_and_zero(call: Call) -> None:
    run = run_body()
    call("POST", "/runs", json=run)
    for score in (True, False, True, True):
        call("POST", "/feedback", json={"run_id": run["id"], "key": "k", "score": score})
    stats = call("GET", f"/runs/{run['id']}").json()["feedback_stats"]["k"]
    assert (stats["n"], stats["avg"]) == (4, 0.75)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("score", "1"),
        ("score", 10**400),
        ("score", -(10**309)),
        ("score", [1]),
        ("value", ["a"]),
        ("comment", {"a": 1}),
        ("key", ""),
        ("key", "k" * 401),
        ("id", "x"),
        ("feedback_source", "me"),
    ],
)
def test_it_names_the_field_that_is_wrong(call: Call, field: str, value: Any) -> None:
    body = {"run_id": str(uuid4()), "key": "k", "score": 1, field: value}
    answer = call("POST", "/feedback", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_bad_feedback_in_a_batch_leaves_the_rest(call: Call) -> None:
    run = run_body()
    good, bad, lost = (str(uuid4()) for _ in range(3))
    body = multipart(
        json_part(f"post.{run['id']}", run),
        json_part(f"feedback.{good}", {"run_id": run["id"], "key": "k", "score": 1}),
        json_part(f"feedback.{bad}", {"run_id": run["id"], "key": "k", "score": "x"}),
        json_part(
            f"feedback.{lost}",
            {"run_id": run["id"], "key": "k", "comparative_experiment_id": str(uuid4())},
        ),
    )
    answer = call("POST", "/runs/multipart", data=body, headers=HEADERS)
    assert answer.status_code == 422
    assert [(e["id"], e["field"]) for e in answer.json()["errors"]] == [
        (bad, "score"),
        (lost, "comparative_experiment_id"),
    ]
    assert call("GET", f"/feedback/{good}").status_code == 200
    assert call("GET", f"/runs/{run['id']}").status_code == 200
