"""Links for people outside the workspace."""

from __future__ import annotations

from uuid import uuid4

import pytest
import requests
from langsmith import Client
from langsmith.utils import LangSmithNotFoundError

from tests.api.bodies import run_body
from tests.api.conftest import Call, caller
from tests.factories import make_key
from tiebreak.accounts.models import Workspace


def test_a_shared_dataset_is_read_and_cloned_without_its_key(
    client: Client, endpoint: str, other_workspace: Workspace
) -> None:
    dataset = client.create_dataset("shared")
    client.create_examples(dataset_id=dataset.id, examples=[{"inputs": {"n": n}} for n in range(3)])
    client.create_dataset("private")
    client.create_project("e", reference_dataset_id=dataset.id)
    token = str(client.share_dataset(dataset_id=dataset.id)["share_token"])
    assert str(client.share_dataset(dataset_id=dataset.id)["share_token"]) == token
    assert client.read_shared_dataset(token).id == dataset.id
    rows = list(client.list_shared_examples(token))
    assert [row.inputs for row in rows] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [row.id for row in client.list_shared_examples(token, example_ids=[rows[1].id])] == [
        rows[1].id
    ]
    [project] = client.list_shared_projects(dataset_share_token=token)
    assert project.name == "e"

    guest = Client(api_url=endpoint, api_key=make_key(other_workspace), auto_batch_tracing=False)
    clone = guest.clone_public_dataset(token, source_api_url=endpoint, dataset_name="cloned")
    assert len(list(guest.list_examples(dataset_id=clone.id))) == 3
    guest.cleanup()

    client.unshare_dataset(dataset_id=dataset.id)
    with pytest.raises(LangSmithNotFoundError):
        client.read_shared_dataset(token)
    with pytest.raises(LangSmithNotFoundError):
        client.read_dataset_shared_schema(dataset_id=dataset.id)


def test_a_shared_run_shows_its_trace_and_nothing_else(
    client: Client, call: Call, endpoint: str
) -> None:
    root, other, child = run_body(), run_body(), uuid4()
    call("POST", "/runs", json=root)
    call("POST", "/runs", json=other)
    call(
        "POST",
        "/runs",
        json=run_body(
            child,
            trace_id=root["id"],
            parent_run_id=root["id"],
            dotted_order=f"{root['dotted_order']}.20260302T090000500000Z{child}",
        ),
    )
    assert not client.run_is_shared(root["id"])
    link = client.share_run(root["id"])
    assert client.run_is_shared(root["id"])
    assert client.read_run_shared_link(root["id"]) == link
    token = link.split("/")[-2]
    assert str(client.read_shared_run(token).id) == root["id"]
    assert client.read_shared_run(token, run_id=child).id == child
    assert {str(run.id) for run in client.list_shared_runs(token)} == {root["id"], str(child)}
    assert [run.id for run in client.list_shared_runs(token, run_ids=[child])] == [child]
    with pytest.raises(LangSmithNotFoundError):
        client.read_shared_run(token, run_id=other["id"])
    client.unshare_run(root["id"])
    assert requests.get(f"{endpoint}/public/{token}/run", timeout=10).status_code == 404


def test_only_the_workspace_itself_shares(
    call: Call, endpoint: str, other_workspace: Workspace
) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    stranger = caller(endpoint, make_key(other_workspace))
    body = {"dataset_id": dataset}
    assert stranger("PUT", f"/datasets/{dataset}/share", json=body).status_code == 404
    assert requests.get(f"{endpoint}/public/{uuid4()}/datasets", timeout=10).status_code == 404
    assert requests.get(f"{endpoint}/public/nonsense/datasets", timeout=10).status_code == 422
