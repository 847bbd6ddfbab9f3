"""Where the API answers, and the links that the client prints."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
import requests
from langsmith import Client

from experiments.models import Experiment
from tests.api.bodies import run_body
from tests.api.conftest import Call, forget_environment


@pytest.mark.parametrize("prefix", ["/api", "/api/v1", "/api/", "/api/v1/"])
def test_it_answers_below_both_prefixes(client: Client, endpoint: str, prefix: str) -> None:
    other = Client(api_url=endpoint.removesuffix("/api") + prefix, auto_batch_tracing=False)
    dataset = other.create_dataset("prefixed")
    other.create_examples(dataset_id=dataset.id, examples=[{"inputs": {"q": 1}}])
    assert [row.inputs for row in client.list_examples(dataset_name="prefixed")] == [{"q": 1}]
    other.cleanup()


def test_it_takes_a_last_slash(call: Call) -> None:
    assert call("GET", "/datasets/").json() == []
    assert call("POST", "/datasets/", json={"name": "d"}).status_code == 201


def test_links_keep_the_port_when_the_endpoint_names_a_user(client: Client, endpoint: str) -> None:
    """The client cuts the port off addresses that it takes for this machine's own."""
    port = urlsplit(endpoint).port
    forget_environment()
    named = Client(api_url=f"http://tiebreak@localhost:{port}/api", auto_batch_tracing=False)
    dataset = named.create_dataset("linked")
    assert dataset.url is not None
    assert dataset.url.startswith(f"http://tiebreak@localhost:{port}/o/")
    assert dataset.url.endswith(f"/datasets/{dataset.id}")
    named.cleanup()


def test_info_says_everything_or_the_client_would_never_send(endpoint: str, client: Client) -> None:
    """Without a key: some clients ask before they have one."""
    config = requests.get(f"{endpoint}/info", timeout=10).json()["batch_ingest_config"]
    assert set(config) == {
        "use_multipart_endpoint",
        "size_limit",
        "size_limit_bytes",
        "scale_up_nthreads_limit",
        "scale_up_qsize_trigger",
        "scale_down_nempty_trigger",
    }
    client.create_run("traced", {"q": 1}, "chain", project_name="p")
    client.flush()
    assert [run.name for run in client.list_runs(project_name="p")] == ["traced"]


def test_settings_name_the_workspace(call: Call) -> None:
    answer = call("GET", "/settings").json()
    assert answer["display_name"] == "Alice's workspace"
    assert {"id", "created_at"} <= answer.keys()


def test_it_has_a_project_from_birth(call: Call) -> None:
    """Until it has seen one the client asks again for every row that it reads."""
    rows = call("GET", "/sessions", params={"limit": 1}).json()
    assert [row["name"] for row in rows] == ["default"]
    assert rows[0]["tenant_id"] == call("GET", "/settings").json()["id"]
    assert rows[0]["run_count"] == 0
    assert not Experiment.objects.exists(), "reading makes nothing"
    call("POST", "/runs", json=run_body(session_name="left out"))
    [row] = call("GET", "/sessions").json()
    assert (row["id"], row["run_count"]) == (rows[0]["id"], 1)
