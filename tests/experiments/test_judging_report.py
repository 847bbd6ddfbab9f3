"""The report of a comparison: what the rows say, computed by the statistics' own functions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluators.statistics import OPS
from experiments.models import Comparison, ComparisonEvaluator, Game, Judgment, Outcome
from experiments.queries.judging_facts import orders_of, race_of
from experiments.queries.judging_report import Report, report_of
from experiments.queries.stored_report import stored_report
from experiments.services import reports
from experiments.services.judgment_rows import Decided
from experiments.services.judgments import record_judgments
from experiments.services.reports import add_up, current_report, quick_report
from experiments.verdicts import Verdict
from tests.factories import (
    example_ids,
    judge,
    make_comparison,
    make_dataset,
    make_experiment,
    make_run,
)
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


def test_rows_of_one_length_difference_stay_together(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 20)
    sides = [make_experiment(dataset, [word] * 20) for word in ("yes", "no!")]
    comparison = make_comparison(*sides)
    judge(comparison, ["a", "b"] * 10)
    (alike,) = report(comparison).lengths
    assert (alike.name, alike.a, alike.b, alike.p_value) == ("+0 to +0", 10, 10, 1.0)


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
    assert asked == [8, 8]


def test_nothing_judged_is_null_with_a_reason(workspace: Workspace) -> None:
    found = report(planted(workspace, ["failed", "failed"]))
    for section in ("order", "length"):
        assert all(value is None for value, _ in figures(found, section).values())
    assert found.running.rows == []
    assert figures(found, "cost")["calls"] == (0, "0")


def test_both_orders_are_told_apart(workspace: Workspace) -> None:
    comparison = planted(workspace, ["a", "a", "a", "b", "tie", "a"], order="both")
    play_swapped(comparison, ["A", "A", "B", "B", "T", "T"])
    found = report(comparison)
    assert {swap.key: swap.rows for swap in found.swaps} == {
        "a": 2, "b": 1, "tie": 1, "first": 1, "second": 0, "half": 1,
    }  # fmt: skip
    assert sum(swap.share for swap in found.swaps) == pytest.approx(1)
    assert found.lenient == (3, 1, 2)


def test_one_order_has_no_lenient_rule(workspace: Workspace) -> None:
    found = report(planted(workspace, ["a", "b"]))
    assert (found.lenient, found.swaps) == (None, [])


def with_metadata(comparison: Comparison, values: Sequence[object]) -> None:
    """Give the examples metadata: a topic each, and keys that are no use as slices."""
    pairs = comparison.pairs.order_by("position").select_related("revision")
    for number, (pair, topic) in enumerate(zip(pairs, values, strict=True)):
        assert pair.revision is not None
        pair.revision.metadata = {
            "topic": topic, "id": f"row {number}", "same": 1, "nested": {"x": 1},
        }  # fmt: skip
        pair.revision.save()


def test_metadata_are_slices_corrected_together_with_the_splits(workspace: Workspace) -> None:
    count = 70
    comparison = planted(
        workspace, ["a" if n < 30 else "b" if n < 40 else "tie" for n in range(count)]
    )
    with_metadata(comparison, ["maths" if n < 30 else 7 for n in range(count)])
    found = report(comparison)
    assert [one.key for one in found.slices] == ["topic"]
    parts = {part.name: part for part in found.slices[0].parts}
    assert (parts["maths"].a, parts["maths"].ties, parts["maths"].b) == (30, 0, 0)
    assert (parts["7"].a, parts["7"].ties, parts["7"].b) == (0, 30, 10)
    family = [*found.splits, *found.slices[0].parts]
    corrected = OPS["adjust_p_values"](p_values=[part.p_value for part in family])["bh"]
    assert [part.adjusted_p for part in family] == corrected


def test_repetitions_of_an_example_are_one_row_everywhere(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["x"] * 3, splits=[["even"], ["odd"], ["even"]])
    a, b = make_experiment(dataset, ["long answer"] * 3), make_experiment(dataset, ["short"] * 3)
    for uid in example_ids(dataset):
        for _ in range(2):
            make_run(a, uid, "long answer")
            make_run(b, uid, "short")
    comparison = make_comparison(a, b, order="both")
    judge(comparison, ["a", "a", "b", "b", "b", "a", "a", "b", "tie"])
    play_swapped(comparison, ["A", "A", "B", "A", "B", "B", "B", "T", "B"])
    found = report(comparison)
    assert found.examples == (1, 1, 1)
    # A shown first: A, B, tie by most of three; B shown first: A, B, B.
    assert orders_of(evaluator_of(comparison), repeated=True) == {
        ("A", "A"): 1, ("B", "B"): 1, ("T", "B"): 1,
    }  # fmt: skip
    assert {part.name: (part.a, part.ties, part.b) for part in found.splits} == {
        "even": (1, 1, 0), "odd": (0, 0, 1),
    }  # fmt: skip
    assert found.running.rows[-1] == 3
    assert sum(part.a + part.ties + part.b for part in found.lengths) == 3


def test_a_stored_report_comes_back_as_it_was(workspace: Workspace) -> None:
    comparison = planted(workspace, ["a", "a", "a", "b", "tie", "a"], order="both")
    play_swapped(comparison, ["A", "A", "B", "B", "T", "T"])
    with_metadata(comparison, ["m", "m", "m", "n", "n", "n"])
    evaluator = comparison.evaluators.get()
    fresh = add_up(evaluator)
    kept = stored_report(evaluator)
    assert kept is not None
    assert kept.fresh
    assert kept.report == fresh


def test_a_verdict_makes_the_stored_report_stale_and_the_next_look_mends_it(
    workspace: Workspace,
) -> None:
    comparison = planted(workspace, ["a", "b", "b"])
    evaluator = comparison.evaluators.get()
    assert current_report(evaluator).examples == (1, 2, 0)
    won = Judgment.objects.filter(comparison=comparison, outcome="b").order_by("pk")[0]
    record_judgments(comparison, [Decided(won.pk, Verdict(Outcome.A), [])])
    behind = stored_report(evaluator)
    assert behind is not None
    assert not behind.fresh
    quick = quick_report(evaluator)
    assert quick is not None
    assert quick.report.examples == (2, 1, 0)


def test_a_counting_that_never_ended_is_done_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = planted(workspace, ["a", "b", "b"])
    evaluator = comparison.evaluators.get()
    current_report(evaluator)
    won = Judgment.objects.filter(comparison=comparison, outcome="b").order_by("pk")[0]
    record_judgments(comparison, [Decided(won.pk, Verdict(Outcome.A), [])])

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(reports, "report_of", killed)
        with pytest.raises(SystemExit):
            reports.add_up(evaluator)
    behind = stored_report(evaluator)
    assert behind is not None
    assert not behind.fresh
    reports.refresh(evaluator.pk)
    still = stored_report(evaluator)
    assert still is not None
    assert not still.fresh, "somebody may be at it: not begun again at once"
    assert current_report(evaluator).examples == (2, 1, 0)


def test_many_verdicts_are_left_to_a_worker(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = planted(workspace, ["a", "b", "b"])
    evaluator = comparison.evaluators.get()
    monkeypatch.setattr(reports, "ADDED_UP_AT_ONCE", 2)
    assert quick_report(evaluator) is None
    reports.refresh(evaluator.pk)
    quick = quick_report(evaluator)
    assert quick is not None
    assert quick.fresh
