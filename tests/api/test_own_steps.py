"""Steering a comparison over the API, with no worker that would finish it meanwhile."""

from __future__ import annotations

import pytest

from experiments.models import Experiment
from tests.api.conftest import Call
from tests.api.test_own_comparisons import launch
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pair(workspace: Workspace) -> tuple[Experiment, Experiment]:
    dataset = make_dataset(workspace, ["one", "two"])
    return make_experiment(dataset, ["one", "too"]), make_experiment(dataset, ["on", "two"])


def test_steps_that_the_state_forbids_are_conflicts(
    call: Call, pair: tuple[Experiment, Experiment]
) -> None:
    uid = launch(call, pair).json()["id"]
    assert call("POST", f"/comparisons/{uid}/resume").status_code == 409
    assert call("POST", f"/comparisons/{uid}/cancel").json()["job"]["state"] == "cancelled"
    assert call("POST", f"/comparisons/{uid}/pause").status_code == 409
    assert call("POST", f"/comparisons/{uid}/explode").status_code == 404


def test_a_budget_is_set_read_and_raised(call: Call, pair: tuple[Experiment, Experiment]) -> None:
    uid = launch(call, pair, max_calls=50, max_cost=1.25, stop_when_certain=True).json()["id"]
    job = call("GET", f"/comparisons/{uid}").json()["job"]
    assert (job["max_calls"], job["max_cost"], job["calls"], job["cost"]) == (50, 1.25, 0, 0)
    assert job["steps"] == ["pause", "cancel"]
    raised = call("POST", f"/comparisons/{uid}/budget", json={"max_calls": 80}).json()["job"]
    assert (raised["max_calls"], raised["max_cost"]) == (80, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"max_calls": 0}, "max_calls"),
        ({"max_calls": True}, "max_calls"),
        ({"max_cost": "1"}, "max_cost"),
        ({"max_call": 5}, "max_call"),
        ({"max_cost": -1}, "max_cost"),
        ({"max_cost": 1e300}, "max_cost"),
        ({"max_cost": 0.12345678901}, "max_cost"),
    ],
)
def test_a_wrong_budget_names_its_field(
    call: Call, pair: tuple[Experiment, Experiment], body: dict[str, object], field: str
) -> None:
    uid = launch(call, pair).json()["id"]
    refused = call("POST", f"/comparisons/{uid}/budget", json=body)
    assert (refused.status_code, refused.json()["field"]) == (422, field)
