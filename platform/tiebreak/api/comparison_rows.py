"""The rows of a comparison over the API: read by filters, and set by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Comparison, ComparisonEvaluator
from experiments.queries.comparison_table import (
    FILTERS,
    Cursor,
    Row,
    find_row,
    judgments_of,
    table_page,
)
from experiments.services.overrides import override
from tiebreak import access
from tiebreak.api.reading import Params, object_body, workspace_of

MAX_ROWS = 1000


@api_view(["GET"])
def comparison_rows(request: Request, uid: str) -> Response:
    """The judged pairs: `evaluator`, `out` (repeated), `split`, `q`, `limit`, `cursor`."""
    found, params = access.comparison(workspace_of(request), uid), Params(request)
    if params.text("evaluator") is None and not found.evaluators.exists():
        return Response({"rows": [], "next_cursor": None})  # Its script has judged nothing yet.
    evaluator = _chosen(found, params.text("evaluator"))
    outcomes = params.texts("out") or []
    unknown = set(outcomes) - {one.key for one in FILTERS}
    if unknown:
        known = ", ".join(one.key for one in FILTERS)
        raise InvalidError("out", f"must be any of {known}")
    page = table_page(
        judgments_of(
            evaluator,
            outcomes=outcomes,
            split=params.text("split") or "",
            q=params.text("q") or "",
        ),
        size=params.integer("limit", 100, low=1, high=MAX_ROWS),
        after=_cursor(params.text("cursor")),
    )
    last = page.rows[-1] if page.has_after else None
    return Response(
        {
            "rows": [row_shape(row) for row in page.rows],
            "next_cursor": str(last.cursor) if last else None,
        }
    )


@api_view(["POST"])
def row_verdict(request: Request, uid: str, key: str) -> Response:
    """Set the verdict of one row by hand: `outcome`, `reason`, `evaluator` (else the first).

    The row is named by its example's id, with `.1`, `.2` … for repetitions.
    """
    found, body = access.comparison(workspace_of(request), uid), object_body(request)
    row = find_row(_chosen(found, body.text("evaluator")), key)
    if row is None:
        raise Http404("Row not found in this comparison")
    override(
        row.judgment, outcome=body.needed_text("outcome"), reason=body.text("reason", "") or ""
    )
    changed = find_row(row.judgment.evaluator, key)
    assert changed is not None
    return Response(row_shape(changed))


def _cursor(text: str | None) -> Cursor | None:
    cursor = Cursor.parse(text) if text else None
    if text and cursor is None:
        raise InvalidError("cursor", "must be the next_cursor of an earlier answer")
    return cursor


def _chosen(comparison: Comparison, key: str | None) -> ComparisonEvaluator:
    rows: Sequence[ComparisonEvaluator] = list(comparison.evaluators.all())
    for row in rows:
        if key in (None, row.key):
            row.comparison = comparison
            return row
    raise Http404("Evaluator not found in this comparison")


def row_shape(row: Row) -> dict[str, Any]:
    """A judged pair on the wire; outputs as the judge saw them."""
    judgment = row.judgment
    return {
        "example_id": judgment.pair.example_uid,
        "repetition": judgment.pair.repetition,
        "splits": judgment.pair.splits,
        "outcome": judgment.outcome,
        "order_changed": judgment.order_changed,
        "reason": judgment.reason or None,
        "error": judgment.error or None,
        "judged_at": judgment.judged_at,
        "input": row.input,
        "reference": row.reference,
        "a": {"run_id": row.a.run_uid, "output": row.a.output, "lack": row.a.lack or None},
        "b": {"run_id": row.b.run_uid, "output": row.b.output, "lack": row.b.lack or None},
    }
