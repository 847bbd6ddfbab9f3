"""One turn of a lane: claim, ask, store, decide, for twenty seconds or until others need room.

Models are asked concurrently; plain functions are run in batches. The lane's width bounds calls in
flight. A turn keeps its own database thread, because Django's connections belong to threads.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
import warnings
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import Error

from evaluators.base import row_error
from evaluators.errors import ProviderError
from experiments.models import Job, Lane
from experiments.services import lanes
from experiments.services.asking import Judge, Known, Question, reserved_replies
from experiments.services.budgets import used_up
from experiments.services.jobs import complete_if_done, failures_so_far, stop_asking
from experiments.services.lane_asking import MAX_ATTEMPTS, Interview
from experiments.services.lane_database import LaneDatabase, is_refusal, release_connection
from experiments.services.lane_gates import BudgetUsedUp, Closing, Gates, Later, Purse
from experiments.services.lane_ledger import Ledger
from experiments.services.lane_tools import Subject, Tool
from experiments.services.lanes import Claimed
from experiments.services.pacing import blocked_for
from experiments.services.reserved import Key, release_questions
from experiments.services.stopping import halted
from experiments.services.subjects import Answer, Work

log = logging.getLogger(__name__)

TURN_SECONDS = 20.0
# Ending a turn costs the time of a call, for no slot is filled again: not done without need.
LONGEST_TURN_SECONDS = 120.0
HEARTBEAT_SECONDS = 1.0
LEASE_MARGIN_SECONDS = 15.0
GRACE_SECONDS = 8.0
HOPELESS_AFTER = 20
ASKED_ELSEWHERE_SECONDS = (0.5, 1.5)

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
        self.tools: dict[int, Tool] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.released: set[Key] = set()
        self.may_ask = True
        self.batch = 16
        self.failures = 0

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
        self.wake = asyncio.Event()
        tools = await self.database.run(self.subject.open_tools)
        if tools is None:
            return
        self.tools = tools
        providers = [one.provider for judge in self.judges for one in judge.callers]
        gates = Gates(self.lane, self.purse, self.closing, providers)
        self.pacers = gates.pacers
        self.interview = Interview(gates, self.ledger, self.database)
        await self._hear()
        self.failures = await self.database.run(failures_so_far, self.job)
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
            await self._wind_down()
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self.ledger.flush()
            await self.ledger.settle_calls()
            for tool in self.tools.values():
                await tool.close()

    def _break_off(self, helper: asyncio.Task[None]) -> None:
        """Without its helpers a lane must not go on: what it holds goes back on the queue."""
        if helper.cancelled() or helper.exception() is None:
            return
        log.error("A lane breaks off", exc_info=helper.exception())
        self.may_ask = False
        self.closing.begin()
        for task in self.tasks:
            task.cancel()

    async def _claim_until_done(self) -> None:
        ends_at = time.monotonic() + LONGEST_TURN_SECONDS
        pause_at = time.monotonic() + TURN_SECONDS
        while self.may_ask and time.monotonic() < ends_at and not self.stopping.is_set():
            if time.monotonic() > pause_at:
                if await self.database.run(lanes.others_wait):
                    return
                pause_at = time.monotonic() + TURN_SECONDS
            await self._release()
            wanted = self._wanted()
            claimed = await self.database.run(lanes.claim, self.lane, wanted) if wanted else []
            if claimed:
                await self._begin(claimed)
            elif not wanted or self.tasks:
                await self._pause(0.5)
            elif not await self._wait_for_due():
                return

    def _wanted(self) -> int:
        """How many items to claim: enough that no slot has to wait for the database."""
        if self.judges:
            free = 2 * self.lane.width - len(self.tasks)
            return free if free > self.lane.width // 4 else 0
        return 0 if self.tasks or len(self.ledger.finished) > self.batch else self.batch

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

    async def _begin(self, claimed: Sequence[Claimed]) -> None:
        for tool in self.tools.values():
            items = [item for item in claimed if item.evaluator_id == tool.row.pk]
            if not items:
                continue
            if tool.row.pk in self.interview.halted:
                await self._drop(items)
                continue
            works = await self.database.run(self.subject.load, tool, items)
            known = {work.item.item_id for work in works}
            # What was deleted meanwhile needs no verdict.
            await self._drop([item for item in items if item.item_id not in known])
            if tool.judge:
                await self._begin_asking(tool.judge, works)
            elif works:
                self._spawn(self._guarded(works, self._run_batch(tool, works)))

    async def _drop(self, items: Sequence[Claimed]) -> None:
        if items:
            await self.database.run(lanes.drop_items, [item.item_id for item in items])

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

    async def _guarded(self, works: Sequence[Work], work_on: Coroutine[None, None, None]) -> None:
        """Whatever goes wrong with items is counted: an attempt each, and at last a failure."""
        try:
            await work_on
        except Exception as error:
            if not is_refusal(error):
                raise
            log.error("Items could not be judged", exc_info=error)
            for work in works:
                await self._fail(work, error)

    async def _fail(self, work: Work, error: Exception) -> None:
        attempts = work.item.attempts
        if attempts + 1 < MAX_ATTEMPTS:
            await self._put_off(work, Later(2.0**attempts, failed=True))
            return
        told = f"It could not be judged ({type(error).__name__})."
        answers = [Answer(row_error(ProviderError(told))) for _ in work.questions]
        self.ledger.add(work, answers)
        await self._notice(answers)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.wake.set()
        if not task.cancelled() and task.exception():
            log.error("An item went back on the queue", exc_info=task.exception())

    async def _run_batch(self, tool: Tool, works: Sequence[Work]) -> None:
        rows = [texts for work in works for texts in work.questions]
        started = time.monotonic()
        results = iter(await asyncio.to_thread(tool.evaluator.evaluate_batch, rows))
        spent = time.monotonic() - started
        self.batch = min(2000, self.batch * 2) if spent < 1 else max(1, self.batch // 2)
        for work in works:
            self.ledger.add(work, [Answer(next(results)) for _ in work.questions])

    async def _begin_asking(self, judge: Judge, works: Sequence[Work]) -> None:
        prepared = [(work, judge.questions(work)) for work in works]
        asked = [q for _, questions in prepared for q in questions if isinstance(q, Question)]
        reserved, known = await self.database.run(
            reserved_replies, self.job.workspace_id, self.lane.token, asked
        )
        for work, questions in prepared:
            wanted = {one.key for one in questions if isinstance(one, Question)}
            open_ones = {
                one.key
                for one in questions
                if isinstance(one, Question) and not one.is_stored(known)
            }
            ours = wanted & reserved
            reserved -= wanted
            if open_ones <= ours:
                asking = self._ask_all(judge, work, questions, known)
                self._spawn(self._guarded([work], self._letting_go(ours, asking)))
            else:
                # Another asks it at this moment, and will have stored the reply.
                later = Later(random.uniform(*ASKED_ELSEWHERE_SECONDS))  # noqa: S311
                self._spawn(self._letting_go(ours, self._put_off(work, later)))

    async def _letting_go(self, keys: set[Key], work_on: Coroutine[None, None, None]) -> None:
        """Whatever becomes of the work, others may ask its questions afterwards."""
        try:
            await work_on
        finally:
            self.released |= keys

    async def _release(self) -> None:
        released, self.released = self.released, set()
        if released:
            release = partial(release_questions, self.job.workspace_id, self.lane.token)
            await self.database.run(release, released)

    async def _ask_all(
        self, judge: Judge, work: Work, questions: Sequence[Question | Answer], known: Known
    ) -> None:
        try:
            answers = await self.interview.answers(judge, work, questions, known)
        except Later as later:
            await self._put_off(work, later)
            return
        except BudgetUsedUp:
            await self._put_off(work, Later())
            await self._stop(await self.database.run(used_up, self.job), Job.Cause.BUDGET)
            return
        self.ledger.add(work, answers)
        await self._notice(answers)

    async def _put_off(self, work: Work, later: Later) -> None:
        if work.item.evaluator_id in self.interview.halted:
            await self._drop([work.item])
            return
        put_back = partial(lanes.put_back, delay=later.delay, failed=later.failed)
        await self.database.run(put_back, self.lane, [work.item.item_id])

    async def _notice(self, answers: Sequence[Answer]) -> None:
        """Stop a job whose every call fails: a wrong key must not be tried ten thousand times."""
        failed = any(answer.error for answer in answers)
        self.failures = self.failures + 1 if failed else 0
        if self.failures < HOPELESS_AFTER or not self.may_ask:
            return
        await self.ledger.flush()
        if await self.database.run(failures_so_far, self.job):
            reason = f"Paused: the first {self.failures} calls all failed. {answers[-1].error}"
            await self._stop(reason, Job.Cause.FAILURES)

    async def _stop(self, reason: str, cause: Job.Cause) -> None:
        """Pause the job, and say why."""
        if self.may_ask:
            self.may_ask = False
            self.closing.begin()
            await self.database.run(stop_asking, self.job, reason, cause)

    async def _heartbeat(self) -> None:
        """Prolong the lease and hear whether to go on; a database that is away is asked again."""
        while True:
            try:
                await self._hear()
                await self._release()
                await self.ledger.settle_calls()
            except Error as error:
                # What PostgreSQL refuses of the books is booked otherwise the next time.
                log.warning("No heartbeat: %s", error)
            if not self.may_ask:
                self.closing.begin()
                self.wake.set()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _hear(self) -> None:
        goes_on, blocked, self.interview.halted = await self.database.run(self._report)
        self.may_ask = self.may_ask and goes_on
        for provider, seconds in blocked.items():
            self.pacers[provider].block(seconds)

    def _report(self) -> tuple[bool, dict[int, float], set[int]]:
        goes_on = lanes.report(self.lane, lease=self.lease)
        blocked = blocked_for(self.pacers) if self.pacers else {}
        comparison = self.subject.comparison if self.subject.stops_when_certain else None
        return goes_on, blocked, halted(comparison) if comparison else set()

    async def _wind_down(self) -> None:
        """Start no more calls; let those in flight end, but not for long when shutting down."""
        self.closing.begin()
        patience = GRACE_SECONDS if self.stopping.is_set() else None
        if self.tasks:
            _, late = await asyncio.wait(self.tasks, timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
