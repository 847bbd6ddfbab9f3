"""The description against the server: every endpoint is asked things that nobody would ask."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode

from tests.api.bodies import run_body
from tests.api.conftest import Call
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

EXAMPLES = 12
UNAVAILABLE = {"501", "503"}


@pytest.fixture
def known(call: Call, workspace: Workspace) -> dict[str, list[str]]:
    """Ids that mean something, by the noun in whose path they stand."""
    dataset = make_dataset(workspace)
    a = make_experiment(dataset, ["4", "Paris", "green"])
    comparison = make_comparison(a, make_experiment(dataset, ["5", "London", "blue"]))
    judge(comparison, ["a", "b", "tie"])
    run = run_body(session_id=str(a.uid))
    assert call("POST", "/runs", json=run).ok
    feedback, queue = str(uuid4()), str(uuid4())
    assert call("POST", "/feedback", json={"id": feedback, "run_id": run["id"], "key": "k"}).ok
    assert call("POST", "/annotation-queues", json={"id": queue, "name": "q"}).ok
    assert call("POST", f"/annotation-queues/{queue}/runs", json=[run["id"]]).ok
    token = call("PUT", f"/datasets/{dataset.uid}/share", json={}).json()["share_token"]
    return {
        "datasets": [str(dataset.uid)],
        "sessions": [str(a.uid)],
        "experiments": [str(a.uid)],
        "examples": [str(dataset.examples.all()[0].uid)],
        "comparisons": [str(comparison.uid)],
        "comparative": [str(comparison.uid)],
        "runs": [run["id"]],
        "traces": [run["id"]],
        "feedback": [feedback],
        "annotation-queues": [queue],
        "public": [token],
    }


@pytest.mark.slow
def test_no_answer_is_an_error_of_the_server_or_undescribed(
    endpoint: str, api_key: str, known: dict[str, list[str]]
) -> None:
    description = requests.get(f"{endpoint}/openapi.json", timeout=20).json()
    schema = schemathesis.openapi.from_dict(description)
    schema.config.update(base_url=endpoint.removesuffix("/api"))
    problems: dict[str, str] = {}
    count = 0
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                cases = operation.as_strategy(generation_mode=mode)
                count += _ask(cases, api_key, known, problems)
            except _NOTHING_WRONG_POSSIBLE:
                continue
    assert not problems, "\n".join(problems.values())
    assert count > 1000


# An endpoint without parameters and body cannot be asked wrongly.
_NOTHING_WRONG_POSSIBLE = (schemathesis.errors.InvalidSchema, Unsatisfiable)


def _ask(
    cases: st.SearchStrategy[Case[Any]],
    key: str,
    known: dict[str, list[str]],
    problems: dict[str, str],
) -> int:
    asked = 0

    @given(case=cases, data=st.data())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Case[Any], data: st.DataObject) -> None:
        nonlocal asked
        asked += 1
        noun = re.sub(r"^/api/v\d/(platform/)?", "", case.path).partition("/")[0]
        for name in case.path_parameters or {}:
            if name in ("uid", "token", "trace") and data.draw(st.integers(0, 3)):
                case.path_parameters[name] = known.get(noun, [str(uuid4())])[0]
        answer = case.call(headers={"X-API-Key": key}, timeout=60)
        problem = _problem(case, answer)
        if problem:
            name = f"{case.method} {case.path} {problem}"
            problems.setdefault(name, f"{name}: {case.as_curl_command()[:500]}")

    ask()
    return asked


def _problem(case: Case[Any], answer: Any) -> str:
    status = str(answer.status_code)
    if status.startswith("5") and status not in UNAVAILABLE:
        return f"answers {status}"
    if status not in case.operation.definition.raw["responses"]:
        return f"answers {status}, which is not described"
    return ""
