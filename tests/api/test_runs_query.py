"""Reading runs: every argument, the filter language, cursors, select, statistics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from langsmith import Client

from tests.api.bodies import run_body
from tests.api.conftest import Call

START = datetime(2026, 3, 1, tzinfo=UTC)


def make_runs(call: Call, *changes: dict[str, Any], project: str = "p") -> list[UUID]:
    """Root runs, a minute apart, each a second long unless it says otherwise."""
    uids = []
    for number, change in enumerate(changes):
        uid = uuid4()
        start = START + timedelta(minutes=number)
        seconds = change.pop("seconds", 1)
        body = run_body(
            uid,
            session_name=project,
            start_time=start.isoformat(),
            end_time=(start + timedelta(seconds=seconds)).isoformat(),
            dotted_order=f"{start:%Y%m%dT%H%M%S%fZ}{uid}",
        )
        answer = call("POST", "/runs", json=body | change)
        assert answer.status_code == 202, answer.text
        uids.append(uid)
    return uids


def make_child(call: Call, parent: UUID, **changes: Any) -> UUID:
    uid = uuid4()
    order = call("GET", f"/runs/{parent}").json()
    body = run_body(
        uid,
        session_name="p",
        trace_id=order["trace_id"],
        parent_run_id=str(parent),
        dotted_order=f"{order['dotted_order']}.20260301T000000500000Z{uid}",
    )
    assert call("POST", "/runs", json=body | changes).status_code == 202
    return uid


def test_every_argument_narrows_the_answer(client: Client, call: Call) -> None:
    example = uuid4()
    a, b, c = make_runs(
        call,
        {"name": "alpha", "outputs": {"text": "a needle in hay"}},
        {"name": "beta", "run_type": "llm", "error": "Boom"},
        {"name": "gamma", "reference_example_id": str(example)},
    )
    child = make_child(call, a, name="child", run_type="tool")
    [other] = make_runs(call, {"name": "elsewhere"}, project="q")

    def found(**arguments: Any) -> set[UUID]:
        return {run.id for run in client.list_runs(**arguments)}

    assert found(project_name="p") == {a, b, c, child}
    assert found(project_name=["p", "q"]) == {a, b, c, child, other}
    assert found(project_id=client.read_project(project_name="q").id) == {other}
    assert found(project_name="p", is_root=True) == {a, b, c}
    assert found(project_name="p", is_root=False) == {child}
    assert found(project_name="p", run_type="llm") == {b}
    assert found(project_name="p", error=True) == {b}
    assert found(project_name="p", error=False) == {a, c, child}
    assert found(trace_id=a) == {a, child}
    assert found(parent_run_id=a) == {child}
    assert found(reference_example_id=example) == {c}
    assert found(run_ids=[a, other]) == {a, other}
    assert found(project_name="p", start_time=START + timedelta(minutes=1)) == {b, c, child}
    assert found(project_name="p", query="NEEDLE") == {a}
    assert found(project_name="p", filter='eq(name, "beta")') == {b}
    assert found(project_name="p", trace_filter='eq(name, "alpha")') == {a, child}
    assert found(project_name="p", tree_filter='eq(name, "child")') == {a, child}
    assert [run.id for run in client.list_runs(project_name="p", is_root=True)] == [c, b, a]
    assert len(list(client.list_runs(project_name="p", limit=2))) == 2


def test_a_run_is_read_with_its_children(client: Client, call: Call) -> None:
    [root] = make_runs(call, {})
    child = make_child(call, root)
    read = client.read_run(root, load_child_runs=True)
    assert [run.id for run in read.child_runs or []] == [child]


def test_ascending_order_and_first_level_only(call: Call) -> None:
    uids = make_runs(call, {}, {}, {})
    make_child(call, uids[0])
    [session] = call("GET", "/sessions?name=p").json()
    body = {"session": [session["id"]], "execution_order": 1, "order": "asc", "start_time": None}
    rows = call("POST", "/runs/query", json=body).json()["runs"]
    assert [row["id"] for row in rows] == [str(uid) for uid in uids]


FILTERS = [
    ('eq(name, "alpha")', "a"),
    ("eq(name, 'alpha')", "a"),
    ('neq(name, "alpha")', "bc"),
    ('in(name, ["alpha", "beta"])', "ab"),
    ('search(name, "ALPH")', "a"),
    ('search("needle")', "a"),
    ('search(inputs, "needle")', "a"),
    ('eq(run_type, "llm")', "b"),
    ('eq(status, "error")', "b"),
    ("neq(error, null)", "b"),
    ("eq(error, null)", "ac"),
    ('search(error, "boom")', "b"),
    ("gt(latency, 1.5)", "c"),
    ("and(gte(latency, 1), lt(latency, 1.5))", "ab"),
    ('gt(start_time, "2026-03-01T00:00:30Z")', "bc"),
    ('lte(end_time, "2026-03-01T00:00:01Z")', "a"),
    ("gt(total_tokens, 99)", "c"),
    ("gte(total_cost, 0.5)", "c"),
    ('has(tags, "x")', "ab"),
    ('and(has(tags, "x"), has(tags, "y"))', "b"),
    ('or(eq(name, "alpha"), eq(name, "gamma"))', "ac"),
    ('not(has(tags, "x"))', "c"),
    ('and(eq(metadata_key, "k"), eq(metadata_value, "v"))', "a"),
    ('and(eq(metadata_key, "k"), eq(metadata_value, "2"))', "b"),
    ('and(eq(metadata_key, "k"), eq(metadata_value, 2))', "b"),
    ('and(eq(metadata_key, "k"), in(metadata_value, ["v", "w"]))', "ac"),
    ('and(eq(metadata_key, "k"), gt(metadata_value, 1))', "b"),
    ('and(eq(metadata_key, "o"), eq(metadata_value, \'{"a":  1}\'))', "c"),
    ('eq(metadata_key, "o")', "c"),
    ('has(metadata, \'{"k": "v"}\')', "a"),
    ('exists(metadata, "o")', "c"),
    ('eq(feedback_key, "mark")', "ab"),
    ('and(eq(feedback_key, "mark"), gt(feedback_score, 0.5))', "a"),
    ('and(eq(feedback_key, "other"), gt(feedback_score, 0.5))', ""),
    ('eq(thread_id, "t1")', "a"),
    ("eq(is_root, true)", "abc"),
    ("eq(is_root, false)", ""),
    ('and(eq(is_root, true), or(eq(name, "beta"), and(has(tags, "x"), gt(latency, 0))))', "ab"),
]


def test_the_filter_language(call: Call) -> None:
    usage = {"input_tokens": 60, "output_tokens": 40, "total_cost": 0.75}
    uids = make_runs(
        call,
        {
            "name": "alpha",
            "tags": ["x"],
            "inputs": {"q": "a needle"},
            "extra": {"metadata": {"k": "v", "session_id": "t1"}},
        },
        {
            "name": "beta",
            "run_type": "llm",
            "error": "Boom!",
            "tags": ["x", "y"],
            "extra": {"metadata": {"k": 2}},
        },
        {
            "name": "gamma",
            "seconds": 2,
            "extra": {"metadata": {"k": "w", "o": {"a": 1}, "usage_metadata": usage}},
        },
    )
    for uid, score in ((uids[0], 1), (uids[1], 0.25)):
        call("POST", "/feedback", json={"run_id": str(uid), "key": "mark", "score": score})
    call("POST", "/feedback", json={"run_id": str(uids[0]), "key": "other", "score": 0})
    letters = dict(zip(map(str, uids), "abc", strict=True))
    for text, expected in FILTERS:
        answer = call("POST", "/runs/query", json={"filter": text})
        assert answer.status_code == 200, (text, answer.text)
        found = sorted(letters[row["id"]] for row in answer.json()["runs"])
        assert "".join(found) == expected, text


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("eq(name", 8),
        ("eq(name, )", 10),
        ('eq(name, "a") x', 15),
        ("nonsense(name, 1)", 1),
        ('eq(banana, "a")', 1),
        ('eq(name, "open', 10),
        ("and()", 1),
        ('gt(latency, "slow")', 1),
        ('eq(id, "x")', 1),
        ("name", 1),
        ("not(" * 40 + "eq(name, 1)" + ")" * 40, 125),
    ],
)
def test_a_bad_filter_is_refused_where_it_breaks(call: Call, text: str, position: int) -> None:
    answer = call("POST", "/runs/query", json={"filter": text})
    assert answer.status_code == 400
    assert f"(at character {position})" in answer.json()["detail"]


def test_cursors_give_every_run_once_under_writes(client: Client, call: Call) -> None:
    """A hundred and thirty runs with the same start, and more that come while we read."""
    bodies = [run_body(session_name="p") for _ in range(130)]
    call("POST", "/runs/batch", json={"post": bodies})
    seen, cursor = [], None
    [session] = call("GET", "/sessions?name=p").json()
    while True:
        body = {"session": [session["id"]], "select": ["name"], "cursor": cursor}
        answer = call("POST", "/runs/query", json=body).json()
        seen += [row["id"] for row in answer["runs"]]
        cursor = answer["cursors"]["next"]
        if cursor is None:
            break
        call("POST", "/runs", json=run_body(session_name="p"))
    assert len(seen) == len(set(seen))
    assert {body["id"] for body in bodies} <= set(seen)
    assert len(list(client.list_runs(project_name="p", limit=105))) == 105
    assert call("POST", "/runs/query", json={"cursor": "nonsense"}).status_code == 422


def test_select_leaves_out_what_is_not_asked_for(call: Call) -> None:
    make_runs(call, {"extra": {"metadata": {"a": 1}}})
    [row] = call("POST", "/runs/query", json={"select": ["outputs", "no_such"]}).json()["runs"]
    assert row["outputs"] == {"answer": "a"}
    assert {"id", "name", "run_type", "start_time", "trace_id", "session_id"} <= row.keys()
    assert not {"inputs", "extra", "status", "feedback_stats", "no_such"} & row.keys()


def test_usage_is_exact_and_comes_with_its_details(client: Client, call: Call) -> None:
    usage = {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "input_token_details": {"cache_read": 80},
        "output_token_details": {"reasoning": 5},
        "input_cost": 0.000001,
        "output_cost": 0.0000021,
        "total_cost": 0.0000031,
        "input_cost_details": {"cache_read": 0.0000005},
    }
    in_metadata, in_outputs = make_runs(
        call,
        {"run_type": "llm", "extra": {"metadata": {"usage_metadata": usage}}},
        {"run_type": "llm", "outputs": {"usage_metadata": usage}},
    )
    for uid in (in_metadata, in_outputs):
        for run in (client.read_run(uid), next(client.list_runs(run_ids=[uid]))):
            assert (run.prompt_tokens, run.completion_tokens, run.total_tokens) == (100, 20, 120)
            assert run.prompt_token_details == {"cache_read": 80}
            assert run.completion_token_details == {"reasoning": 5}
            assert (run.prompt_cost, run.completion_cost) == (
                Decimal("0.000001"),
                Decimal("0.0000021"),
            )
            assert run.total_cost == Decimal("0.0000031")
            assert run.prompt_cost_details == {"cache_read": Decimal("5E-7")}


def test_statistics_of_any_set_of_runs(client: Client, call: Call) -> None:
    make_runs(call, {"seconds": 1}, {"seconds": 3, "error": "Boom"}, {"seconds": 5, "name": "x"})
    everything = client.get_run_stats(project_names=["p"])
    assert (everything["run_count"], everything["latency_p50"]) == (3, 3)
    assert everything["error_rate"] == pytest.approx(1 / 3)
    some = client.get_run_stats(project_names=["p"], filter='eq(name, "x")')
    assert (some["run_count"], some["latency_p50"], some["error_rate"]) == (1, 5, 0)


def test_threads_are_runs_that_name_the_same_conversation(client: Client, call: Call) -> None:
    make_runs(
        call,
        {"name": "1", "extra": {"metadata": {"thread_id": "t"}}},
        {"name": "2", "extra": {"metadata": {"conversation_id": "t"}}},
        {"name": "3", "extra": {"metadata": {"session_id": "u", "thread_id": "t"}}},
    )
    rows = call("POST", "/runs/query", json={"filter": 'eq(thread_id, "t")'}).json()["runs"]
    assert sorted(row["name"] for row in rows) == ["1", "2"]
    assert {row["thread_id"] for row in rows} == {"t"}
    threads = client.list_threads(project_name="p", start_time=START)
    assert sorted((thread["thread_id"], thread["count"]) for thread in threads) == [
        ("t", 2),
        ("u", 1),
    ]


def test_a_query_waits_a_moment_for_runs_on_their_way(call: Call) -> None:
    """A young experiment that expects a run it does not have yet."""
    import threading

    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    body = {"name": "e", "reference_dataset_id": dataset, "num_examples": 1, "num_repetitions": 1}
    session = call("POST", "/sessions", json=body).json()["id"]
    late = threading.Timer(0.5, lambda: call("POST", "/runs", json=run_body(session_id=session)))
    late.start()
    query = {"session": [session], "is_root": True}
    assert len(call("POST", "/runs/query", json=query).json()["runs"]) == 1
    late.join()


def test_results_stand_beside_their_examples(client: Client, call: Call) -> None:
    dataset = client.create_dataset("d")
    examples = [client.create_example({"n": n}, dataset_id=dataset.id) for n in range(3)]
    project = client.create_project("e", reference_dataset_id=dataset.id)
    make_runs(
        call,
        {"reference_example_id": str(examples[0].id), "outputs": {"a": 1}},
        {"reference_example_id": str(examples[0].id), "outputs": {"a": 2}},
        {"reference_example_id": str(examples[2].id), "outputs": {"a": 3}},
        project="e",
    )
    results = client.get_experiment_results(name="e")
    found = [
        ((row.inputs or {})["n"], [(run.outputs or {})["a"] for run in row.runs])
        for row in results["examples_with_runs"]
    ]
    assert found == [(0, [1, 2]), (1, []), (2, [3])]
    assert results["run_stats"]["run_count"] == 3
    assert len(list(client.get_experiment_results(name="e", limit=1)["examples_with_runs"])) == 1
    assert project.id
