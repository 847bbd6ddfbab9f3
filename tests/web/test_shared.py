"""A comparison by link: read-only, as much as was chosen, ended at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiments.models import Comparison, SharedLink
from experiments.services.overrides import override
from tests.factories import judge
from tests.web.uploading import signed_in
from tiebreak.accounts.models import Role, User

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged(comparison: Comparison, alice: User) -> Comparison:
    judge(comparison, ["a", "b", "failed"], reason="Because A names it.")
    row = comparison.judgments.select_related("pair", "evaluator").get(outcome="b")
    row.comparison = comparison
    override(row, outcome="tie", reason="Seen by a person.", author=alice)
    return comparison


def share(user: User, comparison: Comparison, **body: str) -> Any:
    return signed_in(user).post(reverse("comparison_share", args=[comparison.uid]), body)


def link_of(comparison: Comparison) -> str:
    return reverse("shared_comparison", args=[SharedLink.objects.get().token])


def test_the_link_shows_what_was_chosen_and_nothing_that_leads_elsewhere(
    client: Client, alice: User, judged: Comparison
) -> None:
    share(alice, judged, shows="reasons")
    row = judged.pairs.order_by("position")[0].example_uid
    answer = client.get(link_of(judged), {"row": str(row)})
    page = answer.content.decode()
    assert answer["X-Robots-Tag"] == "noindex, nofollow"
    assert "Because A names it." in page
    assert "system a" in page
    for private in (
        "alice",
        "/experiments/",
        "/runs/",
        "/datasets/",
        "Export",
        "by-hand",
        "/settings",
    ):
        assert private not in page
    assert client.get(link_of(judged), {"out": "a"}).content.decode().count("<tr id=") == 1
    report = client.get(reverse("shared_report", args=[SharedLink.objects.get().token]))
    assert "First slot wins" in report.content.decode()


@pytest.mark.parametrize(("shows", "rows", "reasons"), [("summary", 0, 0), ("rows", 3, 0)])
def test_less_can_be_shown(
    client: Client, alice: User, judged: Comparison, shows: str, rows: int, reasons: int
) -> None:
    share(alice, judged, shows=shows)
    row = judged.pairs.order_by("position")[0].example_uid
    page = client.get(link_of(judged), {"row": str(row)}).content.decode()
    assert page.count("<tr id=") == rows
    assert page.count("Because A names it.") == reasons
    assert ("drawer-title" in page) == (shows == "rows")
    assert "Games" not in page


def test_it_ends_at_once_or_when_its_time_is_over(
    client: Client, alice: User, judged: Comparison
) -> None:
    share(alice, judged, shows="rows", days="7")
    address, link = link_of(judged), SharedLink.objects.get()
    assert link.expires_at is not None
    assert client.get(address).status_code == 200
    SharedLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(address).status_code == 404
    share(alice, judged, shows="summary")
    assert client.get(address).status_code == 200
    share(alice, judged, end="")
    assert client.get(address).status_code == 404
    assert client.get(reverse("shared_comparison", args=[uuid4()])).status_code == 404


def test_only_editors_share_and_only_what_there_is(
    alice: User, mallory: User, judged: Comparison
) -> None:
    assert share(mallory, judged, shows="rows").status_code == 404
    browser = signed_in(alice)
    address = reverse("comparison_share", args=[judged.uid])
    answer = browser.post(address, {"shows": "everything"}, follow=True)
    assert "must be one of" in answer.content.decode()
    alice.memberships.update(role=Role.ANNOTATOR)
    assert share(alice, judged, shows="rows").status_code == 403
    assert SharedLink.objects.count() == 0


def test_a_link_to_a_dataset_is_no_link_to_a_comparison(
    client: Client, alice: User, judged: Comparison
) -> None:
    link = SharedLink.objects.create(
        workspace=judged.workspace, kind="dataset", target_uid=judged.dataset.uid
    )
    assert client.get(reverse("shared_comparison", args=[link.token])).status_code == 404
