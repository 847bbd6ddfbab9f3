"""Every step in every state: where it leads, or that it is refused with a reason."""

from __future__ import annotations

from itertools import product

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from experiments.errors import ConflictError, InvalidError
from experiments.models import Comparison, Job, Lane, QueueItem
from experiments.services import jobs
from experiments.services.comparisons import create_evaluation
from experiments.services.evaluators import configure_evaluator
from experiments.services.jobs import MOVES, STEPS, allowed_steps, move, steer
from experiments.tasks import plan
from tests.factories import judge, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)

# Written out by hand: what must happen, whatever the table in the code says.
LEADS_TO = {
    ("queued", "start"): "running",
    ("queued", "pause"): "paused",
    ("queued", "cancel"): "cancelled",
    ("queued", "fail"): "failed",
    ("running", "pause"): "paused",
    ("running", "cancel"): "cancelled",
    ("running", "complete"): "complete",
    ("running", "fail"): "failed",
    ("paused", "resume"): "running",
    ("paused", "cancel"): "cancelled",
    ("paused", "retry"): "running",
    ("paused", "rejudge"): "running",
    ("paused", "extend"): "queued",
    ("cancelled", "retry"): "running",
    ("cancelled", "rejudge"): "running",
    ("cancelled", "extend"): "queued",
    ("complete", "retry"): "running",
    ("complete", "rejudge"): "running",
    ("complete", "extend"): "queued",
    ("failed", "retry"): "running",
    ("failed", "rejudge"): "running",
    ("failed", "extend"): "queued",
}
EVERY = list(product(Job.State.values, MOVES))


def in_state(comparison: Comparison, state: str, *, planned: bool = True) -> Job:
    Job.objects.filter(pk=comparison.job_id or 0).update(state=state, planned=planned)
    return Job.objects.get(pk=comparison.job_id or 0)


@pytest.mark.parametrize(("state", "step"), EVERY)
def test_a_step_leads_where_it_must_or_is_refused(
    comparison: Comparison, state: str, step: str
) -> None:
    job = in_state(comparison, state)
    target = LEADS_TO.get((state, step))
    if target is None:
        with pytest.raises(ConflictError, match=rf"Cannot {step}: it is {state}\. Possible now: "):
            move(job, step)
    else:
        move(job, step)
    assert Job.objects.get(pk=job.pk).state == (target or state)


@pytest.mark.parametrize(("state", "step"), [one for one in EVERY if one[1] in STEPS])
def test_pages_and_api_take_and_refuse_the_same_steps(
    client: Client,
    alice: User,
    api_key: str,
    comparison: Comparison,
    state: str,
    step: str,
) -> None:
    judge(comparison, ["a", "flip", "failed"])
    is_allowed = (state, step) in LEADS_TO
    in_state(comparison, state)
    address = f"/api/v1/comparisons/{comparison.uid}/{step}"
    answer = client.post(address, headers={"X-API-Key": api_key})
    assert answer.status_code == (200 if is_allowed else 409)
    if not is_allowed:
        assert f"Cannot {step}: it is {state}." in answer.json()["detail"]
    else:
        assert step in STEPS
    client.force_login(alice)
    job = in_state(comparison, state)
    page = client.post(reverse("comparison_step", args=[comparison.uid, step]))
    (told,) = get_messages(page.wsgi_request)
    assert (told.level_tag == "success") == is_allowed
    assert ("Cannot" in str(told)) == (not is_allowed)
    assert (step in allowed_steps(job)) == is_allowed


def test_a_job_that_is_not_planned_is_planned_first(comparison: Comparison) -> None:
    for state, step in (("paused", "resume"), ("failed", "retry"), ("cancelled", "retry")):
        job = in_state(comparison, state, planned=False)
        assert steer(job, step) == []
        assert Job.objects.get(pk=job.pk).state == "queued"
    plan(job.pk)
    assert QueueItem.objects.filter(job=job).count() == 3
    assert Job.objects.get(pk=job.pk).state == "running"


def test_a_lane_that_waits_for_its_last_calls_keeps_its_share(comparison: Comparison) -> None:
    assert comparison.job is not None
    (lane,) = jobs.plan(comparison.job)
    Lane.objects.filter(pk=lane.pk).update(state=Lane.State.RUNNING)
    steer(comparison.job, "pause")
    assert steer(comparison.job, "resume") == []
    assert Lane.objects.get(pk=lane.pk).token == lane.token


def test_an_unknown_step_is_refused(client: Client, alice: User, comparison: Comparison) -> None:
    assert comparison.job is not None
    with pytest.raises(InvalidError):
        steer(comparison.job, "complete")
    client.force_login(alice)
    for step in ("complete", "explode"):
        address = reverse("comparison_step", args=[comparison.uid, step])
        assert client.post(address).status_code == 404


def test_a_job_that_scores_single_outputs_never_names_the_steps_of_pairs(
    workspace: Workspace,
) -> None:
    experiment = make_experiment(make_dataset(workspace, ["r"]), ["one"])
    evaluator = configure_evaluator(workspace=workspace, kind="exact_match")
    job = create_evaluation(experiment=experiment, evaluator=evaluator).job
    Job.objects.filter(pk=job.pk).update(state=Job.State.COMPLETE)
    for step in ("pause", "rejudge", "extend"):
        with pytest.raises(ConflictError, match=rf"Cannot {step}: .* Possible now: retry\.$"):
            steer(job, step)
