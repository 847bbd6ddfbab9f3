"""The sweep sums the changes of counts, and leaves sums alone."""

from __future__ import annotations

import pytest

from experiments.models import ComparisonEvaluator, OutcomeDelta
from experiments.services.sweeping import roll_up_counts
from tests.factories import make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db
SPLITS = 60


def plant(evaluator: ComparisonEvaluator) -> None:
    OutcomeDelta.objects.bulk_create(
        OutcomeDelta(evaluator=evaluator, split=f"s{n}", outcome="a", amount=1)
        for n in range(SPLITS)
    )


def test_sums_of_many_splits_are_not_written_again_and_again(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"])
    comparison = make_comparison(*(make_experiment(dataset, [word]) for word in "ab"))
    evaluator = comparison.evaluators.get()
    OutcomeDelta.objects.filter(evaluator=evaluator).delete()
    plant(evaluator)
    plant(evaluator)
    roll_up_counts()
    rows = OutcomeDelta.objects.filter(evaluator=evaluator)
    assert list(rows.values_list("amount", flat=True)) == [2] * SPLITS
    summed = set(rows.values_list("pk", flat=True))
    roll_up_counts()
    assert set(rows.values_list("pk", flat=True)) == summed
