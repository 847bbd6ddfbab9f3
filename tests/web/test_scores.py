"""Scores of several experiments on the same examples."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evaluators.statistics import OPS
from experiments.models import Dataset, Experiment, Feedback
from experiments.queries.score_comparison import compare_scores
from tests.factories import add_scores, example_ids, make_dataset, make_experiment, make_run
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db


def scored(dataset: Dataset, scores: Sequence[float | None], *, key: str = "f1") -> Experiment:
    made = make_experiment(dataset, ["x"] * len(scores))
    add_scores(made, scores, key=key)
    return made


LOW = [0.1 * n for n in range(10)]
HIGH = [0.1 * n + 0.2 + 0.01 * (n % 3) for n in range(10)]


def test_it_is_the_paired_difference_of_shared_examples(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 10)
    base, better = scored(dataset, LOW), scored(dataset, [*HIGH[:9], None])
    (row,) = compare_scores([base, better]).differences
    expected = OPS["paired_difference"](a=HIGH[:9], b=LOW[:9])
    assert row.difference == pytest.approx(expected["mean_diff"])
    assert row.low == pytest.approx(expected["t_low"])
    assert row.p_value == expected["permutation_p"] == row.adjusted_p
    assert (row.better, row.same, row.worse) == (9, 0, 0)
    assert (row.shared, row.only_one) == (9, 1)
    assert row.sentence == "Scores higher."


def test_an_interval_that_covers_no_difference_is_not_settled(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 7)
    base, skewed = scored(dataset, [0] * 7), scored(dataset, [5, *[0.1] * 6])
    (row,) = compare_scores([base, skewed]).differences
    assert row.low is not None
    assert row.low < 0
    assert row.adjusted_p == pytest.approx(2 / 2**7)
    assert row.sentence == "Not settled."


def test_repetitions_of_an_example_count_once(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 3)
    base, other = scored(dataset, [0, 0, 0]), scored(dataset, [1, 0, 1])
    again = make_run(other, example_ids(dataset)[0], "again")
    Feedback.objects.create(
        workspace=workspace, experiment=other, run_uid=again.uid, key="f1", score=0
    )
    (row,) = compare_scores([base, other]).differences
    assert row.shared == 3
    assert row.difference == pytest.approx((0.5 + 0 + 1) / 3)


def test_all_tests_of_the_table_are_corrected_together(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 10)
    base, one, two = (scored(dataset, scores) for scores in (LOW, HIGH, LOW[::-1]))
    for made in (base, one, two):
        add_scores(made, HIGH if made == one else LOW, key="bleu")
    found = compare_scores([base, one, two])
    assert [(row.key, row.experiment) for row in found.differences] == [
        ("bleu", one.name), ("bleu", two.name), ("f1", one.name), ("f1", two.name),
    ]  # fmt: skip
    plain = [row.p_value for row in found.differences]
    expected = OPS["adjust_p_values"](p_values=plain)["holm"]
    assert [row.adjusted_p for row in found.differences] == expected
    assert expected != plain
    assert len(compare_scores([base, one], keys=["f1"]).differences) == 1


def test_errors_and_pairwise_scores_are_left_out(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 2)
    base, other = scored(dataset, [0, 0]), scored(dataset, [1, 1])
    Feedback.objects.filter(experiment=other).update(is_error=True)
    (row,) = compare_scores([base, other]).differences
    assert (row.shared, row.difference) == (0, None)
    assert row.sentence == "No example has both scores."


def test_one_query_whatever_the_number(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 10)
    made = [scored(dataset, LOW) for _ in range(4)]
    with CaptureQueriesContext(connection) as context:
        compare_scores(made)
    assert len(context) == 1


def test_the_page_is_reached_by_ticking(client: Client, alice: User, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 10)
    base, other = scored(dataset, LOW), scored(dataset, HIGH)
    client.force_login(alice)
    tab = client.get(reverse("dataset_experiments", args=[dataset.uid])).content.decode()
    address = reverse("dataset_scores", args=[dataset.uid])
    assert f'name="exp" value="{other.uid}" form="tray"' in tab
    uids = [str(base.uid), str(other.uid)]
    beside = client.get(
        reverse("experiments_ticked"), {"exp": uids, "do": "compare"}, follow=True
    ).content.decode()
    assert f'hx-get="{address}?exp={base.uid}&amp;exp={other.uid}"' in beside
    page = client.get(address, {"exp": [str(base.uid), str(other.uid)]}).content.decode()
    assert "Scores higher." in page
    assert "+0.209" in page
    none = client.get(address, {"exp": [str(base.uid), "nonsense"], "key": "\x00"}).content.decode()
    assert "Choose two experiments" in none


def test_strangers_see_neither_page_nor_experiments(
    client: Client, mallory: User, workspace: Workspace, other_workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["x"] * 10)
    made = [scored(dataset, LOW), scored(dataset, HIGH)]
    client.force_login(mallory)
    uids = {"exp": [str(row.uid) for row in made]}
    assert client.get(reverse("dataset_scores", args=[dataset.uid]), uids).status_code == 404
    own = reverse("dataset_scores", args=[make_dataset(other_workspace).uid])
    assert "Choose two experiments" in client.get(own, uids).content.decode()


def in_groups(dataset: Dataset, groups: Sequence[str | None]) -> None:
    """Give the examples a document each, in the dataset's order."""
    revisions = dataset.revisions.filter(valid_to=None).order_by("example")
    for revision, group in zip(revisions, groups, strict=True):
        revision.metadata = {"document": group} if group else {}
        revision.save()


def test_rows_that_belong_together_widen_the_interval(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 10)
    documents = ["d1"] * 4 + ["d2"] * 3 + ["d3"] * 2 + [None]
    in_groups(dataset, documents)
    base, other = scored(dataset, LOW), scored(dataset, [1.0] * 4 + LOW[4:])
    (plain,) = compare_scores([base, other]).differences
    found = compare_scores([base, other], group="document")
    (row,) = found.differences
    uids = [str(uid) for uid in example_ids(dataset)]
    shared = sorted(range(10), key=lambda n: uids[n])
    expected = OPS["clustered_mean"](
        values=[([1.0] * 4 + LOW[4:])[n] - LOW[n] for n in shared],
        clusters=[documents[n] for n in shared],
    )
    assert (row.low, row.high) == (expected["t_low"], expected["t_high"])
    assert row.p_value == expected["t_p"]
    assert row.clusters == 4
    assert found.few_clusters
    assert plain.low is not None
    assert row.low is not None
    assert row.low < plain.low
    assert row.difference == plain.difference


def test_pass_or_fail_is_tested_on_the_rows_that_differ(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 30)
    base, other = scored(dataset, [0] * 25 + [1] * 5), scored(dataset, [1] * 24 + [0] * 4 + [1] * 2)
    (row,) = compare_scores([base, other]).differences
    expected = OPS["mcnemar"](both_pass=2, a_only=24, b_only=3, both_fail=1)
    assert row.p_value == expected["exact_p"]
    assert row.difference == pytest.approx(expected["diff"])
    assert row.method == "exact McNemar"


def test_the_group_is_chosen_on_the_page(client: Client, alice: User, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 10)
    in_groups(dataset, ["d1"] * 5 + ["d2"] * 5)
    uids = [str(scored(dataset, scores).uid) for scores in (LOW, HIGH)]
    client.force_login(alice)
    address = reverse("dataset_scores", args=[dataset.uid])
    page = client.get(address, {"exp": uids, "group": "document"}).content.decode()
    assert "<option selected>document</option>" in page
    assert "2 groups" in page
    assert "Fewer than ten groups" in page
    assert "clustered_mean" in page
