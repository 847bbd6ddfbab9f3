"""The verdict card: the sentence, and the switches in the address that say how rows are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from evaluators.statistics.figures import Figure
from experiments.models import Comparison, ComparisonEvaluator
from experiments.queries.judging_report import Report
from experiments.queries.mirroring import mirrored_report
from experiments.queries.outcome_counts import OutcomeCounts
from experiments.queries.verdict_card import Rule, verdict_of
from experiments.services.reports import quick_report
from experiments.tasks import start_report
from tiebreak.web.address import one_of, with_changes

RATES: dict[str, Rule] = {"decided": "decided", "half": "half"}
# The report's numbers that the card repeats, in this order, where they are more than nothing.
BESIDE = ("consistency", "first_slot", "longer_wins", "calls", "cached", "cost")


@dataclass(frozen=True)
class Switch:
    """One way of counting: what it is called, where it leads, whether it is on."""

    label: str
    href: str
    on: bool


def verdict_context(
    comparison: Comparison,
    evaluator: ComparisonEvaluator,
    counts: OutcomeCounts,
    query: QueryDict,
    *,
    repeated: bool,
    swap: bool,
) -> dict[str, Any]:
    """The verdict by the address's rules (`rate`, `rule`, `adj`), and what stands beside it."""
    found = quick_report(evaluator, judged=counts.judged) if counts.judged else None
    if counts.judged and not (found and found.fresh):
        start_report(evaluator)
    report = found.report if found else None
    rows = report.examples if report and found and found.fresh and repeated else None
    lenient = report.lenient if report and one_of(query, "rule", ["lenient"]) else None
    rate = RATES.get(query.get("rate", ""))
    verdict = verdict_of(
        comparison, evaluator, counts, rule=rate, repeated=repeated, rows=lenient or rows, swap=swap
    )
    report = mirrored_report(report) if report and swap else report
    return {
        "verdict": verdict,
        "lenient": lenient is not None,
        "at_equal_length": _at_equal_length(report, query),
        "beside": _beside(report),
        "race": report.running if report and len(report.running.rows) > 1 else None,
        "report_is_behind": found is None or not found.fresh,
        "switches": _switches(report, query, verdict.rule),
    }


def _beside(report: Report | None) -> list[Figure]:
    known = report.figures() if report else {}
    return [known[key] for key in BESIDE if key in known and known[key].value]


def _at_equal_length(report: Report | None, query: QueryDict) -> Figure | None:
    if report is None or not one_of(query, "adj", ["length"]):
        return None
    return report.figures().get("length_controlled")


def _switches(report: Report | None, query: QueryDict, rule: Rule) -> list[list[Switch]]:
    """A group for each rule that these verdicts allow to be changed."""
    groups = [
        _group(query, "rate", [("Decided rows", "decided"), ("Ties as half", "half")], rule),
    ]
    if report and report.lenient:
        chosen = one_of(query, "rule", ["lenient"]) or None
        groups.append(_group(query, "rule", [("Strict", None), ("Lenient", "lenient")], chosen))
    controlled = report.figures().get("length_controlled") if report else None
    if controlled and controlled.value is not None:
        chosen = one_of(query, "adj", ["length"]) or None
        choices: list[tuple[str, str | None]] = [("Raw", None), ("At equal length", "length")]
        groups.append(_group(query, "adj", choices, chosen))
    return groups


def _group(
    query: QueryDict, key: str, choices: list[tuple[str, str | None]], chosen: str | None
) -> list[Switch]:
    return [
        Switch(label, with_changes(query, {key: value}, drop=("row",)), value == chosen)
        for label, value in choices
    ]
