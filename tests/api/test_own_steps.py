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
