import itertools
import math
from typing import Any

import numpy as np
import pytest

from evaluators.statistics import OPS


def enumerated_p(differences: list[float]) -> float:
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(s >= abs(sum(differences)) - 1e-9 for s in sums) / len(sums)


def permutation(differences: list[float], **more: int) -> dict[str, Any]:
    return OPS["paired_difference"](a=differences, b=[0.0] * len(differences), **more)


def test_few_rows_are_enumerated() -> None:
    differences = [0.1, -0.3, 0.25, 0.4, 0.0, -0.05, 0.2, 0.3, 0.1]
    result = permutation(differences)
    assert result["permutation_p"] == pytest.approx(enumerated_p(differences))
    assert result["permutation_method"] == "exact"


def test_equal_differences_are_exact_for_any_number_of_rows() -> None:
    result = permutation([1.0] * 62 + [-1.0] * 38 + [0.0] * 50)
    assert result["permutation_p"] == pytest.approx(OPS["sign_test"](wins=62, losses=38)["p_value"])
    assert result["permutation_method"] == "exact"


def test_more_rows_are_sampled_with_a_seed() -> None:
    rng = np.random.default_rng(1)
    differences = (rng.normal(size=200) + 0.15).round(2).tolist()
    first = permutation(differences)
    assert first["permutation_method"] == "sampled"
    assert first["permutation_p"] == permutation(differences)["permutation_p"]
    assert first["permutation_p"] != permutation(differences, seed=2)["permutation_p"]
    assert first["permutation_p"] == pytest.approx(first["t_p"], abs=0.01)


def test_a_sampled_p_value_is_never_zero() -> None:
    assert permutation([1.0, 2.0] * 40, resamples=999)["permutation_p"] == 1 / 1000


def test_very_many_amounts_take_the_normal_limit() -> None:
    differences = (np.random.default_rng(3).normal(size=6_000) + 0.02).tolist()
    result = permutation(differences)
    assert result["permutation_method"] == "normal"
    assert result["permutation_p"] == pytest.approx(result["t_p"], abs=0.002)


@pytest.mark.parametrize("rows", [40, 4_000])
def test_the_bootstrap_agrees_with_the_normal_interval(rows: int) -> None:
    values = np.random.default_rng(4).choice([0.0, 0.5, 1.0], size=rows).tolist()
    result = OPS["paired_bootstrap"](differences=values, confidence=0.95)
    se = float(np.std(values)) / math.sqrt(rows)
    assert result["bootstrap_se"] == pytest.approx(se, rel=0.04)
    assert result["low"] == pytest.approx(result["mean"] - 1.96 * se, abs=0.3 * se)
    assert result["method"] == "percentile"


def test_the_bootstrap_of_a_huge_sample_takes_the_normal_limit() -> None:
    values = np.random.default_rng(5).normal(size=60_000).tolist()
    result = OPS["paired_bootstrap"](differences=values)
    assert result["method"] == "normal"
    assert result["bootstrap_se"] == pytest.approx(1 / math.sqrt(60_000), rel=0.02)


def test_another_seed_gives_other_digits() -> None:
    values = [0.1, 0.4, -0.2, 0.3]
    first = OPS["paired_bootstrap"](differences=values, seed=1)
    assert (
        first["bootstrap_se"] != OPS["paired_bootstrap"](differences=values, seed=2)["bootstrap_se"]
    )
    assert first["seed"] == 1


def test_repeats_may_differ_in_number() -> None:
    result = OPS["repeat_variance"](scores=[[1, 0, 1, None], [1, 1], [0]])
    rows = [[1, 0, 1], [1, 1], [0]]
    assert result["mean"] == pytest.approx(np.mean([2 / 3, 1, 0]))
    within = sum(np.var(row) * len(row) for row in rows) / (3 - 1 + 2 - 1)
    assert result["within_var"] == pytest.approx(within)
    assert result["row_sd"] == [pytest.approx(math.sqrt(1 / 3)), 0, None]
