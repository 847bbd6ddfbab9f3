"""Made-up workspaces hold together: pages, counts and reports find what the rows say."""

from __future__ import annotations

from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from experiments.errors import InvalidError
from experiments.models import Comparison, Judgment
from experiments.queries.judging_report import report_of
from experiments.queries.outcome_counts import outcome_counts
from experiments.services.seeding import RARE, WORDS, seed
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db


def test_counts_rows_and_report_agree(client: Client, alice: User, workspace: Workspace) -> None:
    made = seed(workspace, judgments=500)
    evaluator = made.comparison.evaluators.get()
    rows = Counter(Judgment.objects.filter(evaluator=evaluator).values_list("outcome", flat=True))
    counts = outcome_counts(evaluator)
    assert (counts.a, counts.b, counts.tie, counts.failed, counts.missing) == tuple(
        rows[outcome] for outcome in ("a", "b", "tie", "failed", "missing")
    )
    assert counts.total == 500
    report = report_of(made.comparison, evaluator)
    assert report.examples == (counts.a, counts.b, counts.tie)
    consistency = report.figures()["consistency"].value
    assert consistency == pytest.approx(1 - counts.order_changed / counts.judged)
    assert [one.key for one in report.slices] == ["topic"]
    client.force_login(alice)
    page = client.get(reverse("comparison_detail", args=[made.comparison.uid]))
    assert page.status_code == 200
    assert (
        client.get(reverse("experiment_detail", args=[made.experiments[0].uid])).status_code == 200
    )
    assert client.get(reverse("dataset_detail", args=[made.dataset.uid])).status_code == 200


def test_the_command_says_where_to_look(workspace: Workspace) -> None:
    told = StringIO()
    call_command("seed", judgments=50, workspace=workspace.name, stdout=told)
    assert f"/comparisons/{Comparison.objects.get().uid}" in told.getvalue()
    with pytest.raises(CommandError, match="no workspace"):
        call_command("seed", judgments=50, workspace="nobody's")
    with pytest.raises(InvalidError, match="between 1 and"):
        seed(workspace, judgments=0)


def test_the_rare_word_is_rare() -> None:
    assert RARE not in WORDS
