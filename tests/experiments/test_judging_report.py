"""The report of a comparison: what the rows say, computed by the statistics' own functions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluators.statistics import OPS
from experiments.models import Comparison, ComparisonEvaluator, Game, Judgment
from experiments.queries.judging_facts import orders_of, race_of
from experiments.queries.judging_report import Report, report_of
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db


def planted(
    workspace: Workspace, outcomes: Sequence[str], *, order: str = "off", longer: int = 0
) -> Comparison:
    count = len(outcomes)
    splits = [["even" if n % 2 == 0 else "odd"] for n in range(count)]
    dataset = make_dataset(workspace, ["x"] * count, splits=splits)
    a = make_experiment(dataset, ["a" * (n + 5 + longer) for n in range(count)])
    b = make_experiment(dataset, ["b" * (25 - n) for n in range(count)])
    comparison = make_comparison(a, b, order=order)
    judge(comparison, outcomes)
    return comparison


def evaluator_of(comparison: Comparison) -> ComparisonEvaluator:
    return comparison.evaluators.get()


def report(comparison: Comparison) -> Report:
    return report_of(comparison, evaluator_of(comparison))


def play_swapped(comparison: Comparison, winners: Sequence[str]) -> None:
    """Add the second game, B shown first, in the dataset's order."""
    rows = Judgment.objects.filter(comparison=comparison).select_related("pair")
    for row, winner in zip(rows.order_by("position"), winners, strict=True):
        a, b = row.pair.run_uids[:2]
        won = {"A": a, "B": b}.get(winner)
        verdict = "tie" if won is None else "first" if won == b else "second"
        Game.objects.create(judgment=row, number=1, order_shown=[b, a], winner=won, verdict=verdict)


def figures(found: Report, section: str) -> dict[str, tuple[float | None, str]]:
    wanted = next(one for one in found.sections if one.key == section)
    return {figure.key: (figure.value, figure.text) for figure in wanted.figures}


def test_it_reports_on_both_orders(workspace: Workspace) -> None:
    comparison = planted(workspace, ["a", "a", "a", "b", "tie", "a"], order="both")
    play_swapped(comparison, ["A", "A", "B", "B", "T", "T"])
    orders = orders_of(evaluator_of(comparison))
    assert orders == {
        ("A", "A"): 2, ("A", "B"): 1, ("B", "B"): 1, ("T", "T"): 1, ("A", "T"): 1,
    }  # fmt: skip
    found = figures(report(comparison), "order")
    assert found["consistency"][0] == pytest.approx(4 / 6)
    # Shown first: A won games 1, 2, 3 and 6, B the swapped games of rows 3 and 4.
    assert found["first_slot"][0] == pytest.approx(6 / 9)
    assert found["strict"][1] == "A 2 · 3 ties · B 1"
    assert found["lenient"][1] == "A 3 · 2 ties · B 1"
    assert found["average"][0] == pytest.approx((4 + 1 + 0.5 + 2.5 - 0.5) / 12)


def test_only_the_latest_round_of_a_row_counts(workspace: Workspace) -> None:
    comparison = planted(workspace, ["a", "b"])
    row = Judgment.objects.filter(comparison=comparison, outcome="a").get()
    a, b = row.pair.run_uids[:2]
    Game.objects.create(
        judgment=row, round=1, number=0, order_shown=[a, b], winner=b, verdict="second"
    )
    assert orders_of(evaluator_of(comparison)) == {("B", None): 2}


def test_a_fixed_order_says_nothing_about_the_slot(workspace: Workspace) -> None:
    found = figures(report(planted(workspace, ["a", "a", "b"])), "order")
    assert found["first_slot"] == (None, "–")
    assert found["strict"] == (None, "–")


def test_games_without_an_order_are_not_recorded(workspace: Workspace) -> None:
    comparison = planted(workspace, ["a", "b"])
    Game.objects.filter(judgment__comparison=comparison).update(order_shown=[])
    found = figures(report(comparison), "order")
    assert found["consistency"] == (None, "not recorded")
    assert found["first_slot"] == (None, "not recorded")
    assert found["strict"] == (None, "not recorded")


def test_the_race_follows_the_drawn_order_and_waits_for_the_slow(workspace: Workspace) -> None:
    comparison = planted(workspace, ["a", "b", "tie", "failed", "a", "b"])
    rows = list(Judgment.objects.filter(comparison=comparison).order_by("rank"))
    letters = {"a": "A", "b": "B", "tie": "T"}
    drawn = [letters[row.outcome] for row in rows if row.outcome != "failed"]
    assert race_of(evaluator_of(comparison)) == "".join(drawn)
    kept = [row for row in rows if row.outcome != "failed"]
    Judgment.objects.filter(pk=kept[2].pk).update(outcome="pending")
    assert race_of(evaluator_of(comparison)) == "".join(drawn[:2])


def test_it_says_where_the_race_could_have_stopped(workspace: Workspace) -> None:
    found = report(planted(workspace, ["a"] * 16)).running
    assert found.stop_at == OPS["anytime_sequence"](outcomes="A" * 16)["stop_at"]
    assert found.rows[-1] == 16
    assert found.rate[-1] == 1.0
    low = found.low[-1]
    assert low is not None and 0.5 < low < 1  # noqa: PT018


def test_the_longer_answer_is_seen_to_win(workspace: Workspace) -> None:
    # A is 5, 6, … long, B 25, 24, …: A is longer from the twelfth row on.
    outcomes = ["b"] * 11 + ["a"] * 9
    found = report(planted(workspace, outcomes))
    assert figures(found, "length")["longer_wins"][0] == pytest.approx(19 / 19)
    assert [part.rate for part in found.lengths] == [0, 0, pytest.approx(0.25), 1, 1]
    assert found.lengths[0].name == "-20 to -14"
    assert sum(part.a + part.b for part in found.lengths) == 20


def test_splits_are_counted_and_corrected(workspace: Workspace) -> None:
    outcomes = ["a" if n % 2 == 0 else "tie" for n in range(20)]
    outcomes[1] = outcomes[3] = "b"
    parts = {part.name: part for part in report(planted(workspace, outcomes)).splits}
    assert (parts["even"].a, parts["even"].b, parts["even"].ties) == (10, 0, 0)
    assert (parts["odd"].a, parts["odd"].b, parts["odd"].ties) == (0, 2, 8)
    plain = [parts["even"].p_value, parts["odd"].p_value]
    corrected = OPS["adjust_p_values"](p_values=plain)["bh"]
    assert [parts["even"].adjusted_p, parts["odd"].adjusted_p] == corrected
    assert parts["even"].clear
    assert not parts["odd"].clear


def test_the_number_of_queries_does_not_grow(workspace: Workspace) -> None:
    asked = []
    for count in (2, 18):
        comparison = planted(workspace, ["a", "b"] * (count // 2))
        evaluator = evaluator_of(comparison)
        with CaptureQueriesContext(
            connection,
        ) as context:
            report_of(comparison, evaluator)
        asked.append(len(context))
    assert asked == [5, 5]


def test_nothing_judged_is_null_with_a_reason(workspace: Workspace) -> None:
    found = report(planted(workspace, ["failed", "failed"]))
    for section in ("order", "length"):
        assert all(value is None for value, _ in figures(found, section).values())
    assert found.running.rows == []
    assert figures(found, "cost")["calls"] == (0, "0")
