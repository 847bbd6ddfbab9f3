"""Several comparisons of a dataset: corrected p-values beside the verdicts."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from evaluators.statistics import OPS
from experiments.models import Comparison, Job
from experiments.queries.corrections import corrections_of
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db


def judged_three_times(workspace: Workspace) -> list[Comparison]:
    dataset = make_dataset(workspace, ["x"] * 12)
    one, two, three, four = (make_experiment(dataset, ["o"] * 12) for _ in range(4))
    made = [make_comparison(one, other) for other in (two, three, four)]
    for comparison, wins in zip(made, (12, 10, 6), strict=True):
        judge(comparison, ["a"] * wins + ["b"] * (12 - wins))
    return made


def test_holm_corrects_for_all_of_them(workspace: Workspace) -> None:
    made = judged_three_times(workspace)
    found = corrections_of(made[0].dataset)
    plain = [OPS["sign_test"](wins=w, losses=12 - w)["p_value"] for w in (12, 10, 6)]
    expected = OPS["adjust_p_values"](p_values=plain)["holm"]
    assert [found[row.evaluators.get().pk].adjusted_p for row in made] == expected
    second = found[made[1].evaluators.get().pk]
    assert second.p_value == pytest.approx(0.0386, abs=1e-4)
    assert second.undone


def test_running_and_undecided_ones_are_no_part_of_the_family(workspace: Workspace) -> None:
    first, second, third = judged_three_times(workspace)
    Job.objects.filter(comparison=third).update(state="running")
    assert set(corrections_of(first.dataset)) == {
        row.evaluators.get().pk for row in (first, second)
    }
    Job.objects.filter(comparison=second).update(state="paused")
    assert corrections_of(first.dataset) == {}


def test_card_list_and_api_show_it(
    client: Client, alice: User, workspace: Workspace, api_key: str
) -> None:
    made = judged_three_times(workspace)
    client.force_login(alice)
    row = made[1]
    found = corrections_of(row.dataset)[row.evaluators.get().pk]
    card = client.get(reverse("comparison_detail", args=[row.uid])).content.decode()
    assert f"Among 3 comparisons</dt><dd>{found.text}" in card
    assert "not settled." in card
    page = client.get(reverse("dataset_comparisons", args=[row.dataset.uid])).content.decode()
    assert f"{found.text} among 3" in page
    told = client.get(f"/api/v1/comparisons/{row.uid}", headers={"x-api-key": api_key}).json()
    assert told["evaluators"][0]["correction"] == {
        "p_value": found.p_value,
        "adjusted_p": found.adjusted_p,
        "comparisons": 3,
    }
