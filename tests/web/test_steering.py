"""What the page tells while a comparison is judged, its budget, and the launch form's limits."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiments.models import Comparison, Job, Lane, Pace, Race, WorkerSign
from experiments.services import jobs
from experiments.services.pacing import block
from tests.factories import judge, make_comparison, make_dataset, make_experiment, make_provider
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db
PRICES: dict[str, Any] = {"input_price": Decimal(50), "output_price": Decimal(500)}


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def judged_by_model(workspace: Workspace) -> Comparison:
    dataset = make_dataset(workspace, ["1", "2", "3"])
    a, b = (make_experiment(dataset, ["x", "y", "z"], name=name) for name in ("one", "two"))
    provider = make_provider(workspace, "http://127.0.0.1:9/v1", **PRICES)
    return make_comparison(a, b, kind="pairwise_string", provider=provider)


def page(client: Client, comparison: Comparison) -> str:
    return client.get(reverse("comparison_detail", args=[comparison.uid])).content.decode()


def set_budget(client: Client, comparison: Comparison, **fields: str) -> str:
    answer = client.post(reverse("comparison_budget", args=[comparison.uid]), fields)
    return str(list(get_messages(answer.wsgi_request))[-1])


def job_of(comparison: Comparison) -> Job:
    return Job.objects.get(pk=comparison.job_id or 0)


def test_it_tells_calls_tokens_money_and_what_is_unpriced(
    alice_client: Client, judged_by_model: Comparison
) -> None:
    jobs.plan(job_of(judged_by_model))
    Lane.objects.update(
        calls=7, money=Decimal("0.07"), prompt_tokens=1200, completion_tokens=34, unpriced=2
    )
    Job.objects.update(budget_calls=20, budget_money=1)
    text = page(alice_client, judged_by_model)
    assert "7 of 20 calls" in text
    assert "1,234 tokens" in text
    assert "$0.0700 of $1.00" in text
    assert "the price of 2 calls is unknown" in text


def test_it_tells_when_no_worker_runs_and_when_a_server_asked_to_wait(
    alice_client: Client, judged_by_model: Comparison
) -> None:
    jobs.plan(job_of(judged_by_model))
    assert "No worker is running" in page(alice_client, judged_by_model)
    WorkerSign.objects.create(name="w")
    assert "No worker is running" not in page(alice_client, judged_by_model)
    evaluator = judged_by_model.evaluators.get().evaluator
    assert evaluator is not None
    assert evaluator.provider is not None
    block(evaluator.provider.pk, 600)
    until = Pace.objects.get().blocked_until
    assert until is not None
    assert f"asked to wait until {until:%H:%M:%S}" in page(alice_client, judged_by_model)
    WorkerSign.objects.update(seen_at=timezone.now() - timedelta(minutes=2))
    assert "No worker is running" in page(alice_client, judged_by_model)


def test_a_used_up_budget_says_so_and_raising_it_goes_on(
    alice_client: Client, judged_by_model: Comparison
) -> None:
    jobs.plan(job_of(judged_by_model))
    Lane.objects.update(calls=5)
    Job.objects.update(
        state="paused", cause="budget", error="Paused: the budget is used up.", budget_calls=5
    )
    assert "the budget is used up" in page(alice_client, judged_by_model)
    assert set_budget(alice_client, judged_by_model, max_calls="5") == "The budget is set."
    assert job_of(judged_by_model).state == Job.State.PAUSED
    set_budget(alice_client, judged_by_model, max_calls="6", max_cost="2.5")
    job = job_of(judged_by_model)
    assert (job.state, job.budget_calls, job.budget_money) == ("running", 6, Decimal("2.5"))
    assert job.error == ""


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"max_calls": "0"}, "Most calls"),
        ({"max_calls": "many"}, "Most calls"),
        ({"max_cost": "-1"}, "Most US dollars"),
        ({"max_cost": "NaN"}, "Most US dollars"),
    ],
)
def test_a_wrong_budget_is_refused(
    alice_client: Client, judged_by_model: Comparison, fields: dict[str, str], said: str
) -> None:
    assert said in set_budget(alice_client, judged_by_model, **fields)
    assert job_of(judged_by_model).budget_calls is None


def test_failures_are_grouped_and_an_early_stop_is_explained(
    alice_client: Client, comparison: Comparison
) -> None:
    judge(comparison, ["a", "a", "pending"])
    Race.objects.create(
        evaluator=comparison.evaluators.get(), wins=2, examples=2, stopped_at=2, is_halted=True
    )
    text = page(alice_client, comparison)
    assert "Stopped early: the verdict is certain." in text
    assert "1 pair needs not be asked" in text


def test_strangers_can_neither_steer_nor_set_a_budget(
    client: Client, mallory: User, judged_by_model: Comparison
) -> None:
    client.force_login(mallory)
    for name, more in (("comparison_budget", []), ("comparison_step", ["cancel"])):
        address = reverse(name, args=[judged_by_model.uid, *more])
        assert client.post(address).status_code == 404
    assert job_of(judged_by_model).state == Job.State.QUEUED


def launch_fields(comparison: Comparison, **changes: str) -> dict[str, str]:
    a, b = (side.experiment for side in comparison.sides.all())
    evaluator = comparison.evaluators.get().evaluator
    assert a is not None
    assert b is not None
    assert evaluator is not None
    assert evaluator.provider is not None
    return {
        "experiment_a": str(a.uid),
        "experiment_b": str(b.uid),
        "evaluator": "pairwise_string",
        "provider": str(evaluator.provider.uid),
        "order": "both",
        "max_concurrency": "4",
        "margin": "5",
        **changes,
    }


def test_the_launch_form_sets_budget_and_early_stop(
    alice_client: Client, judged_by_model: Comparison
) -> None:
    fields = launch_fields(judged_by_model, max_calls="100", max_cost="1.5", stop_when_certain="on")
    address = reverse("comparison_launch", args=[judged_by_model.dataset.uid])
    assert alice_client.post(address, fields).status_code == 302
    launched = Comparison.objects.latest("pk")
    job = job_of(launched)
    assert (job.budget_calls, job.budget_money) == (100, Decimal("1.5"))
    assert Race.objects.filter(evaluator__comparison=launched).count() == 1


def test_many_calls_are_only_made_by_somebody_who_says_so(
    alice_client: Client, judged_by_model: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tiebreak.web.forecasts.ASK_ABOVE_CALLS", 5)
    address = reverse("comparison_launch", args=[judged_by_model.dataset.uid])
    refused = alice_client.post(address, launch_fields(judged_by_model))
    assert refused.status_code == 422
    assert "6 calls to a model" in refused.content.decode()
    assert alice_client.post(address, launch_fields(judged_by_model, sure="on")).status_code == 302
    limited = launch_fields(judged_by_model, max_calls="3")
    assert alice_client.post(address, limited).status_code == 302


def test_the_forecast_tells_tokens_and_money(
    alice_client: Client, judged_by_model: Comparison
) -> None:
    address = reverse("comparison_forecast", args=[judged_by_model.dataset.uid])
    text = alice_client.get(address, launch_fields(judged_by_model)).content.decode()
    assert "6 calls to the model" in text
    assert "tokens" in text
    assert "about $" in text
    assert "No worker is running" in text
