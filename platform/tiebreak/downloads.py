"""Exports as downloads: pages and API read the same address keys and stream the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.http import QueryDict, StreamingHttpResponse
from django.utils.dateparse import parse_datetime
from django.utils.http import content_disposition_header

from experiments.errors import InvalidError
from experiments.exports.comparisons import preferences_export, rows_export
from experiments.exports.datasets import dataset_export
from experiments.exports.experiments import experiment_export
from experiments.exports.judgments import games_export, judgments_export
from experiments.exports.records import Export
from experiments.exports.writing import WRITERS
from experiments.models import Comparison, ComparisonEvaluator, Dataset, Experiment, Judgment
from experiments.queries.examples import moment_of_tag
from tiebreak.row_filters import RowFilters, text

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class RowChoice:
    """Which rows of a comparison the address asks for, and by which evaluator."""

    filters: RowFilters
    evaluator: ComparisonEvaluator | None

    @classmethod
    def of(cls, comparison: Comparison, query: QueryDict) -> RowChoice:
        return cls(RowFilters.of(query), _evaluator(comparison, text(query, "ev")))

    @property
    def rows(self) -> QuerySet[Judgment]:
        if self.evaluator is None:
            return Judgment.objects.none()
        return self.filters.rows(self.evaluator)


def _evaluator(comparison: Comparison, key: str) -> ComparisonEvaluator | None:
    rows = list(comparison.evaluators.all())
    for row in rows:
        row.comparison = comparison
    return next((row for row in rows if row.key == key), rows[0] if rows else None)


def _rows(comparison: Comparison, query: QueryDict) -> Export:
    choice = RowChoice.of(comparison, query)
    if choice.evaluator is None:
        return judgments_export(comparison)
    return rows_export(comparison, choice.evaluator, choice.rows)


def _preferences(comparison: Comparison, query: QueryDict) -> Export:
    return preferences_export(comparison, RowChoice.of(comparison, query).rows)


def _filtered(comparison: Comparison, query: QueryDict) -> QuerySet[Judgment] | None:
    """The rows left by the filters; None when the address names no filter at all."""
    choice = RowChoice.of(comparison, query)
    return choice.rows if choice.filters.narrow or query.get("ev") else None


OF_COMPARISON: dict[str, Callable[[Comparison, QueryDict], Export]] = {
    "rows": _rows,
    "preferences": _preferences,
    "judgments": lambda comparison, query: judgments_export(
        comparison, _filtered(comparison, query)
    ),
    "games": lambda comparison, query: games_export(comparison, _filtered(comparison, query)),
}


def dataset_download(dataset: Dataset, query: QueryDict) -> StreamingHttpResponse:
    """The examples at `ver` (a tag or a time), filtered by `split` and `q`."""
    moment = _moment(dataset, text(query, "ver") or text(query, "as_of"))
    q, split = text(query, "q").strip()[:200], text(query, "split")
    return download(dataset_export(dataset, as_of=moment, split=split, q=q), query)


def _moment(dataset: Dataset, text: str) -> datetime | None:
    if not text or text == "latest":
        return None
    try:
        moment = moment_of_tag(dataset, text) or parse_datetime(text.replace(" 00:00", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidError("as_of", "must be a tag of this dataset or a time with its zone")
    return moment


def experiment_download(experiment: Experiment, query: QueryDict) -> StreamingHttpResponse:
    """The root runs, filtered by `q` and `status`."""
    q, status = text(query, "q").strip()[:200], text(query, "status")
    return download(experiment_export(experiment, q=q, status=status), query)


def comparison_download(
    comparison: Comparison, what: str, query: QueryDict
) -> StreamingHttpResponse:
    """Rows, preferences, judgments or games, filtered as the comparison view is."""
    make = OF_COMPARISON.get(what)
    if make is None:
        raise InvalidError("what", f"must be one of {', '.join(OF_COMPARISON)}")
    return download(make(comparison, query), query)


def download(export: Export, query: QueryDict) -> StreamingHttpResponse:
    """The export in the format that the address asks for."""
    ending = query.get("format", "jsonl")
    if ending not in WRITERS:
        raise InvalidError("format", f"must be one of {', '.join(WRITERS)}")
    return attached(WRITERS[ending](export), f"{export.name}.{ending}", TYPES[ending])


def attached(content: Iterator[bytes], filename: str, kind: str) -> StreamingHttpResponse:
    """A file that is made while it is sent, so that it may be as long as it likes."""
    response = StreamingHttpResponse(content, content_type=kind)
    name = "".join(" " if sign in '/\\:"' or not sign.isprintable() else sign for sign in filename)
    response["Content-Disposition"] = content_disposition_header(True, name.strip()) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    return response
