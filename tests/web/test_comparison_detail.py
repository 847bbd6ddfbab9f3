"""The pairwise comparison view: the rows shown are the rows counted, and the right ones."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from experiments.models import Comparison, Job
from experiments.services import jobs
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db
OUTCOMES = ["a", "a", "a", "b", "b", "tie", "both_good", "both_bad", "flip", "failed"]


@pytest.fixture
def judged(workspace: Workspace) -> Comparison:
    """Ten judged pairs of known outcome, and two that miss a side."""
    count = len(OUTCOMES)
    dataset = make_dataset(
        workspace,
        [f"reference {n}" for n in range(count + 2)],
        splits=[["even" if n % 2 == 0 else "odd"] for n in range(count + 2)],
    )
    a = make_experiment(
        dataset, [f"alpha {n}" for n in range(count)] + [None, "alpha x"], name="A1"
    )
    b = make_experiment(
        dataset, [*(f"beta {n}" for n in range(count)), "beta x", ValueError("boom")], name="B1"
    )
    comparison = make_comparison(a, b)
    judge(comparison, OUTCOMES)
    return comparison


def address(comparison: Comparison, query: str = "") -> str:
    return reverse("comparison_detail", args=[comparison.uid]) + query


def outcomes_shown(client: Client, comparison: Comparison, query: str = "") -> list[str]:
    page = client.get(address(comparison, query)).content.decode()
    return re.findall(r'data-outcome="(\w+)"', page)


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?a=up", ["a"] * 3),
        ("?b=down", ["a"] * 3),
        ("?a=down", ["b"] * 2),
        ("?b=up", ["b"] * 2),
        ("?out=tie", ["tie", "both_good", "both_bad", "tie"]),
        ("?out=flip", ["tie"]),
        ("?out=fail", ["failed"]),
        ("?out=missing", ["missing", "missing"]),
        ("?out=a&out=b", ["a", "a", "a", "b", "b"]),
        ("?a=up&split=even", ["a", "a"]),
        ("?q=alpha+3", ["b"]),
        ("?q=REFERENCE+5", ["tie"]),
        ("?q=beta&a=up", ["a"] * 3),
        ("?q=nothing+like+it", []),
        ("?out=nonsense&size=x&after=zzz", [*OUTCOMES[:8], "tie", "failed", "missing", "missing"]),
    ],
)
def test_it_shows_the_rows_that_the_address_asks_for(
    alice_client: Client, judged: Comparison, query: str, expected: list[str]
) -> None:
    assert outcomes_shown(alice_client, judged, query) == expected


def test_each_count_is_the_number_of_rows_behind_it(
    alice_client: Client, judged: Comparison
) -> None:
    for query in ("", "?split=odd", "?q=alpha"):
        page = alice_client.get(address(judged, query)).context
        for segment in page["segments"]:
            assert len(outcomes_shown(alice_client, judged, segment.href)) == segment.count
        for side in page["thumbs"].values():
            for thumb in side.values():
                assert len(outcomes_shown(alice_client, judged, thumb.href)) == thumb.count


def test_pressed_thumbs_light_up_together_and_a_second_press_clears(
    alice_client: Client, judged: Comparison
) -> None:
    thumbs = alice_client.get(address(judged, "?a=up")).context["thumbs"]
    assert [thumbs["a"]["up"].pressed, thumbs["b"]["down"].pressed] == [True, True]
    assert [thumbs["a"]["down"].pressed, thumbs["b"]["up"].pressed] == [False, False]
    assert len(outcomes_shown(alice_client, judged, thumbs["a"]["up"].href)) == 12


def test_the_verdict_names_what_was_counted(alice_client: Client, judged: Comparison) -> None:
    page = alice_client.get(address(judged)).content.decode()
    assert "A 3 wins, 4 ties, B 2 wins" in page
    assert "Not settled" in page
    assert "p = 1" in page


def test_a_fragment_holds_the_rows_of_the_whole_page(
    alice_client: Client, judged: Comparison
) -> None:
    whole = alice_client.get(address(judged, "?a=up"))
    part = alice_client.get(
        address(judged, "?a=up"), headers={"HX-Request": "true", "HX-Target": "judged"}
    )
    assert "<html" in whole.content.decode()
    assert "<html" not in part.content.decode()
    assert re.findall("data-outcome", whole.content.decode()) == re.findall(
        "data-outcome", part.content.decode()
    )
    assert "HX-Request" in whole.headers["Vary"]
    restored = alice_client.get(
        address(judged), headers={"HX-Request": "true", "HX-History-Restore-Request": "true"}
    )
    assert "<html" in restored.content.decode()


def test_paging_visits_every_row_once_and_back_again(
    alice_client: Client, workspace: Workspace
) -> None:
    count = 60
    dataset = make_dataset(workspace, [f"r{n}" for n in range(count)])
    a = make_experiment(dataset, [f"x{n}" for n in range(count)])
    b = make_experiment(dataset, [f"y{n}" for n in range(count)])
    comparison = make_comparison(a, b)
    judge(comparison, ["a", "b", "tie"] * 20)
    seen: list[int] = []
    query, pages = "?size=25", []
    while query:
        context = alice_client.get(address(comparison, query)).context
        seen += [row.judgment.pk for row in context["page"].rows]
        pages.append([row.judgment.pk for row in context["page"].rows])
        query, back = context["older"], context["newer"]
    assert len(seen) == len(set(seen)) == count
    previous = alice_client.get(address(comparison, back)).context["page"]
    assert [row.judgment.pk for row in previous.rows] == pages[-2]


@pytest.mark.parametrize("query", ["", "?a=up", "?q=alpha"])
def test_it_asks_the_database_as_often_for_many_rows_as_for_few(
    alice_client: Client, workspace: Workspace, query: str
) -> None:
    counts = []
    for size in (3, 24):
        dataset = make_dataset(workspace, [f"r{n}" for n in range(size)])
        a = make_experiment(dataset, [f"alpha {n}" for n in range(size)])
        b = make_experiment(dataset, [f"beta {n}" for n in range(size)])
        comparison = make_comparison(a, b)
        judge(comparison, ["a"] * size)
        alice_client.get(address(comparison))  # adds up the report once
        with CaptureQueriesContext(
            connection,
        ) as queries:
            alice_client.get(address(comparison, query))
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[0] <= 23


def test_the_drawer_shows_both_outputs_whole_and_every_game(
    alice_client: Client, judged: Comparison
) -> None:
    row = alice_client.get(address(judged)).context["page"].rows[3]
    page = alice_client.get(address(judged, f"?row={row.key}")).content.decode()
    drawer = page[page.index('class="drawer"') :]
    assert "alpha 3" in drawer
    assert "beta 3" in drawer
    assert "order shown: A, then B" in drawer
    gone = alice_client.get(address(judged, "?row=not-a-row")).content.decode()
    assert "That row is not part of this comparison." in gone


def test_outputs_are_text_never_markup(alice_client: Client, workspace: Workspace) -> None:
    hostile = "<img src=x onerror=alert(1)><b hx-get='/x' hx-trigger=load>\x00\u202eevil"
    dataset = make_dataset(workspace, [hostile])
    a, b = make_experiment(dataset, [hostile]), make_experiment(dataset, ["plain"])
    comparison = make_comparison(a, b)
    judge(comparison, ["a"], reason=hostile)
    page = alice_client.get(address(comparison))
    text = page.content.decode()
    assert "<img src=x" not in text
    assert "<b hx-get" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "'unsafe-inline'" not in page.headers["Content-Security-Policy"]


def test_strangers_see_404_and_visitors_sign_in(
    client: Client, judged: Comparison, mallory: User
) -> None:
    assert client.get(address(judged)).status_code == 302
    client.force_login(mallory)
    assert client.get(address(judged)).status_code == 404


def test_a_viewer_sees_no_actions_and_is_refused_them(
    alice_client: Client, alice: User, judged: Comparison
) -> None:
    alice.memberships.update(role=Role.VIEWER)
    page = alice_client.get(address(judged)).content.decode()
    assert "Compare again" not in page
    step = reverse("comparison_step", args=[judged.uid, "retry"])
    assert alice_client.post(step).status_code == 403


def test_it_polls_only_while_there_is_something_to_wait_for(
    alice_client: Client, judged: Comparison, workspace: Workspace
) -> None:
    assert "every 2s" not in alice_client.get(address(judged)).content.decode()
    Job.objects.filter(comparison=judged).update(state=Job.State.RUNNING)
    assert "every 2s" in alice_client.get(address(judged)).content.decode()


def test_steps_move_the_job_and_forbidden_ones_say_why(
    alice_client: Client, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace)
    a, b = make_experiment(dataset, ["x", "y", "z"]), make_experiment(dataset, ["4", "y", "b"])
    comparison = make_comparison(a, b)
    assert comparison.job is not None
    jobs.plan(comparison.job)
    for step, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        alice_client.post(reverse("comparison_step", args=[comparison.uid, step]))
        assert Job.objects.get(comparison=comparison).state == state
    answer = alice_client.post(
        reverse("comparison_step", args=[comparison.uid, "pause"]), follow=True
    )
    assert "Cannot pause: it is cancelled." in answer.content.decode()


def test_deleting_says_what_goes_and_takes_only_that(
    alice_client: Client, judged: Comparison
) -> None:
    target = reverse("comparison_delete", args=[judged.uid])
    assert "<b>12</b> judgments" in alice_client.get(target).content.decode()
    alice_client.post(target)
    assert not Comparison.objects.filter(pk=judged.pk).exists()
    assert judged.dataset.experiments.count() == 2
    assert alice_client.get(address(judged)).status_code == 404
