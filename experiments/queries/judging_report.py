"""The report below a verdict: did the order or the length decide it, where, when, at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluators.statistics.figures import Figure, How
from evaluators.statistics.judge_bias import position_report_of
from experiments.models import Comparison, ComparisonEvaluator
from experiments.queries.judging_facts import Orders, lengths_of, orders_of, race_of, usage_of
from experiments.queries.judging_figures import cost_figures, length_figures, order_figures
from experiments.queries.judging_parts import (
    Part,
    Running,
    Swap,
    adjusted_together,
    length_parts,
    running_of,
    swaps_of,
)
from experiments.queries.judging_slices import metadata_slices, split_slices
from experiments.queries.outcome_counts import examples_won, repeated_in


@dataclass(frozen=True)
class Section:
    """Some numbers that belong together."""

    key: str
    title: str
    figures: Sequence[Figure]


@dataclass(frozen=True)
class Slices:
    """A's share for each value of one key of the examples' metadata."""

    key: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Report:
    """All of it, ready for a page or for JSON.

    Rows are examples: repetitions of one are reduced to who won most of them, so `examples` gives
    rows won by A, by B, and even. `lenient` does so where one order is enough for a win.
    """

    examples: tuple[int, int, int]
    lenient: tuple[int, int, int] | None
    sections: Sequence[Section]
    swaps: Sequence[Swap]
    splits: Sequence[Part]
    slices: Sequence[Slices]
    lengths: Sequence[Part]
    running: Running

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Report:
        """What `as_dict` gave; KeyError or TypeError for another shape."""
        return cls(
            examples=_three(body["examples"]),
            lenient=_three(body["lenient"]) if body["lenient"] else None,
            sections=[
                Section(one["key"], one["title"], [_figure(fields) for fields in one["figures"]])
                for one in body["sections"]
            ],
            swaps=[Swap(**one) for one in body["swaps"]],
            splits=[Part(**one) for one in body["splits"]],
            slices=[
                Slices(one["key"], [Part(**part) for part in one["parts"]])
                for one in body["slices"]
            ],
            lengths=[Part(**one) for one in body["lengths"]],
            running=Running(**body["running"]),
        )

    def figures(self) -> dict[str, Figure]:
        """Every number by its key."""
        return {one.key: one for section in self.sections for one in section.figures}


def report_of(comparison: Comparison, evaluator: ComparisonEvaluator) -> Report:
    """The report of one evaluator, in eight queries whatever the number of rows."""
    evaluator.comparison = comparison
    repeated = bool(repeated_in([comparison.pk]))
    lengths = lengths_of(evaluator, repeated=repeated)
    orders = orders_of(evaluator, repeated=repeated)
    splits, by_key = adjusted_slices(evaluator)
    return Report(
        examples=examples_won([evaluator.pk]).get(evaluator.pk, (0, 0, 0)),
        lenient=lenient_counts(orders),
        sections=[
            Section("order", "Order", order_figures(orders)),
            Section("length", "Length", length_figures(lengths)),
            Section("cost", "Cost", cost_figures(usage_of(evaluator))),
        ],
        swaps=swaps_of(orders),
        splits=splits,
        slices=by_key,
        lengths=length_parts(lengths),
        running=running_of(comparison, race_of(evaluator, repeated=repeated)),
    )


def adjusted_slices(evaluator: ComparisonEvaluator) -> tuple[Sequence[Part], list[Slices]]:
    """Splits and metadata are one look at many slices, so their p-values are corrected together."""
    splits, by_key = split_slices(evaluator), metadata_slices(evaluator)
    first, *others = adjusted_together([splits, *by_key.values()])
    return first, [Slices(key, parts) for key, parts in zip(by_key, others, strict=True)]


def lenient_counts(orders: Orders) -> tuple[int, int, int] | None:
    """Rows won by A, by B and even where one order is enough; None if none was asked in both."""
    if not any(ab and ba for ab, ba in orders):
        return None
    found = position_report_of(orders)["reconciled_lenient"]
    return found["A"], found["B"], found["T"]


def _three(values: Sequence[int]) -> tuple[int, int, int]:
    a, b, even = values
    return a, b, even


def _figure(fields: Mapping[str, Any]) -> Figure:
    return Figure(**{**fields, "how": How(**fields["how"])})
