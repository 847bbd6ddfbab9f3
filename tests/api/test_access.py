"""Keys, roles, workspaces, and names that try everything."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import requests
from django.utils import timezone
from langsmith import Client
from langsmith.utils import LangSmithAuthError, LangSmithNotFoundError

from tests.api.bodies import case, run_body
from tests.api.conftest import Call, caller
from tests.factories import make_key
from tiebreak.accounts.models import ApiKey, Role, Workspace
from tiebreak.accounts.services import revoke_api_key


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": "tb_nonsense"},
        {"Authorization": "Basic dGI6eA=="},
        {"Authorization": "Bearer nonsense"},
    ],
)
def test_without_a_valid_key_there_is_nothing(
    endpoint: str, transactional_db: None, headers: dict[str, str]
) -> None:
    for path in ("/datasets", "/sessions", f"/runs/{uuid4()}"):
        answer = requests.get(endpoint + path, headers=headers, timeout=10)
        assert (answer.status_code, "detail" in answer.json()) == (401, True)


def test_the_client_raises_its_own_exceptions(endpoint: str, client: Client) -> None:
    stranger = Client(api_url=endpoint, api_key="nonsense", auto_batch_tracing=False)
    with pytest.raises(LangSmithAuthError):
        stranger.create_dataset("d")
    with pytest.raises(LangSmithNotFoundError):
        client.read_run(uuid4())
    stranger.cleanup()


def test_a_bearer_token_is_a_key_too(endpoint: str, transactional_db: None, api_key: str) -> None:
    headers = {"Authorization": f"Bearer {api_key}"}
    assert requests.get(f"{endpoint}/datasets", headers=headers, timeout=10).status_code == 200


def test_a_key_ends(endpoint: str, transactional_db: None, workspace: Workspace) -> None:
    call = caller(endpoint, make_key(workspace))
    assert call("GET", "/datasets").status_code == 200
    key = ApiKey.objects.get()
    assert key.last_used_at is not None
    revoke_api_key(key)
    assert call("GET", "/datasets").status_code == 401
    other = make_key(workspace)
    ApiKey.objects.exclude(pk=key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert caller(endpoint, other)("GET", "/datasets").status_code == 401


def test_a_viewer_reads_and_asks_but_does_not_write(call: Call, call_as_viewer: Call) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    run = run_body()
    call("POST", "/runs", json=run)
    assert call_as_viewer("GET", f"/datasets/{dataset}").status_code == 200
    asked = call_as_viewer("POST", "/runs/query", json={"id": [run["id"]]})
    assert len(asked.json()["runs"]) == 1
    assert call_as_viewer("POST", "/runs/stats", json={}).status_code == 200
    for method, path, body in (
        ("POST", "/datasets", {"name": "e"}),
        ("DELETE", f"/datasets/{dataset}", None),
        ("POST", "/runs", run_body()),
        ("POST", "/runs/batch", {"post": [run_body()]}),
        ("POST", "/feedback", {"run_id": run["id"], "key": "k", "score": 1}),
        ("POST", "/sessions", {"name": "s"}),
        ("PUT", f"/datasets/{dataset}/tags", {"tag": "t", "as_of": "2030-01-01T00:00:00Z"}),
    ):
        answer = call_as_viewer(method, path, json=body)
        assert (answer.status_code, "detail" in answer.json()) == (403, True), path


def test_an_annotator_gives_feedback_only(
    endpoint: str, transactional_db: None, workspace: Workspace
) -> None:
    call = caller(endpoint, make_key(workspace, Role.ANNOTATOR))
    body = {"run_id": str(uuid4()), "key": "k", "score": 1}
    assert call("POST", "/feedback", json=body).status_code == 200
    assert call("POST", "/datasets", json={"name": "d"}).status_code == 403


def test_strangers_see_nothing(call: Call, call_as_stranger: Call) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    example = call("POST", "/examples", json={"dataset_id": dataset, "inputs": {}}).json()["id"]
    run = run_body()
    call("POST", "/runs", json=run)
    [session] = call("GET", "/sessions?name=project").json()
    mark = {"run_id": run["id"], "key": "k", "score": 1}
    feedback = call("POST", "/feedback", json=mark).json()["id"]
    for path in (
        f"/datasets/{dataset}",
        f"/datasets/{dataset}/versions",
        f"/datasets/{dataset}/splits",
        f"/examples/{example}",
        f"/examples?dataset={dataset}",
        f"/runs/{run['id']}",
        f"/sessions/{session['id']}",
        f"/feedback/{feedback}",
    ):
        assert call_as_stranger("GET", path).status_code == 404, path
    for path in ("datasets", "examples", "sessions", "feedback"):
        uid = {"datasets": dataset, "examples": example, "sessions": session["id"]}
        answer = call_as_stranger("DELETE", f"/{path}/{uid.get(path, feedback)}")
        assert answer.status_code == 404
    query = {"session": [session["id"]]}
    assert call_as_stranger("POST", "/runs/query", json=query).json()["runs"] == []
    assert call_as_stranger("GET", "/datasets").json() == []
    assert call_as_stranger("GET", "/feedback").json() == []
    assert call_as_stranger("GET", f"/examples?id={example}").json() == []


def test_a_named_workspace_must_be_the_one_of_the_key(
    call: Call, workspace: Workspace, other_workspace: Workspace
) -> None:
    for named, status in ((workspace.uid, 200), (other_workspace.uid, 404), ("nonsense", 404)):
        answer = call("GET", "/datasets", headers={"X-Tenant-Id": str(named)})
        assert answer.status_code == status


def test_ids_belong_to_a_workspace(call: Call, call_as_stranger: Call) -> None:
    """The same id in two workspaces is two runs; neither sees or changes the other."""
    run = run_body()
    call("POST", "/runs", json=run)
    other = run | {"outputs": {"answer": "theirs"}}
    assert call_as_stranger("POST", "/runs", json=other).status_code == 202
    assert call("GET", f"/runs/{run['id']}").json()["outputs"] == {"answer": "a"}
    assert call_as_stranger("GET", f"/runs/{run['id']}").json()["outputs"] == {"answer": "theirs"}


def test_names_try_everything(call: Call) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    run = run_body()
    call("POST", "/runs", json=run)
    text = json.dumps(case("long_names"))
    text = text.replace("DATASET_ID", dataset).replace("RUN_ID", run["id"])
    for request in json.loads(text):
        answer = call(request["method"], request["path"], json=request["body"])
        name = request["body"].get("name", request["body"].get("key", ""))
        if not name.strip() or len(name) > 400:
            assert answer.status_code == 422, name[:50]
            assert "name" in answer.json()["detail"] or "key" in answer.json()["detail"]
        else:
            assert answer.status_code in (200, 201, 202, 409), (name[:50], answer.text)
            if request["path"] == "/sessions" and answer.ok:
                [found] = call("GET", "/sessions", params={"name": name.strip()}).json()
                assert found["id"] == answer.json()["id"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"{}", b"NaN"])
def test_bad_bodies_are_never_a_server_error(call: Call, body: bytes) -> None:
    for method, path in (
        ("POST", "/datasets"),
        ("POST", "/sessions"),
        ("POST", "/runs"),
        ("POST", "/runs/query"),
        ("POST", "/feedback"),
        ("POST", "/examples"),
        ("POST", "/examples/bulk"),
        ("POST", "/datasets/comparative"),
        ("PATCH", f"/runs/{uuid4()}"),
    ):
        answer = call(method, path, data=body)
        assert answer.status_code < 500, (path, body)
        assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "x"},
        {"limit": "-1"},
        {"offset": "1e3"},
        {"id": "nonsense"},
        {"metadata": "{"},
        {"metadata": "[1]"},
        {"limit": "100000"},
    ],
)
def test_bad_parameters_are_named(call: Call, query: dict[str, Any]) -> None:
    for path in ("/datasets", "/sessions"):
        answer = call("GET", path, params=query)
        assert answer.status_code == 422
        assert "detail" in answer.json()


def test_nul_in_a_parameter_is_refused(call: Call) -> None:
    assert call("GET", "/datasets", params={"name": "a\x00b"}).status_code == 422
