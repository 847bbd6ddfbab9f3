"""Repetitions of an example are not independent: the verdict counts each example once."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from experiments.queries.corrections import corrections_of
from experiments.queries.outcome_counts import outcome_counts
from experiments.queries.verdict_card import verdict_of
from tests.factories import (
    example_ids,
    judge,
    make_comparison,
    make_dataset,
    make_experiment,
    make_run,
)
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db


def test_the_verdict_counts_examples_not_repetitions(
    client: Client, alice: User, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["r1", "r2", "r3"])
    a, b = make_experiment(dataset, ["x"] * 3), make_experiment(dataset, ["y"] * 3)
    for uid in example_ids(dataset):
        for _ in range(2):
            make_run(a, uid, "x")
            make_run(b, uid, "y")
    comparison = make_comparison(a, b)
    judge(comparison, ["a", "a", "b", "b", "b", "b", "a", "b", "tie"])
    evaluator = comparison.evaluators.get()
    counts = outcome_counts(evaluator)
    assert (counts.a, counts.b, counts.ties, counts.total) == (3, 5, 1, 9)
    verdict = verdict_of(comparison, evaluator, counts)
    assert (verdict.counts.wins_a, verdict.counts.wins_b, verdict.counts.ties) == (1, 1, 1)
    client.force_login(alice)
    page = client.get(reverse("comparison_detail", args=[comparison.uid])).content.decode()
    assert "counts each example once" in page
    assert "9 pairs" in page


def test_corrected_p_values_count_examples_too(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["r1", "r2"])
    a, b = make_experiment(dataset, ["x"] * 2), make_experiment(dataset, ["y"] * 2)
    for uid in example_ids(dataset):
        for _ in range(4):
            make_run(a, uid, "x")
            make_run(b, uid, "y")
    comparisons = [make_comparison(a, b) for _ in range(2)]
    for comparison in comparisons:
        judge(comparison, ["a"] * 10)
    corrections = corrections_of(dataset)
    assert {found.p_value for found in corrections.values()} == {0.5}
    assert {found.adjusted_p for found in corrections.values()} == {1.0}
