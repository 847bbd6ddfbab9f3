"""A comparison as one HTML file: no scripts, nothing fetched, to be sent around and kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponseBase
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_GET

from evaluators.statistics.libraries import computed_with
from experiments.exports.comparisons import rows_export
from experiments.exports.records import Record, batches
from experiments.models import Comparison, Outcome
from experiments.queries.outcome_counts import outcome_counts
from experiments.queries.verdict_card import verdict_of
from experiments.rawjson import loads
from experiments.texts import text_of
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.downloads import RowChoice, attached
from tiebreak.web.http import HtmxHttpRequest, needs

TEMPLATE = "exports/report.html"


@dataclass(frozen=True)
class ReportRow:
    """A row as the file shows it."""

    number: int
    input: str | None
    reference: str | None
    a: str
    b: str
    outcome: str
    order_changed: bool
    reason: str

    @property
    def label(self) -> str:
        return Outcome(self.outcome).label


@require_GET
@needs(Role.VIEWER)
def comparison_report_file(request: HtmxHttpRequest, uid: UUID) -> HttpResponseBase:
    """Verdict, counts and the rows that the address filters."""
    comparison = access.comparison(request.workspace, uid)
    choice = RowChoice.of(comparison, request.GET)
    if choice.evaluator is None:
        raise Http404("Nothing has been judged yet.")
    pieces = (piece.encode() for piece in _pieces(comparison, choice))
    return attached(pieces, f"{comparison.name}.html", "text/html; charset=utf-8")


def _pieces(comparison: Comparison, choice: RowChoice) -> Iterator[str]:
    assert choice.evaluator is not None
    counts = outcome_counts(choice.evaluator)
    context = {
        "comparison": comparison,
        "evaluator": choice.evaluator,
        "sides": list(comparison.sides.all()),
        "counts": counts,
        "verdict": verdict_of(comparison, choice.evaluator, counts),
        "computed_with": computed_with(),
        "filtered": choice.filters.narrow,
        "now": timezone.now(),
    }
    yield render_to_string(f"{TEMPLATE}#head", context)
    records = rows_export(comparison, choice.evaluator, choice.rows).read()
    for batch in batches(enumerate(records, 1)):
        rows = [_row(number, record) for number, record in batch]
        yield render_to_string(f"{TEMPLATE}#rows", {"rows": rows})
    yield render_to_string(f"{TEMPLATE}#foot")


def _row(number: int, record: Record) -> ReportRow:
    return ReportRow(
        number=number,
        input=text_of(record["inputs"]),
        reference=text_of(record["reference_outputs"]),
        a=_output(record, "a"),
        b=_output(record, "b"),
        outcome=_plain(record["outcome"]),
        order_changed=bool(_plain(record["order_changed"])),
        reason=_plain(record["reason"]) or _plain(record["error"]),
    )


def _output(record: Record, side: str) -> str:
    if record.get(f"{side}_error"):
        return f"Run failed: {_plain(record[f'{side}_error'])}"
    text = text_of(record.get(f"{side}_outputs"))
    return "No output" if text is None else text


def _plain(text: str | None) -> Any:
    return loads(text) if text else ""
