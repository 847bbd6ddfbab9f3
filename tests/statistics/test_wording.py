from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.statistics.wording import (
    count_text,
    difference_text,
    interval_text,
    p_text,
    percent_text,
    points_text,
)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "–"),
        (0, "0.0%"),
        (1, "100.0%"),
        (0.0001, "<0.1%"),
        (0.9999, ">99.9%"),
        (38 / 80, "47.5%"),
        (37 / 78, "47.4%"),
        (38 / 79, "48.1%"),
        (39 / 79, "49.4%"),
        (0.0745, "7.4%"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    assert percent_text(share) == text


@given(st.integers(0, 20_000))
def test_the_percents_of_both_sides_add_up(wins: int) -> None:
    sides = [percent_text(wins / 20_000), percent_text(1 - wins / 20_000)]
    if not any(side[0] in "<>" for side in sides):
        assert sum(Decimal(side.removesuffix("%")) for side in sides) == 100


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (None, None, "–"),
        (0.4385, 1.0, "44–100%"),
        (0.15, 0.85, "15–85%"),
        (0.5, 0.7, "50–70%"),
        (0.5041, 0.66, "50.4–66.0%"),
        (0.34, 0.49996, "34.000–49.996%"),
    ],
)
def test_an_interval_never_seems_to_touch_one_half(low, high, text: str) -> None:
    assert interval_text(low, high) == text


@pytest.mark.parametrize(
    ("p_value", "text"),
    [
        (None, "p –"),
        (1.0, "p = 1"),
        (0.9999, "p > 0.99"),
        (0.25, "p = 0.25"),
        (0.5, "p = 0.50"),
        (0.02097, "p = 0.021"),
        (0.00038, "p = 0.00038"),
        (0.0001, "p = 0.00010"),
        (0.0000999, "p < 0.0001"),
        (3.8e-06, "p < 0.0001"),
        (0.0, "p < 0.0001"),
        (0.04996, "p = 0.04996"),
        (0.0504, "p = 0.050"),
    ],
)
def test_p_value(p_value: float | None, text: str) -> None:
    assert p_text(p_value) == text


def test_a_p_value_is_not_rounded_over_its_own_alpha() -> None:
    assert p_text(0.00999, alpha=0.01) == "p = 0.00999"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "–"),
        (11 / 19 - 2 / 4, "+7.9 percentage points"),
        (-0.2, "−20.0 percentage points"),
        (0.00001, "±0.0 percentage points"),
    ],
)
def test_a_difference_of_shares_is_in_points(share: float | None, text: str) -> None:
    assert difference_text(share) == text


def test_counts_and_points() -> None:
    assert [count_text(1, "tie"), count_text(1024, "tie")] == ["1 tie", "1,024 ties"]
    assert [points_text(0.01), points_text(0.05), points_text(0.079)] == [
        "1 point",
        "5 points",
        "7.9 points",
    ]
