"""One turn of a lane: claim, ask, store, decide, for at most twenty seconds.

Models are asked concurrently; plain functions are run in batches. The lane's width bounds calls in
flight. A turn keeps its own database thread, because Django's connections belong to threads.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import Error

from evaluators.base import row_error
from evaluators.errors import ModelError
from experiments.models import Job, Lane
from experiments.services import lanes
from experiments.services.asking import (
    Asked,
    Judge,
    Question,
    Stored,
    delay_before_repeating,
    is_worth_repeating,
    stored_replies,
)
from experiments.services.jobs import complete_if_done, has_succeeded, stop_asking
from experiments.services.lane_ledger import LaneDatabase, Ledger
from experiments.services.lane_tools import Subject, Tool
from experiments.services.lanes import Claimed
from experiments.services.subjects import Answer, Work

log = logging.getLogger(__name__)

TURN_SECONDS = 20.0
HEARTBEAT_SECONDS = 1.0
LEASE_MARGIN_SECONDS = 15.0
GRACE_SECONDS = 8.0
MAX_ATTEMPTS = 5
HOPELESS_AFTER = 20

warnings.filterwarnings("ignore", message=r"Ignoring (input|reference) in ")


class Later(Exception):
    """An item goes back on the queue, to be asked again after `delay` seconds."""

    def __init__(self, delay: float, *, failed: bool) -> None:
        super().__init__()
        self.delay = delay
        self.failed = failed


class Turn:
    """The work of one lane from taking it to handing it over."""

    def __init__(self, lane: Lane, stopping: threading.Event) -> None:
        self.lane = lane
        self.stopping = stopping
        self.job: Job = lane.job
        self.subject = Subject(self.job)
        self.database = LaneDatabase()
        self.ledger = Ledger(lane, self.subject, self.database)
        self.tools: dict[int, Tool] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.may_ask = True
        self.draining = False
        self.batch = 16
        self.failures = 0

    @property
    def asks_models(self) -> bool:
        return any(tool.judge for tool in self.tools.values())

    @property
    def lease(self) -> timedelta:
        """Longer than any call may take, so that a lane that is only slow keeps its items."""
        limits = [tool.row.provider.timeout for tool in self.tools.values() if tool.row.provider]
        return timedelta(seconds=max(limits, default=60.0) + LEASE_MARGIN_SECONDS)

    def run(self) -> UUID | None:
        """Work for a turn; the token of the next turn's message, or None when nothing is left."""
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
        self.slots = asyncio.Semaphore(self.lane.width)
        self.wake = asyncio.Event()
        tools = await self.database.run(self.subject.open_tools)
        if tools is None:
            return
        self.tools = tools
        loops = (
            self._heartbeat(),
            self.ledger.store_for_ever(),
            self.ledger.settle_for_ever(self.wake),
        )
        helpers = [asyncio.create_task(loop) for loop in loops]
        try:
            await self._claim_until_done()
        finally:
            await self._wind_down()
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self.ledger.flush()
            for tool in self.tools.values():
                await tool.close()

    async def _claim_until_done(self) -> None:
        deadline = time.monotonic() + TURN_SECONDS
        while self.may_ask and time.monotonic() < deadline and not self.stopping.is_set():
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
        if self.asks_models:
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
            works = await self.database.run(self.subject.load, tool, items)
            await self._drop_lost(items, works)
            if tool.judge:
                await self._begin_asking(tool.judge, works)
            elif works:
                self._spawn(self._run_batch(tool, works))

    async def _drop_lost(self, items: Sequence[Claimed], works: Sequence[Work]) -> None:
        """What was deleted meanwhile needs no verdict."""
        known = {work.item.item_id for work in works}
        lost = [item.item_id for item in items if item.item_id not in known]
        if lost:
            await self.database.run(lanes.drop_items, lost)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

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
        known = await self.database.run(stored_replies, self.job.workspace_id, asked)
        for work, questions in prepared:
            self._spawn(self._ask_all(judge, work, questions, known))

    async def _ask_all(
        self,
        judge: Judge,
        work: Work,
        questions: Sequence[Question | Answer],
        known: dict[tuple[bytes, int], Stored],
    ) -> None:
        try:
            answers = [await self._answer(judge, work, question, known) for question in questions]
        except Later as later:
            await self.database.run(self._put_back, work, later)
            return
        self.ledger.add(work, answers)
        await self._notice(answers)

    async def _answer(
        self,
        judge: Judge,
        work: Work,
        question: Question | Answer,
        known: dict[tuple[bytes, int], Stored],
    ) -> Answer:
        if isinstance(question, Answer):
            return question
        stored = known.get((question.digest, question.sample))
        if stored:
            return judge.read(stored.text, stored.finish_reason, stored.pk, from_cache=True)
        try:
            async with self.slots:
                if not self.may_ask or self.stopping.is_set() or self.draining:
                    raise Later(0, failed=False)
                reply = await judge.call(question)
                # The slot is kept until the commit, so that a kill loses at most what is in flight.
                reply_id = await self.ledger.save(Asked(question, reply))
        except ModelError as error:
            if is_worth_repeating(error) and work.item.attempts + 1 < MAX_ATTEMPTS:
                delay = delay_before_repeating(error, work.item.attempts)
                raise Later(delay, failed=True) from error
            return Answer(row_error(error))
        return judge.read(reply.text, reply.finish_reason, reply_id, from_cache=False)

    def _put_back(self, work: Work, later: Later) -> None:
        lanes.put_back(self.lane, [work.item.item_id], delay=later.delay, failed=later.failed)

    async def _notice(self, answers: Sequence[Answer]) -> None:
        """Stop a job whose every call fails: a wrong key must not be tried ten thousand times."""
        failed = any(answer.error and answer.reply_id is None for answer in answers)
        self.failures = self.failures + 1 if failed else 0
        if self.failures < HOPELESS_AFTER or not self.may_ask:
            return
        await self.ledger.flush()
        if not await self.database.run(has_succeeded, self.job):
            reason = f"Paused: the first {self.failures} calls all failed. {answers[-1].error}"
            await self.database.run(stop_asking, self.job, reason)
            self.may_ask = False

    async def _heartbeat(self) -> None:
        """Prolong the lease and hear whether to go on; a database that is away is asked again."""
        while True:
            try:
                goes_on = await self.database.run(self._report)
            except Error as error:
                log.warning("No heartbeat: %s", error)
            else:
                self.may_ask = self.may_ask and goes_on
            if not self.may_ask:
                self.wake.set()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    def _report(self) -> bool:
        return lanes.report(self.lane, lease=self.lease)

    async def _wind_down(self) -> None:
        """Start no more calls; let those in flight end, but not for long when shutting down."""
        self.draining = True
        patience = GRACE_SECONDS if self.stopping.is_set() else None
        if self.tasks:
            _, late = await asyncio.wait(self.tasks, timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
