"""Which rows of a comparison an address asks for: the same keys on pages, in files and the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from experiments.models import ComparisonEvaluator, Judgment
from experiments.queries.comparison_table import FILTERS, judgments_of
from experiments.queries.mirroring import mirrored_outcomes

META = "meta."
MAX_TEXT = 200
# Up on A and down on B are one and the same: A won.
_WINS = {("a", "up"): "a", ("b", "down"): "a", ("b", "up"): "b", ("a", "down"): "b"}


@dataclass(frozen=True)
class RowFilters:
    """Search, split, metadata (key → value as text) and outcomes; several outcomes mean any.

    With `swap` the address calls B what is stored as A; `outcomes` are as they are stored.
    """

    q: str
    split: str
    meta: Mapping[str, str]
    outcomes: frozenset[str]
    swap: bool = field(default=False, kw_only=True)

    @classmethod
    def fields_of(cls, query: QueryDict) -> dict[str, Any]:
        thumbs = {_WINS.get((side, query.get(side, "")), "") for side in ("a", "b")} - {""}
        known = {one.key for one in FILTERS}
        outcomes = frozenset(thumbs or (set(query.getlist("out")) & known))
        swap = query.get("swap") == "1"
        return {
            "q": text(query, "q").strip()[:MAX_TEXT],
            "split": text(query, "split"),
            "meta": {
                key.removeprefix(META): text(query, key)[:MAX_TEXT]
                for key in query
                if key.startswith(META) and "\x00" not in key and query.get(key)
            },
            "outcomes": mirrored_outcomes(outcomes) if swap else outcomes,
            "swap": swap,
        }

    @classmethod
    def of(cls, query: QueryDict) -> RowFilters:
        return cls(**RowFilters.fields_of(query))

    @property
    def seen(self) -> frozenset[str]:
        """The outcomes by the letters that the page shows."""
        return mirrored_outcomes(self.outcomes) if self.swap else self.outcomes

    @property
    def narrow(self) -> bool:
        """Whether any row is left out."""
        return bool(self.q or self.split or self.meta or self.outcomes)

    def rows(
        self, evaluator: ComparisonEvaluator, *, every_outcome: bool = False
    ) -> QuerySet[Judgment]:
        """The judgments that these filters leave."""
        outcomes = () if every_outcome else self.outcomes
        return judgments_of(
            evaluator, outcomes=outcomes, split=self.split, q=self.q, meta=self.meta
        )


def text(query: QueryDict, key: str) -> str:
    """A value of the address; NUL characters, which no database text holds, are left out."""
    return query.get(key, "").replace("\x00", "")
