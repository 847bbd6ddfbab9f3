"""One turn of a lane: claim, ask, store, decide, for twenty seconds or until others need room.

Models are asked concurrently; plain functions are run in batches. The lane's width bounds calls in
flight. A turn keeps its own database thread, because Django's connections belong to threads.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import warnings
from datetime import timedelta
from uuid import UUID

from django.db import Error

from experiments.models import Job, Lane
from experiments.services import lanes
from experiments.services.asking import Judge
from experiments.services.jobs import complete_if_done, failures_so_far
from experiments.services.lane_asking import Interview
from experiments.services.lane_course import Course
from experiments.services.lane_database import LaneDatabase, release_connection
from experiments.services.lane_gates import Closing, Gates, Purse
from experiments.services.lane_items import Items
from experiments.services.lane_ledger import Ledger
from experiments.services.lane_reservations import Reservations
from experiments.services.lane_tools import Subject, Tool
from experiments.services.pacing import blocked_for
from experiments.services.stopping import halted

log = logging.getLogger(__name__)

TURN_SECONDS = 20.0
# Ending a turn costs the time of a call, for no slot is filled again: not done without need.
LONGEST_TURN_SECONDS = 120.0
HEARTBEAT_SECONDS = 1.0
LEASE_MARGIN_SECONDS = 15.0
GRACE_SECONDS = 8.0

warnings.filterwarnings("ignore", message=r"Ignoring (input|reference) in ")


class Turn:
    """The work of one lane from taking it to handing it over."""

    def __init__(self, lane: Lane, stopping: threading.Event) -> None:
        self.lane = lane
        self.stopping = stopping
        self.job: Job = lane.job
        self.subject = Subject(self.job)
        self.database = LaneDatabase()
        self.closing = Closing(stopping)
        self.purse = Purse(lane, self.database, self.closing)
        self.ledger = Ledger(lane, self.subject, self.purse)
        self.reservations = Reservations(lane, self.database, self.closing)
        self.tools: dict[int, Tool] = {}

    @property
    def judges(self) -> list[Judge]:
        return [tool.judge for tool in self.tools.values() if tool.judge]

    @property
    def lease(self) -> timedelta:
        """Longer than any call may take, so that a lane that is only slow keeps its items."""
        limits = [one.provider.timeout for judge in self.judges for one in judge.callers]
        return timedelta(seconds=max(limits, default=60.0) + LEASE_MARGIN_SECONDS)

    def run(self) -> UUID | None:
        """Work for a turn; the token of the next turn's message, or None when nothing is left."""
        release_connection()
        try:
            asyncio.run(self._run())
        finally:
            self.ledger.close()
            self.database.close()
        token = lanes.hand_over(self.lane)
        for job in Job.objects.filter(pk=self.job.pk):
            complete_if_done(job)
        return token

    async def _run(self) -> None:
        tools = await self.database.run(self.subject.open_tools)
        if tools is None:
            return
        self.tools = tools
        await self._assemble()
        await self._hear()
        loops = (
            self._heartbeat(),
            self.ledger.store_for_ever(),
            self.ledger.settle_for_ever(self.wake),
        )
        helpers = [asyncio.create_task(loop) for loop in loops]
        for helper in helpers:
            helper.add_done_callback(self._break_off)
        try:
            await self._claim_until_done()
        finally:
            self.closing.begin()
            await self.items.wind_down(GRACE_SECONDS if self.stopping.is_set() else None)
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self.ledger.flush()
            await self.ledger.settle_calls()
            for tool in self.tools.values():
                await tool.close()

    async def _assemble(self) -> None:
        """The parts that need the evaluators, and the running loop."""
        self.wake = asyncio.Event()
        providers = [one.provider for judge in self.judges for one in judge.callers]
        gates = Gates(self.lane, self.purse, self.closing, providers)
        self.pacers = gates.pacers
        self.interview = Interview(gates, self.ledger, self.database, self.reservations)
        failures = await self.database.run(failures_so_far, self.job)
        self.course = Course(self.job, self.ledger, self.database, self.closing, failures)
        self.items = Items(
            self.lane,
            self.subject,
            self.database,
            self.ledger,
            self.interview,
            self.reservations,
            self.course,
            self.wake,
        )

    def _break_off(self, helper: asyncio.Task[None]) -> None:
        """Without its helpers a lane must not go on: what it holds goes back on the queue."""
        if helper.cancelled() or helper.exception() is None:
            return
        log.error("A lane breaks off", exc_info=helper.exception())
        self.course.end()
        self.items.cancel()

    async def _claim_until_done(self) -> None:
        ends_at = time.monotonic() + LONGEST_TURN_SECONDS
        pause_at = time.monotonic() + TURN_SECONDS
        while self.course.may_ask and time.monotonic() < ends_at and not self.stopping.is_set():
            if time.monotonic() > pause_at:
                if await self.database.run(lanes.others_wait):
                    return
                pause_at = time.monotonic() + TURN_SECONDS
            await self.reservations.release()
            wanted = self._wanted()
            claimed = await self.database.run(lanes.claim, self.lane, wanted) if wanted else []
            if claimed:
                await self.items.begin(claimed, list(self.tools.values()))
            elif not wanted or self.items.tasks:
                await self._pause(0.5)
            elif not await self._wait_for_due():
                return

    def _wanted(self) -> int:
        """How many items to claim: enough that no slot has to wait for the database."""
        tasks, batch = len(self.items.tasks), self.items.batch
        if self.judges:
            free = 2 * self.lane.width - tasks
            return free if free > self.lane.width // 4 else 0
        return 0 if tasks or len(self.ledger.finished) > batch else batch

    async def _pause(self, seconds: float) -> None:
        self.wake.clear()
        try:
            await asyncio.wait_for(self.wake.wait(), seconds)
        except TimeoutError:
            return

    async def _wait_for_due(self) -> bool:
        """Wait for items that were put off; False when there are none."""
        if await self.database.run(lanes.next_due, self.lane) is None:
            return False
        await self._pause(0.5)
        return True

    async def _heartbeat(self) -> None:
        """Prolong the lease and hear whether to go on; a database that is away is asked again."""
        while True:
            try:
                await self._hear()
                await self.reservations.release()
                await self.ledger.settle_calls()
            except Error as error:
                # What PostgreSQL refuses of the books is booked otherwise the next time.
                log.warning("No heartbeat: %s", error)
            if not self.course.may_ask:
                self.closing.begin()
                self.wake.set()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _hear(self) -> None:
        begun = time.monotonic()
        goes_on, blocked, self.interview.halted = await self.database.run(self._report)
        self.closing.lease_ends = begun + self.lease.total_seconds()
        self.course.may_ask = self.course.may_ask and goes_on
        for provider, seconds in blocked.items():
            self.pacers[provider].block(seconds)

    def _report(self) -> tuple[bool, dict[int, float], set[int]]:
        goes_on = lanes.report(self.lane, lease=self.lease)
        blocked = blocked_for(self.pacers) if self.pacers else {}
        comparison = self.subject.comparison if self.subject.stops_when_certain else None
        return goes_on, blocked, halted(comparison) if comparison else set()
