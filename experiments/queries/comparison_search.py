"""Searching the rows of a comparison: quick for common words and for rare ones, by two ways.

A common word stands in a good part of the rows, so these are read in order until the page is full,
and its count is that of the first rows read. A rare one is looked up in the trigram index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from experiments.models import ComparisonEvaluator, ExampleRevision, Judgment, Run
from experiments.queries.comparison_table import FILTERS, Cursor, Page, beyond, chosen, rows_of
from experiments.queries.examples import mentions
from experiments.queries.outcome_counts import OutcomeCounts

# Rows read first, to see how common a text is; so many hits among them make it common.
PROBED = 1_500
COMMON = 30
# A text without a trigram is in no index: so many rows are read for a page of it, no more.
SHORTEST_INDEXED = 3
MOST_READ = 30_000
# More examples than this are not looked up: such a text would have been common.
MOST_FOUND = 50_000

_READ = """
SELECT judged.id, judged.position, judged.outcome, judged.order_changed,
       coalesce(upper(coalesce(revision.search, tiebreak_search_text(said.inputs, said.outputs)))
                LIKE upper(%s), false)
       OR coalesce(upper(payload_a.search) LIKE upper(%s), false)
       OR coalesce(upper(payload_b.search) LIKE upper(%s), false)
FROM ({rows}) judged
JOIN experiments_pair pair ON pair.id = judged.pair_id
LEFT JOIN experiments_examplerevision revision ON revision.id = pair.revision_id
LEFT JOIN experiments_examplepayload said ON said.revision_id = revision.id
LEFT JOIN experiments_run a ON a.workspace_id = %s AND a.uid = pair.run_uids[1]
LEFT JOIN experiments_runpayload payload_a ON payload_a.run_id = a.id
LEFT JOIN experiments_run b ON b.workspace_id = %s AND b.uid = pair.run_uids[2]
LEFT JOIN experiments_runpayload payload_b ON payload_b.run_id = b.id
"""


@dataclass(frozen=True)
class Read:
    """A judgment that was read, as far as paging and counting need it."""

    id: int
    position: int
    outcome: str
    order_changed: bool
    hit: bool

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.position, self.id)


@dataclass(frozen=True)
class Found:
    """A page of matches, their counts by outcome, and whether there are more than counted."""

    page: Page
    counts: OutcomeCounts
    more: bool


def search_rows(
    evaluator: ComparisonEvaluator,
    q: str,
    rows: QuerySet[Judgment],
    *,
    outcomes: Collection[str] = (),
    size: int,
    after: Cursor | None = None,
    before: Cursor | None = None,
) -> Found:
    """The matches among `rows`, those of some outcomes (none: all) a page after or before a row."""
    probe = _read(evaluator, q, rows.order_by("position", "pk")[:PROBED])
    hits = [one for one in probe if one.hit]
    if len(probe) < PROBED:
        return _exact(hits, outcomes, size, after, before)
    if len(hits) < COMMON and len(q) >= SHORTEST_INDEXED:
        examples = _examples(evaluator, q)
        found = rows.filter(pair__example_uid__in=examples).order_by("position", "pk")
        hits = [one for one in _read(evaluator, q, found) if one.hit] if examples else []
        return _exact(hits, outcomes, size, after, before)
    page = _walk(evaluator, q, chosen(rows, outcomes), size, after, before)
    return Found(page, _counts(hits), more=True)


def _read(evaluator: ComparisonEvaluator, q: str, rows: QuerySet[Judgment]) -> list[Read]:
    """These rows in their order, each with whether it matches."""
    fields = ("id", "position", "outcome", "order_changed", "pair_id")
    statement, values = rows.values(*fields).query.sql_with_params()
    pattern, workspace = like_pattern(q), evaluator.comparison.workspace_id
    with connection.cursor() as cursor:
        cursor.execute(
            _READ.format(rows=statement), [*[pattern] * 3, *values, workspace, workspace]
        )
        found = [Read(*row) for row in cursor.fetchall()]
    return sorted(found, key=lambda one: one.cursor)


def _examples(evaluator: ComparisonEvaluator, q: str) -> list[UUID]:
    """The examples in whose texts, or in whose outputs of these experiments, the text stands."""
    comparison = evaluator.comparison
    sides = [side.experiment_id for side in comparison.sides.all() if side.experiment_id]
    said = ExampleRevision.objects.filter(mentions(q), dataset=comparison.dataset_id)
    given = Run.objects.filter(
        experiment__in=sides,
        is_root=True,
        example_uid__isnull=False,
        payload__search__icontains=q,
    )
    found = said.values_list("example__uid").union(given.values_list("example_uid"))
    return [uid for (uid,) in found[:MOST_FOUND]]


def _exact(
    hits: Sequence[Read],
    outcomes: Collection[str],
    size: int,
    after: Cursor | None,
    before: Cursor | None,
) -> Found:
    """A page of matches that are all known."""
    wanted = [one for one in hits if _has(one, outcomes)]
    if before:
        earlier = [one for one in wanted if one.cursor < before]
        page = Page(rows_of(_ids(earlier[-size:])), len(earlier) > size, has_after=True)
    else:
        later = [one for one in wanted if after is None or one.cursor > after]
        page = Page(rows_of(_ids(later[:size])), after is not None, len(later) > size)
    return Found(page, _counts(hits), more=False)


def _walk(
    evaluator: ComparisonEvaluator,
    q: str,
    rows: QuerySet[Judgment],
    size: int,
    after: Cursor | None,
    before: Cursor | None,
) -> Page:
    """A page of matches, found by reading on from a row until there are enough."""
    place, way = before or after, "lt" if before else "gt"
    order = ("-position", "-pk") if before else ("position", "pk")
    hits: list[Read] = []
    for _ in range(MOST_READ // PROBED):
        window = rows.filter(beyond(place, way)) if place else rows
        read = _read(evaluator, q, window.order_by(*order)[:PROBED])
        read = read[::-1] if before else read
        hits += [one for one in read if one.hit]
        if len(hits) > size or len(read) < PROBED:
            break
        place = read[-1].cursor
    shown = hits[:size]
    if before:
        return Page(rows_of(_ids(shown[::-1])), len(hits) > size, has_after=True)
    return Page(rows_of(_ids(shown)), after is not None, len(hits) > size)


def _ids(hits: Sequence[Read]) -> list[int]:
    return [one.id for one in hits]


def _has(one: Read, outcomes: Collection[str]) -> bool:
    """The same as the conditions of the filters, on a row that was read."""
    counts = _counts([one])
    return not outcomes or any(known.count(counts) for known in FILTERS if known.key in outcomes)


def _counts(hits: Sequence[Read]) -> OutcomeCounts:
    counts: dict[str, int] = {}
    for one in hits:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    changed = sum(one.order_changed for one in hits)
    return replace(OutcomeCounts(**counts), order_changed=changed)


def like_pattern(text: str) -> str:
    """A LIKE pattern for texts that hold this one, whatever signs it has."""
    for sign in ("\\", "%", "_"):
        text = text.replace(sign, f"\\{sign}")
    return f"%{text}%"
