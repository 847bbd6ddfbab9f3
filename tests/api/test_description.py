"""The description of the API, its page, and what is not there."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.api.conftest import Call


@pytest.fixture
def description(endpoint: str) -> dict[str, Any]:
    found: dict[str, Any] = requests.get(f"{endpoint}/openapi.json", timeout=20).json()
    return found


def test_every_path_is_described_once(description: dict[str, Any]) -> None:
    paths = description["paths"]
    assert description["openapi"].startswith("3.")
    assert "/api/v1/datasets/{uid}" in paths
    assert "/api/v2/runs/query" in paths
    assert not [path for path in paths if path.endswith("/")]
    operations = [spec for methods in paths.values() for spec in methods.values()]
    ids = [spec["operationId"] for spec in operations]
    assert len(ids) == len(set(ids))
    assert all(spec["summary"] for spec in operations), [
        spec["operationId"] for spec in operations if not spec["summary"]
    ]


def test_the_reference_names_every_path_and_no_other(description: dict[str, Any]) -> None:
    from tiebreak.api.reference import GROUPS

    known = {
        f"{method.upper()} {path.removeprefix('/api/').removeprefix('v1/')}"
        for path, methods in description["paths"].items()
        for method in methods
    }
    named = {name for group in GROUPS for name in group.operations}
    assert named == known, named ^ known


def test_examples_of_the_reference_are_accepted(call: Call, description: dict[str, Any]) -> None:
    """Bodies that need nothing that exists already."""
    for path in ("/datasets", "/runs", "/runs/batch", "/runs/query", "/runs/stats", "/feedback"):
        spec = description["paths"][f"/api/v1{path}"]["post"]
        body = spec["requestBody"]["content"]["application/json"]["example"]
        answer = call("POST", path, json=body)
        assert str(answer.status_code) in spec["responses"], (path, answer.text)
        assert answer.ok, (path, answer.text)


def test_the_page_needs_nothing_from_elsewhere(endpoint: str) -> None:
    page = requests.get(f"{endpoint}/docs", timeout=20)
    assert page.status_code == 200
    assert "/api/v1/datasets/{uid}" in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text


@pytest.mark.parametrize(
    "path", ["/repos", "/commits/-/x", "/likes/-/x", "/otel/v1/traces", "/v1/platform/evaluators"]
)
def test_what_is_not_there_says_so(call: Call, path: str) -> None:
    answer = call("POST", path, json={})
    assert answer.status_code == 501
    assert "not implemented" in answer.json()["detail"]


def test_unknown_paths_are_json_too(call: Call) -> None:
    answer = call("GET", "/no/such/path")
    assert answer.status_code == 404
    assert "detail" in answer.json()
