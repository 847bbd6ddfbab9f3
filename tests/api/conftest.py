"""The official client against a live server, and plain requests for what it would not send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from langsmith import Client
from langsmith import utils as langsmith_utils
from pytest_django.live_server_helper import LiveServer

from tests.factories import make_key
from tiebreak.accounts.models import Role, Workspace

Call = Callable[..., requests.Response]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Methods that the client's makers announce the end of are what users' scripts call today."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::UserWarning"))


@pytest.fixture
def endpoint(live_server: LiveServer) -> str:
    return f"{live_server.url}/api"


@pytest.fixture
def environment(
    endpoint: str, transactional_db: None, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """What a user sets: the address and the key, nothing else."""
    monkeypatch.setenv("LANGSMITH_ENDPOINT", endpoint)
    monkeypatch.setenv("LANGSMITH_API_KEY", api_key)
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    forget_environment()
    yield
    forget_environment()


def forget_environment() -> None:
    """The client caches what it reads from the environment."""
    reads: list[Any] = [langsmith_utils.get_env_var, langsmith_utils.get_tracer_project]
    for cached in reads:
        cached.cache_clear()


@pytest.fixture
def client(environment: None) -> Iterator[Client]:
    """The real client; its threads end with the test."""
    made = Client()
    yield made
    made.flush()
    made.cleanup()


@pytest.fixture
def call(endpoint: str, transactional_db: None, api_key: str) -> Call:
    """A plain request: `call("POST", "/runs", json={...})`."""
    return caller(endpoint, api_key)


@pytest.fixture
def call_as_viewer(endpoint: str, transactional_db: None, workspace: Workspace) -> Call:
    return caller(endpoint, make_key(workspace, Role.VIEWER))


@pytest.fixture
def call_as_stranger(endpoint: str, transactional_db: None, other_workspace: Workspace) -> Call:
    return caller(endpoint, make_key(other_workspace))


def caller(endpoint: str, key: str) -> Call:
    def call(method: str, path: str, **arguments: Any) -> requests.Response:
        headers = {"x-api-key": key, **arguments.pop("headers", {})}
        return requests.request(method, endpoint + path, headers=headers, timeout=60, **arguments)

    return call
