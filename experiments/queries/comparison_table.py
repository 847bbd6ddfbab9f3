"""The rows of a pairwise experiment: filtered, a page at a time, on one index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from experiments.models import (
    Comparison,
    ComparisonEvaluator,
    ExampleRevision,
    Judgment,
    Outcome,
    Run,
)
from experiments.queries.examples import mentions
from experiments.queries.outcome_counts import EVEN, OutcomeCounts
from experiments.rawjson import NotJsonError, loads
from experiments.texts import text_of

COUNT_LIMIT = 10_000


@dataclass(frozen=True)
class Filter:
    """One segment of the filter bar: which judgments, and which count stands beside it."""

    key: str
    label: str
    condition: Q
    count: Callable[[OutcomeCounts], int]


FILTERS: tuple[Filter, ...] = (
    Filter("a", "A better", Q(outcome=Outcome.A), lambda counts: counts.a),
    Filter("b", "B better", Q(outcome=Outcome.B), lambda counts: counts.b),
    Filter("tie", "Tie", Q(outcome__in=EVEN), lambda counts: counts.ties),
    Filter("flip", "Order changed it", Q(order_changed=True), lambda counts: counts.order_changed),
    Filter("fail", "Failed", Q(outcome=Outcome.FAILED), lambda counts: counts.failed),
    Filter("missing", "Missing", Q(outcome=Outcome.MISSING), lambda counts: counts.missing),
    Filter("pending", "Waiting", Q(outcome=Outcome.PENDING), lambda counts: counts.pending),
)


class Cursor(NamedTuple):
    """A place in the table: the keys of a row."""

    position: int
    judgment_id: int

    @classmethod
    def parse(cls, text: str) -> Cursor | None:
        """The place that `str` wrote; None for anything else."""
        position, _, judgment_id = text.partition("-")
        if position.isdigit() and judgment_id.isdigit() and len(text) < 40:
            return cls(int(position), int(judgment_id))
        return None

    def __str__(self) -> str:
        return f"{self.position}-{self.judgment_id}"


@dataclass(frozen=True)
class Side:
    """What one experiment gave for a row, as text and as it came (JSON); `lack` says why not."""

    run_uid: UUID | None
    output: str | None
    lack: str
    raw: str | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    judgment: Judgment
    input: str | None
    reference: str | None
    a: Side
    b: Side

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.judgment.position, self.judgment.pk)

    @property
    def key(self) -> str:
        """How the address names this row: the example, with the repetition where there are some."""
        pair = self.judgment.pair
        return f"{pair.example_uid}.{pair.repetition}" if pair.repetition else str(pair.example_uid)


@dataclass(frozen=True)
class Page:
    """Some rows, and whether there are more on either side."""

    rows: Sequence[Row]
    has_before: bool
    has_after: bool


def judgments_of(
    evaluator: ComparisonEvaluator,
    *,
    outcomes: Iterable[str] = (),
    split: str = "",
    q: str = "",
    meta: Mapping[str, str] | None = None,
) -> QuerySet[Judgment]:
    """The judgments that the filters leave; several outcomes mean any of them.

    `meta` gives values of the examples' metadata by key, as texts: 7 is found by "7".
    """
    rows = chosen(Judgment.objects.filter(evaluator=evaluator, judge=""), outcomes)
    if split:
        rows = rows.filter(pair__splits__contains=[split])
    for key, value in (meta or {}).items():
        rows = rows.filter(_says(key, value))
    if q:
        rows = rows.filter(_mentions(evaluator.comparison, q))
    return rows


def chosen(rows: QuerySet[Judgment], outcomes: Iterable[str]) -> QuerySet[Judgment]:
    """Those of any of these outcomes; none named: all."""
    wanted = [one.condition for one in FILTERS if one.key in set(outcomes)]
    if not wanted:
        return rows
    condition = wanted[0]
    for further in wanted[1:]:
        condition |= further
    return rows.filter(condition)


def _says(key: str, value: str) -> Q:
    said = Q(pair__revision__metadata__contains={key: value})
    try:
        other = loads(value)
    except NotJsonError:
        return said
    return said | Q(pair__revision__metadata__contains={key: other})


def _mentions(comparison: Comparison, q: str) -> Q:
    revisions = ExampleRevision.objects.filter(mentions(q), dataset=comparison.dataset_id).values(
        "pk"
    )
    experiments = [side.experiment_id for side in comparison.sides.all() if side.experiment_id]
    runs = Run.objects.filter(
        experiment__in=experiments, is_root=True, payload__search__icontains=q
    ).values_list("uid", flat=True)
    return Q(pair__revision__in=revisions) | Q(pair__run_uids__overlap=list(runs[:COUNT_LIMIT]))


def bounded_counts(rows: QuerySet[Judgment]) -> tuple[OutcomeCounts, bool]:
    """Counts of a searched list, at most ten thousand rows; the flag says that there are more."""
    found = rows.order_by().values_list("outcome", "order_changed")[: COUNT_LIMIT + 1]
    counts = OutcomeCounts()
    for number, (outcome, changed) in enumerate(found):
        if number == COUNT_LIMIT:
            return counts, True
        field = {str(outcome): getattr(counts, outcome) + 1}
        counts = replace(counts, **field, order_changed=counts.order_changed + int(changed))
    return counts, False


def table_page(
    rows: QuerySet[Judgment],
    *,
    size: int,
    after: Cursor | None = None,
    before: Cursor | None = None,
) -> Page:
    """A page after or before a row, in the dataset's own order."""
    rows = rows.select_related("pair__revision__payload", "comparison")
    if before:
        found = list(rows.filter(beyond(before, "lt")).order_by("-position", "-pk")[: size + 1])
        return Page(_rows(reversed(found[:size])), len(found) > size, True)
    if after:
        rows = rows.filter(beyond(after, "gt"))
    found = list(rows.order_by("position", "pk")[: size + 1])
    return Page(_rows(found[:size]), after is not None, len(found) > size)


def beyond(cursor: Cursor, side: str) -> Q:
    """Rows after (`gt`) or before (`lt`) a place."""
    # The first condition says nothing new, but lets the index begin at the place.
    return Q(**{f"position__{side}e": cursor.position}) & (
        Q(**{f"position__{side}": cursor.position}) | Q(**{f"pk__{side}": cursor.judgment_id})
    )


def find_row(evaluator: ComparisonEvaluator, key: str) -> Row | None:
    """The row that the address names, whatever the filters say."""
    uid, _, repetition = key.partition(".")
    try:
        wanted = Q(pair__example_uid=UUID(uid), pair__repetition=int(repetition or 0))
    except ValueError:
        return None
    rows = Judgment.objects.filter(wanted, evaluator=evaluator, judge="")
    found = _rows(rows.select_related("pair__revision__payload", "comparison")[:1])
    return found[0] if found else None


def rows_of(judgment_ids: Sequence[int]) -> list[Row]:
    """The rows with these judgments, in the dataset's order."""
    rows = Judgment.objects.filter(pk__in=judgment_ids).order_by("position", "pk")
    return _rows(rows.select_related("pair__revision__payload", "comparison"))


def _rows(judgments: Iterable[Judgment]) -> list[Row]:
    judgments = list(judgments)
    uids = {uid for judgment in judgments for uid in judgment.pair.run_uids if uid}
    workspace = judgments[0].comparison.workspace_id if judgments else None
    runs = {
        run.uid: run
        for run in Run.objects.filter(workspace=workspace, uid__in=uids)
        .select_related("payload")
        .only("uid", "status", "payload__outputs", "payload__error")
    }
    return [_row(judgment, runs) for judgment in judgments]


def _row(judgment: Judgment, runs: dict[UUID, Run]) -> Row:
    revision = judgment.pair.revision
    payload = revision.payload if revision else None
    sides = [_side(uid, runs) for uid in judgment.pair.run_uids[:2]]
    return Row(
        judgment=judgment,
        input=text_of(payload.inputs) if payload else None,
        reference=text_of(payload.outputs) if payload else None,
        a=sides[0],
        b=sides[1],
    )


def _side(uid: UUID | None, runs: dict[UUID, Run]) -> Side:
    if uid is None:
        return Side(None, None, "No run for this example")
    run = runs.get(uid)
    return Side(uid, None, "The run was deleted") if run is None else side_of(run)


def side_of(run: Run) -> Side:
    """What a run gave, or why it gave nothing."""
    if run.status == Run.Status.ERROR:
        return Side(run.uid, None, f"Run failed: {_error(run)}")
    output = text_of(run.payload.outputs)
    lack = "" if output is not None else "No output"
    return Side(run.uid, output, lack, run.payload.outputs)


def _error(run: Run) -> str:
    text = loads(run.payload.error) if run.payload.error else ""
    return str(text).strip().rpartition("\n")[2][:300] or "no reason given"
