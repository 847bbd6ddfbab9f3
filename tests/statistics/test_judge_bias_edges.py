"""Length control where no fit exists is null with a reason, never an error."""

from __future__ import annotations

import pytest

from evaluators.statistics import OPS


@pytest.mark.parametrize(
    "length_diff",
    [
        [-20, -18, -16],
        [1000, 1001, 1002],
        [1e9, 1e9 + 1, 1e9 + 2],
    ],
)
@pytest.mark.parametrize("scores", [[1, 1, 0], [1, 0, 1], [0.5, 0, 1], [1, 0.5, 0.5]])
def test_differences_that_are_nearly_alike_have_no_fit_or_a_finite_one(
    scores: list[float], length_diff: list[float]
) -> None:
    found = OPS["length_controlled"](scores_a=scores, length_diff=length_diff)
    if found["controlled"] is None:
        assert found["reason"]
        assert found["intercept"] is None
    else:
        assert 0 <= found["controlled"] <= 1
