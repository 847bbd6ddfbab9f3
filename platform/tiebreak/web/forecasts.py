"""What to expect of a launch before anything is spent: the live panel beside the form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from evaluators.kinds import Kind
from evaluators.registry import available
from evaluators.statistics import OPS
from evaluators.statistics.wording import points_text
from experiments.models import Dataset, Experiment, Order, Provider
from experiments.queries.evaluator_list import newest_evaluators
from experiments.queries.expected_usage import Expected, expected_usage, latency_of
from experiments.queries.launch_warnings import launch_warnings
from experiments.queries.pairing import Pairing, pairing_of
from experiments.queries.progress import is_worker_alive
from experiments.services.jobs import MAX_CONCURRENCY
from experiments.services.prices import price_of
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.http import HtmxHttpRequest, needs

ASK_ABOVE_CALLS = 2000


def pairwise_kinds() -> list[Kind]:
    """The kinds a person can launch: those that compare two outputs and can be used here."""
    kinds = [kind for kind in available() if kind.pairwise and kind.available and _decides(kind)]
    return sorted(kinds, key=lambda kind: (kind.needs_model, kind.source != "tiebreak", kind.title))


def _decides(kind: Kind) -> bool:
    """Distances between two predictions say how near they are, not which is better."""
    return kind.higher_is_better is not None


@dataclass(frozen=True)
class Forecast:
    """What a launch would do, from what is filled in so far."""

    pairing: Pairing
    calls: int
    asks_model: bool
    expected: Expected | None = None
    provider: Provider | None = None
    at_once: int = 8
    warnings: Sequence[str] = ()

    @property
    def seconds(self) -> float | None:
        """How long the calls take, by how long this model took lately; None when unknown."""
        latency = latency_of(self.provider) if self.provider else None
        return None if latency is None else self.calls * latency / self.at_once

    @property
    def asks_first(self) -> bool:
        """Whether so many calls are only made by somebody who says so."""
        return self.calls > ASK_ABOVE_CALLS

    @property
    def cost(self) -> str:
        """What the calls will cost, about; empty without a model."""
        if self.expected is None or self.provider is None:
            return ""
        price = price_of(self.provider)
        if price is None:
            return "the price of this model is unknown"
        money = self.expected.money(price.read, price.written)
        return f"about ${money:,.4f}" if money < 1 else f"about ${money:,.2f}"

    @property
    def lacks_worker(self) -> bool:
        return not is_worker_alive()

    @property
    def can_show(self) -> str:
        """What so many pairs can show, at the largest possible spread of their scores."""
        found = OPS["mde_paired"](n=self.pairing.shared, sd_diff=0.5, alpha=0.05, power=0.8)
        if found["mde"] >= 0.5:
            return "Too few to show any difference with 80% power."
        return f"They can show a win rate {points_text(found['mde'])} from 50%, with 80% power."


def forecast(dataset: Dataset, data: Mapping[str, Any]) -> Forecast | None:
    """Pairs, what has no partner, and calls; None until both sides are chosen and differ."""
    chosen = [_experiment(dataset, data.get(f"experiment_{side}", "")) for side in "ab"]
    experiments = [row for row in chosen if row is not None]
    if len(experiments) < 2 or experiments[0].pk == experiments[1].pk:
        return None
    kind, provider = _judge(dataset, data)
    asks = bool(kind and kind.needs_model)
    pairing = pairing_of(experiments)
    warnings = launch_warnings(experiments, kind, provider)
    if not asks:
        return Forecast(pairing, 0, asks_model=False, warnings=warnings)
    sees_order = kind is not None and kind.order_matters
    games = 2 if sees_order and data.get("order", Order.BOTH) == Order.BOTH else 1
    calls = pairing.shared * games
    return Forecast(
        pairing,
        calls,
        asks_model=True,
        expected=expected_usage(experiments, calls),
        provider=provider,
        at_once=_at_once(data.get("max_concurrency", "")),
        warnings=warnings,
    )


def _judge(dataset: Dataset, data: Mapping[str, Any]) -> tuple[Kind | None, Provider | None]:
    """The kind and the model of what is chosen: a kind as it is, or a configured evaluator."""
    kinds = {one.name: one for one in pairwise_kinds()}
    wanted = str(data.get("evaluator", ""))
    if wanted in kinds:
        return kinds[wanted], _provider(dataset, data.get("provider", ""))
    try:
        saved = newest_evaluators(dataset.workspace, kinds).filter(uid=UUID(wanted)).first()
    except ValueError:
        saved = None
    return (kinds[saved.kind], saved.provider) if saved else (None, None)


def _at_once(text: str) -> int:
    return min(MAX_CONCURRENCY, int(text)) if text.isdecimal() and int(text[:6]) > 0 else 8


def _provider(dataset: Dataset, uid: str) -> Provider | None:
    try:
        rows = Provider.objects.filter(workspace=dataset.workspace_id, archived_at=None)
        return rows.filter(uid=UUID(uid)).first()
    except ValueError:
        return None


def _experiment(dataset: Dataset, uid: str) -> Experiment | None:
    try:
        return dataset.experiments.filter(uid=UUID(uid)).first()
    except ValueError:
        return None


@require_GET
@needs(Role.EDITOR)
def launch_forecast(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The live panel beside the form."""
    dataset = access.dataset(request.workspace, uid)
    context = {"forecast": forecast(dataset, request.GET), "dataset": dataset}
    return render(request, "comparisons/forecast.html", context)
