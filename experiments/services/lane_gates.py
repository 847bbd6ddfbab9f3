"""What a call must pass in its lane: a slot, the job's budget, the provider's pace."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from experiments.models import Lane, Provider
from experiments.services.budgets import NOTHING, Spent, reserve
from experiments.services.lane_database import LaneDatabase
from experiments.services.pacing import reserve_moments, seconds_between_calls

WAIT_FOR_OTHERS_SECONDS = 0.2
BLOCK_OF_CALLS = 16


class Later(Exception):
    """An item goes back on the queue, to be asked again after `delay` seconds."""

    def __init__(self, delay: float = 0.0, *, failed: bool = False) -> None:
        super().__init__()
        self.delay = delay
        self.failed = failed


class BudgetUsedUp(Exception):
    """The job's budget allows no further call, and nobody holds any of it."""


class Closing:
    """Whether the lane starts no more calls: it was told so, or the worker is stopping."""

    def __init__(self, stopping: threading.Event) -> None:
        self.stopping = stopping
        self.event = asyncio.Event()
        self.lease_ends = math.inf

    def begin(self) -> None:
        self.event.set()

    def check(self) -> None:
        """Raise Later when no more calls may start, also after a sleep longer than the lease."""
        slept = time.monotonic() > self.lease_ends
        if slept or self.event.is_set() or self.stopping.is_set():
            raise Later

    async def sleep(self, seconds: float) -> None:
        """Sleep; raise Later when the lane closes meanwhile."""
        try:
            await asyncio.wait_for(self.event.wait(), seconds)
        except TimeoutError:
            return
        raise Later


@dataclass
class Promise:
    """How many calls an item will take, and how many of them are kept for it."""

    calls: int
    kept: int = 0


class Purse:
    """The lane's share of the budget, reserved in blocks, and what its calls took so far."""

    def __init__(self, lane: Lane, database: LaneDatabase, closing: Closing) -> None:
        job = lane.job
        self.lane = lane
        self.database = database
        self.closing = closing
        self.is_limited = job.budget_calls is not None or job.budget_money is not None
        self.left = 0
        self.promised = 0
        self.each = NOTHING
        self.lock = asyncio.Lock()
        self.spent = Spent()
        self.held = NOTHING

    @property
    def free(self) -> int:
        """Calls that are allowed and not promised to what was begun."""
        return self.left - self.promised

    async def take(self, each: Decimal, promise: Promise, *, is_guess: bool) -> Decimal:
        """Wait until one more call is within the budget; the US dollars that are held for it.

        The first call of an item is given when the others that it will take are allowed too, as
        long as the budget reaches: half a pair is paid for nothing.
        """
        if not self.is_limited:
            return NOTHING
        if promise.kept:
            promise.kept -= 1
            self.promised -= 1
            self.left -= 1
            return self.each
        async with self.lock:
            while self.is_limited and self.free < promise.calls:
                if not await self._reserve(each, is_guess) and self.free:
                    break
            if not self.is_limited:
                return NOTHING
            promise.kept = min(promise.calls, self.free) - 1
            promise.calls = 1
            self.promised += promise.kept
            self.left -= 1
            return self.each

    def break_off(self, promise: Promise) -> None:
        """What was promised to an item that has ended is for others."""
        self.promised -= promise.kept
        promise.kept = 0

    async def _reserve(self, each: Decimal, is_guess: bool) -> bool:
        """Reserve a further block; False when the budget allows no more just now."""
        calls = max(1, min(BLOCK_OF_CALLS, self.lane.width // 2))
        ask = partial(
            reserve, self.lane.pk, self.lane.token, calls=calls, each=each, is_guess=is_guess
        )
        grant = await self.database.run(ask)
        if grant.calls is None:
            self.is_limited, self.each = False, NOTHING
        elif grant.calls:
            self.left, self.each = self.left + grant.calls, each
        elif not self.free and grant.wait:
            await self.closing.sleep(WAIT_FOR_OTHERS_SECONDS)
        elif not self.free:
            raise BudgetUsedUp
        return bool(grant.calls)

    def give_back(self) -> None:
        """A call that was allowed was not made."""
        self.left += int(self.is_limited)

    def book(self, spent: Spent, held: Decimal) -> None:
        """Note what a call took; it is stored with the next reply, or the next heartbeat."""
        self.spent.add(spent)
        self.held += held

    def booked(self) -> tuple[Spent, Decimal]:
        """What is noted and not stored yet; whoever asks has to store it."""
        spent, held = self.spent, self.held
        self.spent, self.held = Spent(), NOTHING
        return spent, held


class Pacer:
    """Lets calls to one provider go at its pace, and waits where the provider asked for it."""

    def __init__(self, provider: Provider, database: LaneDatabase, closing: Closing) -> None:
        self.provider = provider
        self.database = database
        self.closing = closing
        self.lock = asyncio.Lock()
        self.moments: deque[float] = deque()
        self.waiting = 0
        self.blocked_until = 0.0

    @property
    def blocked_for(self) -> float:
        """Seconds for which no call may be made; 0 or less for none."""
        return self.blocked_until - time.monotonic()

    def block(self, seconds: float) -> None:
        """Make no call for so many seconds."""
        self.blocked_until = max(self.blocked_until, time.monotonic() + seconds)

    async def wait(self, tokens: float) -> None:
        """Wait for the moment of one more call that takes so many tokens."""
        seconds = seconds_between_calls(self.provider, tokens)
        if not seconds and self.blocked_for <= 0:
            return
        self.waiting += 1
        try:
            async with self.lock:
                if seconds:
                    await self._wait_for_moment(seconds)
                while self.blocked_for > 0:
                    await self.closing.sleep(self.blocked_for)
        finally:
            self.waiting -= 1

    async def _wait_for_moment(self, seconds: float) -> None:
        """Take the next of our moments, reserved for as many as wait, and for a second at most.

        Those that went by unused are lost: making up for them would be a burst.
        """
        while self.moments and self.moments[0] < time.monotonic() - seconds:
            self.moments.popleft()
        if not self.moments:
            count = max(1, min(self.waiting, int(1 / seconds)))
            span = count * seconds
            wait = await self.database.run(reserve_moments, self.provider.pk, span)
            start = time.monotonic() + wait
            self.moments.extend(start + place * seconds for place in range(count))
        await self.closing.sleep(max(0.0, self.moments[0] - time.monotonic()))
        self.moments.popleft()


class Gates:
    """All gates of a lane: its slots, its purse, and a pacer for each provider."""

    def __init__(
        self, lane: Lane, purse: Purse, closing: Closing, providers: Iterable[Provider]
    ) -> None:
        self.slots = asyncio.Semaphore(lane.width)
        self.closing = closing
        self.purse = purse
        self.pacers = {row.pk: Pacer(row, purse.database, closing) for row in providers}
