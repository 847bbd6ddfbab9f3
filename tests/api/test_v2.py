"""Version 2 of reading, through the generated client inside the SDK."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from langsmith import Client, Langsmith, evaluate

from tests.api.bodies import run_body
from tests.api.conftest import Call
from tests.api.test_evaluate import exact, half_right, judges, make_dataset
from tests.api.test_runs_query import make_child, make_runs

SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def ids(call: Call, **body: Any) -> list[str]:
    answer = call("POST", "/v2/runs/query", json={"min_start_time": SINCE.isoformat()} | body)
    assert answer.status_code == 200, answer.text
    return [row["id"] for row in answer.json()["items"]]


def test_only_selected_fields_come_back(client: Client, call: Call) -> None:
    usage = {"input_tokens": 3, "input_token_details": {"cache_read": 1}}
    [uid] = make_runs(
        call,
        {
            "run_type": "llm",
            "error": "Boom",
            "extra": {"metadata": {"k": "v", "usage_metadata": usage}},
        },
    )
    assert call("GET", f"/v2/runs/{uid}").json() == {"id": str(uid)}
    selects = ["NAME", "RUN_TYPE", "STATUS", "PROJECT_ID", "METADATA", "PROMPT_TOKEN_DETAILS"]
    row = call("GET", f"/v2/runs/{uid}", params={"selects": selects}).json()
    assert row.keys() == {name.lower() for name in selects}
    assert (row["run_type"], row["status"]) == ("LLM", "ERROR")
    assert row["metadata"]["k"] == "v"
    assert row["prompt_token_details"] == {"raw": {"cache_read": 1}}
    project = client.read_project(project_name="p")
    assert row["project_id"] == str(project.id)
    url = call("GET", f"/v2/runs/{uid}/url").json()["url"]
    assert f"/projects/p/{project.id}/r/{uid}" in url
    other = {"project_id": str(uuid4())}
    assert call("GET", f"/v2/runs/{uid}", params=other).status_code == 404
    assert call("GET", f"/v2/runs/{uid}", params={"selects": "NOPE"}).status_code == 422


def test_every_argument_narrows_the_answer(call: Call) -> None:
    example = str(uuid4())
    a, b = make_runs(
        call,
        {"name": "a", "reference_example_id": example},
        {"name": "b", "run_type": "llm", "error": "Boom"},
    )
    child = make_child(call, a, name="child")
    [session] = call("GET", "/sessions?name=p").json()
    names = {str(a): "a", str(b): "b", str(child): "c"}

    def found(**body: Any) -> str:
        return "".join(sorted(names[uid] for uid in ids(call, **body)))

    assert found() == "abc"
    assert found(project_ids=[session["id"]]) == "abc"
    assert found(project_ids=[str(uuid4())]) == ""
    assert found(ids=[str(b)]) == "b"
    assert found(trace_id=str(a)) == "ac"
    assert found(is_root=True) == "ab"
    assert found(has_error=True) == "b"
    assert found(run_type="LLM") == "b"
    assert found(filter='eq(name, "a")') == "a"
    assert found(trace_filter='eq(name, "a")') == "ac"
    assert found(tree_filter='eq(name, "child")') == "ac"
    assert found(reference_examples=[example]) == "a"
    assert found(min_start_time=(SINCE + timedelta(days=300)).isoformat()) == ""
    assert found(max_start_time="2026-03-01T00:00:30Z") == "a"


def test_without_a_start_only_the_last_day_is_searched(call: Call) -> None:
    make_runs(call, {})
    now = datetime.now(UTC).isoformat()
    recent = run_body(start_time=now, end_time=now)
    call("POST", "/runs", json=recent)
    answer = call("POST", "/v2/runs/query", json={}).json()
    assert [row["id"] for row in answer["items"]] == [recent["id"]]


def test_cursors_lead_through_all_runs(call: Call) -> None:
    uids = make_runs(call, *({} for _ in range(5)))
    seen: list[str] = []
    cursor = None
    while True:
        body = {"page_size": 2, "min_start_time": SINCE.isoformat(), "cursor": cursor}
        answer = call("POST", "/v2/runs/query", json=body).json()
        seen += [row["id"] for row in answer["items"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    assert seen == [str(uid) for uid in reversed(uids)]


def test_the_generated_client_reads_experiments(
    client: Client, endpoint: str, api_key: str
) -> None:
    dataset = make_dataset(client)
    done = evaluate(half_right, data="sums", evaluators=judges(exact), client=client)
    client.flush()
    project = client.read_project(project_name=done.experiment_name)
    with Langsmith(base_url=endpoint.removesuffix("/api"), api_key=api_key) as generated:
        pages = generated.datasets.experiment_runs.query(
            str(dataset.id),
            experiment_ids=[str(project.id)],
            selects=["ID", "OUTPUTS", "FEEDBACK_STATS"],
            page_size=3,
        )
        items: list[Any] = list(pages)
    assert [item.inputs["q"] for item in items] == list(range(8))
    marks = [item.runs[0].feedback_stats["exact"].avg for item in items]
    assert marks == [1.0] * 4 + [0.0] * 4


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v2/traces/query", "root_run"), ("/v2/runs/query", None)],
)
def test_traces_are_their_root_runs(call: Call, path: str, field: str | None) -> None:
    [root] = make_runs(call, {"name": "root"})
    child = make_child(call, root, name="child")
    [session] = call("GET", "/sessions?name=p").json()
    body = {
        "project_id": session["id"],
        "min_start_time": SINCE.isoformat(),
        "selects": ["NAME"],
        "is_root": True,
    }
    items = call("POST", path, json=body).json()["items"]
    assert [(item[field] if field else item)["name"] for item in items] == ["root"]
    params = {"project_id": session["id"], "selects": ["NAME", "PARENT_RUN_IDS"]}
    listed = call("GET", f"/v2/traces/{root}/runs", params=params).json()["items"]
    assert {row["name"]: row["parent_run_ids"] for row in listed} == {
        "root": [],
        "child": [str(root)],
    }
    assert child


def test_threads_gather_their_turns(call: Call) -> None:
    def of(thread: str) -> dict[str, Any]:
        return {"extra": {"metadata": {"thread_id": thread}}, "name": thread}

    make_runs(call, of("t"), of("u"), of("t") | {"error": "Boom"}, {})
    [session] = call("GET", "/sessions?name=p").json()
    query = {"project_id": session["id"], "page_size": 1}
    first = call("POST", "/v2/threads/query", json=query).json()
    [thread] = first["items"]
    assert (thread["thread_id"], thread["count"], thread["num_errored_turns"]) == ("t", 2, 1)
    cursor = {"cursor": first["next_cursor"]}
    second = call("POST", "/v2/threads/query", json=query | cursor).json()
    assert [row["thread_id"] for row in second["items"]] == ["u"]
    assert second["next_cursor"] is None
    params = {"project_id": session["id"], "page_size": "1"}
    turns = call("GET", "/v2/threads/t/traces", params=params).json()
    assert len(turns["items"]) == 1
    assert turns["next_cursor"]
    stats = call(
        "GET", "/v2/threads/t/stats", params={"session_id": session["id"], "selects": ["TURNS"]}
    )
    assert stats.json() == {"turns": 2}
    assert call("GET", "/v2/threads/t/stats").status_code == 422


def test_shared_traces_are_read_by_token(call: Call, endpoint: str) -> None:
    import requests

    get: Callable[..., Any] = requests.get
    [root] = make_runs(call, {"name": "root"})
    [other] = make_runs(call, {"name": "other"})
    make_child(call, root, name="child")
    token = call("POST", f"/v2/runs/{root}/share", json={}).json()["share_token"]
    body = {"selects": ["NAME"]}
    path = f"{endpoint}/v2/public/{token}"
    items = requests.post(f"{path}/runs/query", json=body, timeout=10).json()["items"]
    assert [row["name"] for row in items] == ["root", "child"]
    assert get(f"{path}/run/{root}", params=body, timeout=10).json() == {"name": "root"}
    assert get(f"{path}/run/{other}", params=body, timeout=10).status_code == 404
    call("DELETE", f"/v2/runs/{root}/share")
    assert requests.post(f"{path}/runs/query", json=body, timeout=10).status_code == 404
