"""One row judged again from its drawer."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, Game, Job, Judgment, Order, Outcome, QueueItem, Race
from experiments.services import jobs
from tests.engine.launching import job_of, launched, wait_for
from tests.engine.processes import StubJudge, Worker
from tests.factories import judge, make_comparison, make_dataset, make_experiment, make_provider
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged(workspace: Workspace) -> Comparison:
    dataset = make_dataset(workspace)
    a = make_experiment(dataset, ["4", "Paris", "green"])
    b = make_experiment(dataset, ["5", "London", None])
    made = make_comparison(a, b)
    judge(made, ["b", "a"])
    return made


def row_of(comparison: Comparison, outcome: str) -> Judgment:
    return Judgment.objects.get(comparison=comparison, outcome=outcome)


def press(client: Client, row: Judgment) -> str:
    address = reverse("rejudge", args=[row.comparison.uid, row.pair.example_uid])
    answer = client.post(address, {"ev": row.evaluator.key}, follow=True)
    return answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_it_asks_about_that_row_alone_and_keeps_the_games(
    worker: Worker, workspace: Workspace, client: Client, alice: User
) -> None:
    client.force_login(alice)
    script = [{"has": "answer 0.", "times": 2, "reply": "Always.\n[[A]]"}]
    with StubJudge(script=script) as stub:
        provider = make_provider(workspace, stub.base_url)
        comparison = launched(workspace, provider, 3, order=Order.BOTH)
        wait_for(comparison, Job.State.COMPLETE)
        row = row_of(comparison, Outcome.TIE)
        assert row.order_changed
        page = press(client, row)
        assert "This row is judged again." in page
        wait_for(comparison, Job.State.COMPLETE)
        assert stub.stats()["calls"] == 6 + 2
    row.refresh_from_db()
    assert row.outcome == Outcome.A
    assert set(Game.objects.filter(judgment=row).values_list("round", flat=True)) == {0, 1}
    others = Game.objects.filter(judgment__comparison=comparison).exclude(judgment=row)
    assert set(others.values_list("round", flat=True)) == {0}


def test_only_that_row_is_queued(client: Client, alice: User, judged: Comparison) -> None:
    client.force_login(alice)
    row = row_of(judged, Outcome.B)
    press(client, row)
    assert list(QueueItem.objects.values_list("target", flat=True)) == [row.pk]
    assert job_of(judged).state == Job.State.RUNNING
    page = press(client, row)
    assert "Cannot rejudge: it is running." in page
    assert "disabled" in page[page.index("Judge this row again") - 120 :][:120]


def test_what_was_left_when_it_was_cancelled_is_not_asked_on(
    client: Client, alice: User, judged: Comparison
) -> None:
    client.force_login(alice)
    row, other = row_of(judged, Outcome.B), row_of(judged, Outcome.A)
    job = job_of(judged)
    QueueItem.objects.create(
        job=job, evaluator_id=judged.evaluators.get().evaluator_id or 0, target=other.pk, rank=1
    )
    Job.objects.filter(pk=job.pk).update(state=Job.State.CANCELLED, planned=True)
    press(client, row)
    assert list(QueueItem.objects.values_list("target", flat=True)) == [row.pk]
    Job.objects.filter(pk=job.pk).update(state=Job.State.CANCELLED, planned=False)
    assert "Nothing was judged yet" in press(client, row)


def test_what_was_not_judged_cannot_be_judged_again(
    client: Client, alice: User, judged: Comparison
) -> None:
    client.force_login(alice)
    row = row_of(judged, Outcome.MISSING)
    page = press(client, row)
    assert "Only a row that was judged can be judged again." in page
    assert ">Judge this row again<" not in page
    assert job_of(judged).state == Job.State.COMPLETE


def test_a_script_is_not_asked(client: Client, alice: User, judged: Comparison) -> None:
    Comparison.objects.filter(pk=judged.pk).update(job=None)
    client.force_login(alice)
    page = press(client, row_of(judged, Outcome.B))
    assert "A script judges this comparison" in page
    assert ">Judge this row again<" not in page


def test_only_editors_of_the_workspace_may(
    client: Client, alice: User, mallory: User, judged: Comparison
) -> None:
    row = row_of(judged, Outcome.B)
    address = reverse("rejudge", args=[judged.uid, row.pair.example_uid])
    client.force_login(mallory)
    assert client.post(address, {"ev": row.evaluator.key}).status_code == 404
    alice.memberships.update(role=Role.ANNOTATOR)
    client.force_login(alice)
    assert client.post(address, {"ev": row.evaluator.key}).status_code == 403
    page = client.get(
        reverse("comparison_detail", args=[judged.uid]), {"row": str(row.pair.example_uid)}
    ).content.decode()
    assert ">Judge this row again<" not in page
    assert "Set the verdict by hand" in page


def test_another_row_or_evaluator_is_not_found(
    client: Client, alice: User, judged: Comparison
) -> None:
    client.force_login(alice)
    row = row_of(judged, Outcome.B)
    for key, evaluator in (("x", row.evaluator.key), (row.pair.example_uid, "nobody\x00")):
        answer = client.post(reverse("rejudge", args=[judged.uid, key]), {"ev": evaluator})
        assert answer.status_code == 404


def test_a_verdict_that_was_certain_early_is_asked_on(judged: Comparison) -> None:
    race = Race.objects.create(evaluator=judged.evaluators.get(), is_halted=True, stopped_at=2)
    jobs.rejudge_row(row_of(judged, Outcome.B))
    race.refresh_from_db()
    assert not race.is_halted
