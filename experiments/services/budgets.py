"""A job's budget in calls and money: lanes reserve blocks of it before they call, and settle after.

What a lane holds is taken off what others may reserve, so that together they overspend by no more
than what is in flight. A lane that dies lets go of what it held.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Sum

from experiments.errors import InvalidError
from experiments.models import Evaluator, Job, Lane
from experiments.services.fallbacks import chain_of
from experiments.services.prices import price_of

NOTHING = Decimal(0)
MOST_CALLS = 1_000_000_000
LEAST_MONEY = Decimal("0.0001")


@dataclass(frozen=True)
class Budget:
    """What a job may take at most; None is no limit. `money` in US dollars."""

    calls: int | None = None
    money: Decimal | None = None


NO_LIMIT = Budget()


@dataclass
class Spent:
    """What calls took; `unpriced` counts those whose price is not known."""

    calls: int = 0
    money: Decimal = NOTHING
    unpriced: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, other: Spent) -> None:
        self.calls += other.calls
        self.money += other.money
        self.unpriced += other.unpriced
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens


@dataclass(frozen=True)
class Grant:
    """An answer to a wish for calls: how many may be made; with 0, whether to wait for others.

    Without a budget, `calls` is None.
    """

    calls: int | None
    wait: bool = False


def check_budget(budget: Budget, evaluators: Iterable[Evaluator]) -> None:
    """Refuse a budget that is out of range, or one in money where nobody knows the price."""
    if budget.calls is not None and not 1 <= budget.calls <= MOST_CALLS:
        raise InvalidError("max_calls", f"must be between 1 and {MOST_CALLS:,}")
    if budget.money is None:
        return
    if not LEAST_MONEY <= budget.money <= MOST_CALLS:
        raise InvalidError("max_cost", f"must be between {LEAST_MONEY} and {MOST_CALLS:,} dollars")
    if budget.money != round(budget.money, 10):
        raise InvalidError("max_cost", "must have at most ten digits after the point")
    for row in evaluators:
        for provider in chain_of(row.provider) if row.provider else []:
            if price_of(provider) is None:
                unknown = f"the price of {provider.name} is unknown: enter it in the settings"
                raise InvalidError("max_cost", f"{unknown}, or set a budget in calls")


def has_room(job: Job) -> bool:
    """Whether the budget allows a further call."""
    spent = spent_by(job)
    by_calls = job.budget_calls is None or spent.calls < job.budget_calls
    return by_calls and (job.budget_money is None or spent.money < job.budget_money)


def spent_by(job: Job) -> Spent:
    """What all calls of a job took so far."""
    names = ("calls", "money", "unpriced", "prompt_tokens", "completion_tokens")
    sums = Lane.objects.filter(job=job).aggregate(**{name: Sum(name) for name in names})
    return Spent(**{name: sums[name] or type(getattr(Spent(), name))(0) for name in names})


def used_up(job: Job) -> str:
    """Why a job whose budget is used up pauses, and what it took."""
    job = Job.objects.get(pk=job.pk)
    spent = spent_by(job)
    limits = []
    if job.budget_calls is not None:
        limits.append(f"{spent.calls:,} of {job.budget_calls:,} calls")
    if job.budget_money is not None:
        limits.append(f"${spent.money:,.4f} of ${job.budget_money:,.4f}")
    return f"Paused: the budget is used up ({', '.join(limits)}). Raise it to go on."


@transaction.atomic
def reserve(
    lane_id: int, token: UUID, *, calls: int, each: Decimal, is_guess: bool = False
) -> Grant:
    """Reserve up to so many calls at `each` US dollars, as far as the job's budget reaches.

    A guessed price alone does not use a budget up: one call then shows the real one.
    """
    job = Job.objects.select_for_update().get(lanes=lane_id)
    if job.budget_calls is None and job.budget_money is None:
        return Grant(None)
    names = ("calls", "calls_held", "money", "money_held")
    taken = Lane.objects.filter(job=job).aggregate(**{name: Sum(name) for name in names})
    room = calls
    if job.budget_calls is not None:
        room = min(room, job.budget_calls - taken["calls"] - taken["calls_held"])
    if job.budget_money is not None:
        left = job.budget_money - taken["money"] - taken["money_held"]
        room = min(room, int(left / each) if each else room * (left > 0))
        if room == 0 and is_guess and left > 0 and not taken["calls_held"]:
            room = 1
    if room <= 0:
        return Grant(0, wait=taken["calls_held"] > 0)
    held = Lane.objects.filter(pk=lane_id, token=token).update(
        calls_held=F("calls_held") + room, money_held=F("money_held") + room * each
    )
    return Grant(room if held else 0, wait=not held)


SETTLE = """
UPDATE experiments_lane SET
    calls = calls + %(calls)s,
    money = money + %(money)s,
    unpriced = unpriced + %(unpriced)s,
    prompt_tokens = prompt_tokens + %(prompt_tokens)s,
    completion_tokens = completion_tokens + %(completion_tokens)s,
    calls_held = CASE WHEN token = %(token)s
        THEN greatest(0, calls_held - %(calls)s) ELSE calls_held END,
    money_held = CASE WHEN token = %(token)s
        THEN greatest(0, money_held - %(held)s) ELSE money_held END
WHERE id = %(lane)s
"""


def settle(lane_id: int, token: UUID, spent: Spent, held: Decimal) -> None:
    """Book what calls took, in place of what was held for them; also for a stale token: it is paid.

    `held` are the US dollars that were reserved for these calls.
    """
    values = {**asdict(spent), "lane": lane_id, "token": token, "held": held}
    with connection.cursor() as cursor:
        cursor.execute(SETTLE, values)
